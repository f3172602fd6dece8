#include "models/datasets/place.h"

#include <cstdlib>
#include <utility>

#include <fmt/format.h>

#include "backends/base/error.h"

namespace hopbench {

namespace fs = std::filesystem;

std::string fetched_folder(const std::string& name) {
  const char* data = std::getenv("XDG_DATA_HOME");
  const char* home = std::getenv("HOME");
  const fs::path base = data != nullptr && *data == '/' ? fs::path(data) : fs::path(home ? home : "/") / ".local/share";
  return (base / "hopbench" / name).string();
}

DataFolder::DataFolder(const DatasetRequest& request, std::string name, const std::string& default_folder,
                       std::string get)
    : path_(request.path.empty() ? default_folder : request.path),
      name_(std::move(name)),
      get_(std::move(get)),
      asked_for_(!request.path.empty()) {
  std::error_code ignored;
  if (!fs::is_directory(path_, ignored)) missing(fmt::format("is not there: no folder {}", path_.string()));
}

DataFile DataFolder::read(const std::string& file) const {
  const fs::path path = find(file);
  return {path, read_content(path)};
}

fs::path DataFolder::find(const std::string& file) const {
  std::error_code ignored;
  for (const fs::path& path : {path_ / (file + ".gz"), path_ / file})
    if (fs::is_regular_file(path, ignored)) return path;
  missing(fmt::format("is incomplete: neither {0}.gz nor {0} is in {1}", file, path_.string()));
}

void DataFolder::missing(const std::string& what) const {
  throw Error(
      asked_for_ ? ExitCode::kUsage : ExitCode::kEnvironment,
      fmt::format("data set {} {}: {}, or name the folder of its files in model.dataset.path", name_, what, get_));
}

}  // namespace hopbench
