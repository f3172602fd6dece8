#include "results/files/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <iterator>

#include "backends/base/error.h"
#include "backends/base/printable.h"

namespace hopbench {

namespace fs = std::filesystem;

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

Error cannot(const std::string& to_do, const std::string& path, int error) {
  const bool full = error == ENOSPC || error == EDQUOT, few = error == EMFILE || error == ENFILE;
  const char* advice = few              ? "allow more of them (ulimit -n 1024)"
                       : full           ? "free space or choose another place"
                       : error == EFBIG ? "allow larger files (ulimit -f)"
                                        : "choose another place";
  return environment_error(fmt::format("cannot {} {}: {}: {}", to_do, printable(path), std::strerror(error), advice));
}

NewFile::NewFile(const std::string& path, const char* to_do) : path_(path), to_do_(to_do) {
  static std::atomic<int> number{0};
  if (path == "-") return;
  struct stat old {};
  const bool there = ::lstat(path.c_str(), &old) == 0, regular = there && S_ISREG(old.st_mode);
  const bool special =
      path.starts_with("/dev/") || path.starts_with("/proc/") || (there && !regular && !S_ISLNK(old.st_mode));
  const fs::path folder = fs::path(path).has_parent_path() ? fs::path(path).parent_path() : ".";
  beside_ = (folder / fmt::format(".hopbench-{}-{}", ::getpid(), ++number)).string();
  if (!special) fd_ = ::open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);  // it has no name yet
  if (!special && fd_ < 0) fd_ = ::open(beside_.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
  if (regular && fd_ >= 0) {
    ::fchmod(fd_, old.st_mode);
    [[maybe_unused]] const int of_the_same_owner = ::fchown(fd_, old.st_uid, old.st_gid);
  }
  file_.open(fd_ < 0 ? path : fmt::format("/proc/self/fd/{}", fd_), std::ios::binary);
  if (!file_) error_ = errno;
}

NewFile::~NewFile() {
  if (fd_ < 0) return;
  ::close(fd_);
  ::unlink(beside_.c_str());  // unless it has its name
}

std::ostream& NewFile::out() {
  if (path_ == "-") return std::cout;
  return file_;
}

void NewFile::check(bool good) const {
  if (!good) throw cannot(to_do_, path_ == "-" ? "to standard output" : path_, errno);
}

void NewFile::flush() {
  if (error_ != 0 || out()) errno = error_;  // otherwise errno is of the write that failed
  check(bool(out().flush()));
}

void NewFile::finish() {
  flush();
  if (fd_ < 0) return;
  const std::string unnamed = fmt::format("/proc/self/fd/{}", fd_);
  check(::fdatasync(fd_) == 0);
  check(fs::exists(beside_) || ::linkat(AT_FDCWD, unnamed.c_str(), AT_FDCWD, beside_.c_str(), AT_SYMLINK_FOLLOW) == 0);
  check(::rename(beside_.c_str(), path_.c_str()) == 0);
}

void write_file(const std::string& path, const std::string& text) {
  NewFile file(path);
  file.out() << text;
  file.finish();
}

UnfinishedFolder::UnfinishedFolder(const std::string& path) : wanted_(path), path_(path) {
  std::error_code none;
  const fs::path whole = (fs::absolute(path, none) / "").lexically_normal().parent_path();  // without the last slash
  struct stat own {
  }, above{};
  const bool there = ::stat(whole.c_str(), &own) == 0 && ::stat(whole.parent_path().c_str(), &above) == 0;
  if (there && (own.st_dev != above.st_dev || fs::equivalent(whole, fs::current_path(none), none))) return;
  path_ = (whole.parent_path() / fmt::format(".{}.unfinished-{}", whole.filename().string(), ::getpid())).string();
}

UnfinishedFolder::~UnfinishedFolder() {
  std::error_code ignored;
  if (finished_) return;
  if (path_ != wanted_) fs::remove_all(path_, ignored);
  for (fs::directory_iterator at(path_, ignored), end; !ignored && at != end; at.increment(ignored))
    fs::remove_all(at->path(), ignored);
}

void UnfinishedFolder::finish() {
  if (path_ != wanted_ && ::rename(path_.c_str(), wanted_.c_str()) != 0) throw cannot("make", wanted_, errno);
  finished_ = true;
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
