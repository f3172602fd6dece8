// Helpers for files that results and commands need.
#pragma once

#include <fstream>
#include <optional>
#include <string>

#include "backends/base/error.h"

namespace hopbench {

/// Returns the whole file; nothing, with the reason in errno, if it cannot be opened or is a directory.
std::optional<std::string> read_file(const std::string& path);

/// Returns Error(kEnvironment) "cannot TO_DO PATH: why: what to do"; `error` is an errno.
Error cannot(const std::string& to_do, const std::string& path, int error);

/// A file that is written and gets its name once it is whole: what had the name stays until then, and for good if this
/// process ends before. Links at that name are replaced. Pipes, devices, and files in folders that take no others are
/// written where they are.
class NewFile {
 public:
  /// `path`: "-" is standard output. `to_do` is for the message if it cannot be written.
  explicit NewFile(const std::string& path, const char* to_do = "write");
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;
  std::ostream& out();
  /// Writes what there is. Error(kEnvironment) if it cannot be written.
  void flush();
  /// Gives the file its name. Error(kEnvironment) as flush().
  void finish();

 private:
  void check(bool good) const;

  std::string path_, beside_;  // beside_: its name just before it is whole
  const char* to_do_;
  int fd_ = -1, error_ = 0;  // fd_ -1: it is written where it is
  std::ofstream file_;
};

/// Writes the whole text and replaces what was there, as NewFile does.
void write_file(const std::string& path, const std::string& text);

/// A folder that is filled beside `path`, and gets that name once it is whole. `path` may be an empty folder; it is
/// filled where it is if it cannot be replaced (the current folder, a mount point). If it is not finished, nothing is
/// left of it.
class UnfinishedFolder {
 public:
  explicit UnfinishedFolder(const std::string& path);
  ~UnfinishedFolder();
  UnfinishedFolder(const UnfinishedFolder&) = delete;
  UnfinishedFolder& operator=(const UnfinishedFolder&) = delete;
  const std::string& path() const { return path_; }
  /// Gives the folder its name. Error(kEnvironment) if it cannot have it.
  void finish();

 private:
  std::string wanted_, path_;
  bool finished_ = false;
};

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
