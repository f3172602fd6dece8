// The folders of data files, and the messages about missing files.
#pragma once

#include <filesystem>
#include <string>

#include "models/dataset.h"
#include "models/datasets/content.h"

namespace hopbench {

/// Returns the folder into which `ci/fetch-data NAME` puts a data set, which is $XDG_DATA_HOME/hopbench/NAME. If the
/// variable is not set or not absolute, ~/.local/share is used instead.
std::string fetched_folder(const std::string& name);

/// Returns a hint such as "run `ci/fetch-data NAME`", with the script's path as it can be called from the current
/// folder. The script is looked for in $HOPBENCH_ROOT and above this program.
std::string callable(std::string hint);

struct DataFile {
  std::filesystem::path path;
  Content content;
};

/// The folder of a data set's files: the one that the request names, or the default.
class DataFolder {
 public:
  /// `get` says how to get the files: "run `ci/fetch-data cifar10`". If something is missing in a folder that the
  /// request names, throws Error(kUsage), which says so. If it is missing in the default folder, it has not been
  /// installed or fetched: throws Error(kEnvironment) with `get`.
  DataFolder(const DatasetRequest& request, std::string name, const std::string& default_folder, std::string get);
  const std::filesystem::path& path() const { return path_; }
  /// Returns the path of FILE.gz or, if that does not exist, of FILE.
  std::filesystem::path find(const std::string& file) const;
  /// Reads FILE.gz or FILE with read_content().
  DataFile read(const std::string& file, const ContentSize& size) const;

 private:
  [[noreturn]] void missing(const std::string& what) const;
  std::filesystem::path path_;
  std::string name_, get_;
  bool asked_for_;
};

}  // namespace hopbench
