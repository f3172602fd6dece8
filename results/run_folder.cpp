#include "results/run_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <set>

#include "backends/base/error.h"
#include "results/csv.h"
#include "results/files.h"
#include "results/json.h"

namespace hopbench {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTrials = "trials.jsonl";
constexpr const char* kSuite = "suite.toml";
constexpr const char* kContext = "context.json";
constexpr const char* kEvents = "events";

Error cannot(const std::string& what, const std::string& path, int error) {
  const bool full = error == ENOSPC || error == EDQUOT, few = error == EMFILE || error == ENFILE;
  const char* advice = few              ? "allow more of them (ulimit -n 1024)"
                       : full           ? "free space or choose another folder with -o"
                       : error == EFBIG ? "allow larger files (ulimit -f)"
                                        : "choose another folder with -o";
  return environment_error(fmt::format("cannot {} {}: {}: {}", what, path, std::strerror(error), advice));
}

class File {
 public:
  File(const std::string& path, int flags) : path_(path), fd_(::open(path.c_str(), flags | O_CLOEXEC, 0644)) {
    if (fd_ < 0) throw cannot("open", path_, errno);
  }
  ~File() { ::close(fd_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  off_t size() const { return ::lseek(fd_, 0, SEEK_END); }
  void truncate(off_t size) const {
    if (::ftruncate(fd_, size) != 0) throw cannot("shorten", path_, errno);
  }
  /// All of it, usually in one write, and onto the disk.
  void write(std::string_view text) const {
    while (!text.empty()) {
      const ssize_t written = ::write(fd_, text.data(), text.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) throw cannot("write", path_, errno);
      text.remove_prefix(static_cast<std::size_t>(written));
    }
    // EINVAL: not a regular file (/dev/stdout), which has no disk to get to
    if (::fdatasync(fd_) != 0 && errno != EINVAL) throw cannot("write", path_, errno);
  }

 private:
  std::string path_;
  int fd_;
};

/// Writes beside it and renames: a reader, or a crash, finds the old file or the new one.
void replace_file(const std::string& path, const std::string& text) {
  const std::string beside = path + ".new";
  try {
    const File file(beside, O_WRONLY | O_CREAT | O_TRUNC);
    file.write(text);
  } catch (const Error&) {
    ::unlink(beside.c_str());
    throw;
  }
  if (::rename(beside.c_str(), path.c_str()) != 0) throw cannot("replace", path, errno);
}

std::string must_read(const std::string& path) {
  std::optional<std::string> text = read_file(path);
  const int error = errno;
  if (!text && (error == EMFILE || error == ENFILE)) throw cannot("read", path, error);
  if (!text) throw usage_error(path + " cannot be read: the folder holds no run of hopbench: name another");
  return *std::move(text);
}

/// The rows of trials.jsonl. A torn last line is no row: `whole` is what is in front of it.
std::vector<TrialRow> read_trials(const std::string& path, std::size_t& whole) {
  const std::string text = must_read(path);
  std::vector<TrialRow> rows;
  std::set<std::string> ids;
  std::size_t begin = 0;
  for (int number = 1; begin < text.size(); ++number) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    // Torn: the end of the line is missing, or blocks of it never got to the disk and read as zeros.
    const bool torn = end == text.size() || (end + 1 == text.size() && line.find('\0') != std::string::npos);
    if (torn) break;
    try {
      rows.push_back(row_from_json(line));
    } catch (const Error& error) {
      throw usage_error(
          fmt::format("{}:{}: damaged: {}: take the line out (its trial will run again) or start a new run", path,
                      number, error.what()));
    }
    if (!ids.insert(rows.back().record.id).second) {
      throw usage_error(fmt::format("{}:{}: trial {} is there twice: take one of the two lines out", path, number,
                                    rows.back().record.id));
    }
    begin = end + 1;
  }
  whole = std::min(begin, text.size());
  return rows;
}

/// Different ids give different names: what is not plain is written as its code.
std::string safe_name(const std::string& id) {
  std::string name;
  for (const char c : id) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
                       c == '-' || c == '=' || (c == '.' && !name.empty());
    if (c == '/') {
      name += '+';
    } else if (plain) {
      name += c;
    } else {
      name += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  // File systems end at 255 bytes. The head tells a person what it is, the hash of the whole keeps it apart.
  constexpr std::size_t kLongest = 200;
  if (name.size() <= kLongest) return name;
  std::uint64_t hash = 14695981039346656037u;  // FNV-1a
  for (const char c : id) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return fmt::format("{}~{:016x}", name.substr(0, kLongest), hash);
}

/// The open folder, which no other process has until it is closed.
std::shared_ptr<void> lock(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) throw cannot("open", path, errno);
  std::shared_ptr<void> held(nullptr, [fd](void*) { ::close(fd); });
  // Any other error: a file system without locks, over which nothing can be said.
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    throw usage_error(path + ": another hopbench is at work in this folder: wait until it has ended");
  }
  return held;
}

}  // namespace

std::string short_reason(const std::string& reason) { return reason.substr(0, reason.find('\n')); }

bool as_its_scenario_says(const std::string& reason) {
  return short_reason(reason).find("as the scenario says: ") != std::string::npos;
}

RunFolder RunFolder::create(const std::string& path, const std::string& suite_toml, const std::string& context_json) {
  std::error_code error;
  fs::create_directories(fs::path(path) / kEvents, error);
  if (error) throw cannot("make", path, error.value());
  RunFolder folder(path);
  folder.claim_ = lock(path);  // before a look at what is there: two that begin at once must not both find nothing
  const std::string trials = path + "/" + kTrials;
  if (fs::exists(trials)) {
    throw usage_error(path + " holds a run already: go on with it by --resume " + path + " or choose another with -o");
  }
  folder.write_text(kSuite, suite_toml);
  folder.write_text(kContext, context_json);
  File(trials, O_WRONLY | O_CREAT | O_EXCL).write("");  // last: with it the folder is one to resume
  return folder;
}

RunFolder RunFolder::open(const std::string& path) {
  RunFolder folder(path);
  std::size_t whole = 0;
  folder.rows_ = read_trials(path + "/" + kTrials, whole);
  std::error_code none;
  folder.cut_off_ = fs::file_size(path + "/" + kTrials, none) > whole;
  return folder;
}

void RunFolder::claim() {
  if (claim_.use_count() == 0) claim_ = lock(path_);
  std::error_code said_by_logs;  // somebody may have taken the logs away meanwhile, to save space
  fs::create_directories(fs::path(path_) / kEvents, said_by_logs);
  const std::string trials = path_ + "/" + kTrials;
  std::size_t whole = 0;
  rows_ = read_trials(trials, whole);
  File(trials, O_WRONLY).truncate(static_cast<off_t>(whole));
}

std::string RunFolder::event_log(const std::string& trial_id) const {
  return fmt::format("{}/{}/{}.jsonl", path_, kEvents, safe_name(trial_id));
}

std::string RunFolder::suite_toml() const { return must_read(path_ + "/" + kSuite); }
std::string RunFolder::context_json() const {
  const std::string path = path_ + "/" + kContext;
  std::string text = must_read(path);
  if (too_deep(text)) throw usage_error(path + " is damaged: it is no context of a run: put the run's own there");
  return text;
}

void RunFolder::add(TrialRow row) {
  const File file(path_ + "/" + kTrials, O_WRONLY | O_APPEND);
  const off_t before = file.size();
  try {
    file.write(to_json(row) + "\n");
  } catch (const Error&) {
    file.truncate(before);  // half a line would spoil the next
    throw;
  }
  rows_.push_back(std::move(row));
}

void RunFolder::rewrite(std::vector<TrialRow> rows) {
  std::string text;
  for (const TrialRow& row : rows) text += to_json(row) + "\n";
  replace_file(path_ + "/" + kTrials, text);
  rows_ = std::move(rows);
}

void RunFolder::drop_if(const std::function<bool(const TrialRow&)>& out) {
  std::vector<TrialRow> kept = rows_;
  if (std::erase_if(kept, out) > 0) rewrite(std::move(kept));
}

void RunFolder::warn_if(const std::function<bool(const TrialRow&)>& about, const std::string& warning) {
  std::vector<TrialRow> rows = rows_;
  bool changed = false;
  for (TrialRow& row : rows) {
    std::vector<std::string>& said = row.record.warnings;
    if (!about(row) || std::find(said.begin(), said.end(), warning) != said.end()) continue;
    said.push_back(warning);
    changed = true;
  }
  if (changed) rewrite(std::move(rows));
}

void RunFolder::write_tables() const {
  write_text("trials.csv", trials_csv(rows_));
  write_text("ranks.csv", ranks_csv(rows_));
  write_text("curve.csv", curve_csv(rows_));
  write_text("host.csv", host_csv(rows_));
}

void RunFolder::write_text(const std::string& name, const std::string& text) const {
  replace_file(path_ + "/" + name, text);
}

}  // namespace hopbench
