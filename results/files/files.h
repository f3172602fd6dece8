// Helpers for files that results and commands need.
#pragma once

#include <optional>
#include <string>

namespace hopbench {

/// Returns the whole file; nothing, with the reason in errno, if it cannot be opened or is a directory.
std::optional<std::string> read_file(const std::string& path);

/// Writes the whole text and replaces what was there. Error(kEnvironment) if the file cannot be written.
void write_file(const std::string& path, const std::string& text);

/// A new folder for temporary files (in $TMPDIR, or /tmp). The destructor removes it with its content.
class TemporaryFolder {
 public:
  /// Makes the folder. Error(kEnvironment) if that fails.
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace hopbench
