#include "suites/campaign/install_paths.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>

#include "backends/base/error.h"
#include "backends/base/printable.h"

namespace hopbench {

namespace fs = std::filesystem;

std::vector<std::string> data_roots() {
  std::vector<std::string> roots;
  std::error_code none;
  if (const char* root = std::getenv("HOPBENCH_ROOT"); root != nullptr && *root != '\0') {
    if (!fs::is_directory(root, none)) {
      throw usage_error(
          fmt::format("HOPBENCH_ROOT is {}, and there is no such folder: set it to a checkout of "
                      "hopbench, or unset it",
                      quotable(root)));
    }
    roots.emplace_back(root);
  }
  const fs::path program = fs::read_symlink("/proc/self/exe", none);
  const fs::path installed = program.parent_path().parent_path() / "share" / "hopbench";
  if (fs::is_directory(installed / "suites", none)) roots.push_back(installed.string());
  return roots;
}

std::string find_suite(const std::string& path) {
  std::error_code ignored;  // of a name that is too long, for example: then there is no such file
  if (fs::is_directory(path, ignored)) {
    throw usage_error("suite " + path + ": is a folder: name a file in it, such as " + path + "/smoke.toml");
  }
  if (path == "-" || path.starts_with('/') || fs::exists(path, ignored)) return path;
  for (const std::string& root : data_roots()) {
    for (const std::string& candidate : {root + "/" + path, root + "/suites/" + path + ".toml"}) {
      if (fs::exists(candidate, ignored)) return candidate;
    }
  }
  return path;
}

std::string shipped_file(const std::string& name) {
  for (const std::string& root : data_roots()) {
    std::error_code none;
    if (std::string path = root + "/" + name; fs::exists(path, none)) return path;
  }
  throw environment_error(name +
                          " is missing: is the program installed with its suites? HOPBENCH_ROOT names a checkout");
}

std::string without_detours(const std::string& folder) {
  const fs::path typed(folder);
  std::error_code ignored;
  fs::path before;
  for (const fs::path& part : typed) {
    if (part == ".." && !before.empty() && !fs::exists(before, ignored))
      return fs::weakly_canonical(typed, ignored).string();
    before /= part;
  }
  return folder;
}

}  // namespace hopbench
