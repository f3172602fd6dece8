#include "results/files/files.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "backends/base/error.h"

namespace hopbench {

std::optional<std::string> read_file(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {  // opens, and throws only when it is read
    errno = EISDIR;
    return std::nullopt;
  }
  std::ifstream in(path, std::ios::binary);
  if (!in) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(in), {});
}

void write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) throw environment_error("cannot write " + path + ": is the folder there and writable, the disk not full?");
}

TemporaryFolder::TemporaryFolder() {
  const char* set = std::getenv("TMPDIR");
  const std::string parent = set != nullptr && *set != '\0' ? set : "/tmp";
  path_ = parent + "/hopbench-XXXXXX";
  if (::mkdtemp(path_.data()) == nullptr) {
    throw environment_error("cannot make a folder in " + parent +
                            ": is it there, writable and not full? TMPDIR names another");
  }
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace hopbench
