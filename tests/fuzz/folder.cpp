#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "tests/fuzz/fuzz.h"

namespace hopbench::fuzz {

// ci/fuzz gives it one in memory, which goes however the target ends.
Folder::Folder() : path_(std::filesystem::temp_directory_path() / "hopbench-fuzz-XXXXXX") {
  HB_ASSERT(mkdtemp(path_.data()) != nullptr);
}

std::string Folder::put(const std::string& name, std::string_view content) const {
  const std::string path = path_ + "/" + name;
  if (content.empty()) return std::remove(path.c_str()), path;
  std::FILE* const file = std::fopen(path.c_str(), "wb");
  HB_ASSERT(file != nullptr && std::fwrite(content.data(), 1, content.size(), file) == content.size());
  HB_ASSERT(std::fclose(file) == 0);
  return path;
}

}  // namespace hopbench::fuzz
