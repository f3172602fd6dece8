// Small things about files that results and commands need.
#pragma once

#include <optional>
#include <string>

namespace hopbench {

/// Returns the whole file; nothing, with the reason in errno, if it cannot be opened or is a directory.
std::optional<std::string> read_file(const std::string& path);

/// All of it, in place of what was there. Error(kEnvironment) if it cannot be written.
void write_file(const std::string& path, const std::string& text);

/// A fresh folder where temporary files go ($TMPDIR, or /tmp), which is gone with all that is in it when this is.
class TemporaryFolder {
 public:
  /// Error(kEnvironment) if it cannot be made.
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace hopbench
