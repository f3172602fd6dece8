// Where data files lie, and what is said of those that are not there.
#pragma once

#include <filesystem>
#include <string>

#include "models/dataset.h"
#include "models/datasets/content.h"

namespace hopbench {

/// Where `ci/fetch-data NAME` puts a data set: $XDG_DATA_HOME/hopbench/NAME; ~/.local/share for a variable that is not
/// set or relative.
std::string fetched_folder(const std::string& name);

/// A hint that says "run `ci/fetch-data NAME`", with the script as it can be called from the current folder: found in
/// $HOPBENCH_ROOT or above this program.
std::string callable(std::string hint);

struct DataFile {
  std::filesystem::path path;
  Content content;
};

/// The folder of a data set's files: the one that the request names, or the default.
class DataFolder {
 public:
  /// `get` says how to come by the files: "run `ci/fetch-data cifar10`". What is missing is Error(kUsage) if the
  /// request names the folder, and says so; Error(kEnvironment) with `get` if this is the default: then it has not been
  /// installed or fetched.
  DataFolder(const DatasetRequest& request, std::string name, const std::string& default_folder, std::string get);
  const std::filesystem::path& path() const { return path_; }
  /// FILE.gz or FILE, whichever is there.
  std::filesystem::path find(const std::string& file) const;
  /// Reads it with read_content().
  DataFile read(const std::string& file, const ContentSize& size) const;

 private:
  [[noreturn]] void missing(const std::string& what) const;
  std::filesystem::path path_;
  std::string name_, get_;
  bool asked_for_;
};

}  // namespace hopbench
