#include "results/files/run_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <memory>
#include <optional>
#include <set>

#include "backends/base/error.h"
#include "backends/base/printable.h"
#include "backends/base/process/kept.h"
#include "backends/base/record/kinds.h"
#include "backends/base/text.h"
#include "results/files/csv.h"
#include "results/files/files.h"
#include "results/files/record_json.h"

namespace hopbench {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTrials = "trials.jsonl";
constexpr const char* kPackedTrials = "trials.jsonl.gz";  // of a run that is published: to read only
constexpr const char* kSuite = "suite.toml";
constexpr const char* kContext = "context.json";
constexpr const char *kEvents = "events", *kDumps = "dump";
constexpr const char* kOwnFiles[] = {kSuite,      kContext,      kTrials,     kPackedTrials, "trials.csv",
                                     "ranks.csv", "curve.csv",   "host.csv",  "summary.md",  "calibration.json",
                                     "dump.txt",  "advice.html", "advice.md", "advice.json"};

class File : Descriptor {
 public:
  File(const std::string& path, int flags) : Descriptor(::open(path.c_str(), flags | O_CLOEXEC, 0644)), path_(path) {
    if (get() < 0) throw cannot("open", path_, errno);
  }

  off_t size() const { return ::lseek(get(), 0, SEEK_END); }
  void truncate(off_t size) const {
    if (::ftruncate(get(), size) != 0) throw cannot("shorten", path_, errno);
  }
  /// Writes all of the text, usually in one call, and flushes it onto the disk.
  void write(std::string_view text) const {
    while (!text.empty()) {
      const ssize_t written = ::write(get(), text.data(), text.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) throw cannot("write", path_, errno);
      text.remove_prefix(static_cast<std::size_t>(written));
    }
    // EINVAL: not a regular file (/dev/stdout), which is not on a disk
    if (::fdatasync(get()) != 0 && errno != EINVAL) throw cannot("write", path_, errno);
  }

 private:
  std::string path_;
};

std::string must_read(const std::string& path,
                      const char* advice = "the folder holds no run of hopbench: name another") {
  std::error_code ignored;
  // A pipe would never end.
  const bool odd = fs::exists(path, ignored) && !fs::is_regular_file(path, ignored) && !fs::is_directory(path, ignored);
  if (odd) throw usage_error(fmt::format("{} is not a file: {}", path, advice));
  std::optional<std::string> text = read_file(path);
  const int error = errno;
  if (!text && (error == EMFILE || error == ENFILE)) throw cannot("read", path, error);
  if (!text) throw usage_error(fmt::format("{} cannot be read: {}: {}", path, std::strerror(error), advice));
  return *std::move(text);
}

bool is_packed(const std::string& folder) {
  std::error_code ignored;
  return !fs::exists(folder + "/" + kTrials, ignored) && fs::exists(folder + "/" + kPackedTrials, ignored);
}

/// The rows of a trials.jsonl, whose text comes in pieces. Each row is checked before the next piece is wanted.
class RowsText {
 public:
  explicit RowsText(std::string path) : path_(std::move(path)) {}

  void add(std::string_view piece) {
    text_ += piece;
    std::size_t begin = 0;
    for (std::size_t end = 0; (end = text_.find('\n', begin)) != std::string::npos; begin = end + 1) {
      const std::string line = text_.substr(begin, end - begin);
      // Torn: the end of the last line is missing, or blocks of it never got to the disk and read as zeros.
      if (end + 1 == text_.size() && line.find('\0') != std::string::npos) break;
      add_row(line);
    }
    text_.erase(0, begin);
    whole_ += begin;
    constexpr std::size_t kLongestRow = std::size_t{64} << 20;
    if (piece.size() < text_.size() && text_.size() > kLongestRow)
      throw usage_error(
          fmt::format("{}:{}: damaged: a line of more than 64 MiB: take another copy", path_, number_ + 1));
  }
  /// Returns true if there is a torn line at the end, which is no row.
  bool cut_off() const { return !text_.empty(); }
  /// Returns the bytes in front of it.
  std::size_t whole() const { return whole_; }
  std::vector<TrialRow> take() { return std::move(rows_); }

 private:
  void add_row(const std::string& line) {
    ++number_;
    try {
      rows_.push_back(row_from_json(line));
    } catch (const SchemaError& error) {
      throw error.in(fmt::format("{}:{}", path_, number_));
    } catch (const Error& error) {
      throw usage_error(
          fmt::format("{}:{}: damaged: {}: take the line out (its trial will run again) or start a new run", path_,
                      number_, error.what()));
    }
    if (ids_.insert(rows_.back().record.id).second) return;
    throw usage_error(fmt::format("{}:{}: trial {} is there twice: take one of the two lines out", path_, number_,
                                  rows_.back().record.id));
  }

  std::string path_, text_;  // text_: what follows the last whole row
  std::vector<TrialRow> rows_;
  std::set<std::string> ids_;
  std::size_t whole_ = 0;
  int number_ = 0;
};

/// Reads the rows at `path` while they are decompressed.
void unpack(const std::string& path, RowsText& rows) {
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), gzclose);
  if (file == nullptr) throw cannot("read", path, errno);
  std::vector<char> piece(1 << 20);
  int got = 0;
  while ((got = gzread(file.get(), piece.data(), unsigned(piece.size()))) > 0)
    rows.add({piece.data(), std::size_t(got)});
  int code = Z_OK;
  const char* const why = gzerror(file.get(), &code);  // "PATH: why"
  if (got < 0 || (code != Z_OK && code != Z_STREAM_END))
    throw usage_error(fmt::format("{} is damaged: {}: take another copy", path, why));
}

/// Opens and locks the folder. No other process can lock it until it is closed.
std::shared_ptr<void> lock(const std::string& path) {
  const auto held = std::make_shared<Descriptor>(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (held->get() < 0) throw cannot("open", path, errno);
  // Any other error: a file system without locks, on which other processes cannot be detected.
  if (::flock(held->get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    throw usage_error(printable(path) + ": another hopbench is at work in this folder: wait until it has ended");
  }
  return held;
}

/// Returns the content of the folder, hidden files too: "a.txt, b.txt and 3 more".
std::string content_of(const std::string& folder) {
  constexpr std::size_t kShown = 3;
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    names.push_back(at->path().filename().string());
  if (error) throw cannot("read", folder, error.value());
  std::sort(names.begin(), names.end());
  const std::size_t more = names.size() > kShown ? names.size() - kShown : 0;
  names.resize(names.size() - more);
  return join(names, ", ") + (more > 0 ? fmt::format(" and {} more", more) : "");
}

/// Throws if nothing can be made in `folder`, or, if it is not there, in the nearest folder above it that is. Tries it:
/// /proc, for example, grants access and takes nothing.
void check_takes_entries(const std::string& folder, const char* to_do) {
  std::error_code ignored;
  fs::path above = fs::absolute(folder, ignored).lexically_normal();
  while (!fs::exists(above, ignored) && above.has_relative_path()) above = above.parent_path();
  const std::string trial = (above / fmt::format(".hopbench-{}", ::getpid())).string();
  if (::mkdir(trial.c_str(), 0700) != 0) throw cannot(to_do, folder, errno);
  ::rmdir(trial.c_str());
}

bool lies_in(const fs::path& file, const fs::path& folder) {
  const auto [in_folder, rest] = std::mismatch(folder.begin(), folder.end(), file.begin(), file.end());
  return in_folder == folder.end();
}

}  // namespace

std::string safe_file_name(const std::string& id) {
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
  // File systems allow 255 bytes. The head tells a person what it is; the hash of the whole makes it unique.
  constexpr std::size_t kLongest = 200;
  if (name.size() <= kLongest) return name;
  std::uint64_t hash = 14695981039346656037u;  // FNV-1a
  for (const char c : id) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return fmt::format("{}~{:016x}", name.substr(0, kLongest), hash);
}

bool holds_run(const std::string& folder) {
  std::error_code ignored;
  return fs::exists(folder + "/" + kTrials, ignored) || is_packed(folder);
}

std::vector<std::string> files_of_run(const std::string& folder) {
  std::vector<std::string> files;
  for (const char* name : kOwnFiles) files.push_back(folder + "/" + name);
  files.insert(files.end(), {folder, folder + "/" + kEvents, folder + "/" + kDumps});
  return files;
}

bool is_part_of_run(const std::string& file) {
  std::error_code ignored;
  const fs::path path = fs::weakly_canonical(fs::absolute(file, ignored), ignored), folder = path.parent_path();
  if (folder.filename() == kEvents && holds_run(folder.parent_path().string())) return true;
  const fs::path above = folder.parent_path();
  if (above.filename() == kDumps && holds_run(above.parent_path().string())) return true;
  const auto is_name = [&](const char* name) { return path.filename() == name; };
  const bool own = is_name(kBaselineFile) || std::any_of(std::begin(kOwnFiles), std::end(kOwnFiles), is_name);
  return own && holds_run(folder.string());
}

void check_free(const std::string& folder, std::span<const std::string> inputs) {
  std::error_code ignored;
  const fs::path whole = fs::weakly_canonical(fs::absolute(folder, ignored), ignored);
  const bool there = fs::exists(folder, ignored);
  if (there && !fs::is_directory(folder, ignored))
    throw environment_error("cannot make " + printable(folder) + ": Not a directory: choose another with -o");
  for (const std::string& input : inputs) {
    const fs::path from = fs::weakly_canonical(fs::absolute(input, ignored), ignored);
    if (there && lies_in(from, whole))
      throw usage_error(fmt::format(
          "{} holds {}, which this run reads and its results might overwrite: choose a new or empty folder with -o",
          printable(folder), printable(input)));
    if (holds_run(input) && lies_in(whole, from))
      throw usage_error(fmt::format("{} lies in {}, which is read: choose a folder elsewhere with -o",
                                    printable(folder), printable(input)));
  }
  if (!there) return check_takes_entries(folder, "make");
  if (holds_run(folder)) {
    throw usage_error(printable(folder) + " holds a run already: go on with it by --resume " + shell_word(folder) +
                      " or choose another with -o");
  }
  if (const std::string content = content_of(folder); !content.empty()) {
    throw usage_error(
        fmt::format("{} is not empty and does not hold a run of hopbench ({}): choose a new or empty folder with -o",
                    printable(folder), printable(content)));
  }
  check_takes_entries(folder, "write");
}

bool fails_again(const TrialRow& row) {
  return row.labels.clock == "virtual" && row.record.status == TrialStatus::kFailed &&
         !may_pass(row.record.failure.kind);
}

RunFolder RunFolder::create(const std::string& path, const std::string& suite_toml, const std::string& context_json) {
  check_free(path);
  std::error_code error;
  const bool fresh = fs::create_directories(path, error);
  if (error) throw cannot("make", path, error.value());
  RunFolder folder(path);
  folder.claim_ = lock(path);
  check_free(path);  // again: of two processes that begin at once, the second finds the files of the first
  try {
    fs::create_directory(fs::path(path) / kEvents, error);
    if (error) throw cannot("make", path, error.value());
    folder.write_text(kSuite, suite_toml);
    folder.write_text(kContext, context_json);
    File(path + "/" + kTrials, O_WRONLY | O_CREAT | O_EXCL).write("");  // last: makes the folder one to resume
  } catch (const Error&) {
    for (const char* name : {kTrials, kContext, kSuite, kEvents}) fs::remove(fs::path(path) / name, error);
    if (fresh) fs::remove(path, error);
    throw;
  }
  return folder;
}

RunFolder RunFolder::open(const std::string& path) {
  RunFolder folder(path);
  std::error_code ignored;
  if (!fs::exists(path, ignored))
    throw usage_error(fmt::format("{} is not there, so it holds no run: name the folder of one", printable(path)));
  if (fs::exists(path + "/" + kTrials, ignored) && fs::exists(path + "/" + kPackedTrials, ignored))
    throw usage_error(fmt::format("{0} holds {1} and {2}, which may differ: move one of them away", printable(path),
                                  kTrials, kPackedTrials));
  const bool packed = is_packed(path);
  const std::string trials = path + "/" + (packed ? kPackedTrials : kTrials);
  RowsText rows(trials);
  packed ? unpack(trials, rows) : rows.add(must_read(trials));
  folder.cut_off_ = rows.cut_off();
  folder.rows_ = rows.take();
  return folder;
}

void RunFolder::claim() {
  if (is_packed(path_))
    throw usage_error(fmt::format("{}/{} is packed, and rows are added to {} only: gunzip it", printable(path_),
                                  kPackedTrials, kTrials));
  if (claim_.use_count() == 0) claim_ = lock(path_);
  std::error_code none;
  for (const char* name : {kTrials, kEvents}) {
    if (fs::is_symlink(fs::path(path_) / name, none)) {
      throw usage_error(
          fmt::format("{}/{} is a symbolic link, and a run writes into its own folder only: put there what it links to",
                      printable(path_), name));
    }
  }
  if (fs::hard_link_count(fs::path(path_) / kTrials, none) > 1 && !none) {
    throw usage_error(
        fmt::format("{}/{} has other names (hard links), and rows would be added to them too: put a copy there",
                    printable(path_), kTrials));
  }
  std::error_code said_by_logs;  // a user may have removed the logs meanwhile, to save space
  fs::create_directories(fs::path(path_) / kEvents, said_by_logs);
  const std::string trials = path_ + "/" + kTrials;
  RowsText rows(trials);
  rows.add(must_read(trials));
  rows_ = rows.take();
  File(trials, O_WRONLY).truncate(static_cast<off_t>(rows.whole()));
}

std::string RunFolder::event_log(const std::string& trial_id) const {
  return fmt::format("{}/{}/{}.jsonl", path_, kEvents, safe_file_name(trial_id));
}

std::string RunFolder::dump(const std::string& trial_id) const {
  return fmt::format("{}/{}/{}", path_, kDumps, safe_file_name(trial_id));
}

std::string RunFolder::suite_toml() const { return must_read(path_ + "/" + kSuite, "put the run's own file there"); }
std::string RunFolder::context_json() const {
  const std::string path = path_ + "/" + kContext;
  std::string text = must_read(path, "put the run's own file there");
  check_context(text, path);
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
  write_file(path_ + "/" + kTrials, text);
  rows_ = std::move(rows);
}

void RunFolder::finish(UnfinishedFolder& place, const std::string& name) {
  place.finish();
  path_ = name;
}

void RunFolder::drop_if(const std::function<bool(const TrialRow&)>& out) {
  std::vector<TrialRow> kept = rows_;
  if (std::erase_if(kept, out) > 0) rewrite(std::move(kept));
}

void RunFolder::warn_if(const std::function<bool(const TrialRow&)>& about, const Warning& warning) {
  std::vector<TrialRow> rows = rows_;
  bool changed = false;
  for (TrialRow& row : rows) {
    if (!about(row) || has(row.record.warnings, warning.kind)) continue;
    row.record.warnings.push_back(warning);
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
  const std::string path = path_ + "/" + name;
  std::error_code none;
  if (!fs::is_regular_file(path, none)) fs::remove(path, none);  // a pipe, say, is not written into
  write_file(path, text);
}

}  // namespace hopbench
