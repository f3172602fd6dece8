// The folder a run writes: hopbench-results/<utc>-<id>/.
//
//   suite.toml     the resolved suite            context.json   versions, machine, command line
//   trials.csv ranks.csv curve.csv               long-form tables, a row each; the same bytes each time in virtual time
//   host.csv       measurements of the host (wall_s, cpu_s, max_rss_bytes), apart for that reason
//   trials.jsonl   a line for each finished trial, appended as it ends (those that run at once: in the plan's order);
//                  --resume reads it, so a crash loses no row that was added
//   events/        the event log, a file a trial, JSON lines
//   dump/          run --dump: a folder a trial, an archive of NumPy for each worker and evaluation
//                  (suites/trial/dump.h)
//   dump.txt       the arrays that --dump was asked for
//   summary.md     the tables that were printed
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backends/base/record/trial_row.h"

namespace hopbench {

class UnfinishedFolder;

/// Returns true for a failure in virtual time that comes out the same each time (may_pass()).
bool fails_again(const TrialRow& row);

/// Returns a file name for `name`, which may hold anything: different names have different file names, none of which
/// is ".", ".." or holds a '/'.
std::string safe_file_name(const std::string& name);

/// Returns true if the folder holds a run, whole or not.
bool holds_run(const std::string& folder);
/// Returns every file that a run writes into its folder, except event logs.
std::vector<std::string> files_of_run(const std::string& folder);
/// The file with a baseline's history (baseline.h).
inline constexpr const char* kBaselineFile = "baseline.json";
/// Returns true if `file` is one of these files, a baseline's history or an event log, in a folder that holds a run.
bool is_part_of_run(const std::string& file);

/// Checks that a new run can be made in `folder`: that it does not exist yet, or is empty. A run overwrites files such
/// as suite.toml and trials.csv, so nothing of the user's may be there. Error(kUsage) says what is in the folder if it
/// holds one of `inputs` (files that the run reads), a run, or anything else. Error(kEnvironment) if it cannot be made.
void check_free(const std::string& folder, std::span<const std::string> inputs = {});

class RunFolder {
 public:
  /// Creates the folder with suite and context. Throws as check_free() does. If the folder cannot be written, what was
  /// made of it is removed again.
  static RunFolder create(const std::string& path, const std::string& suite_toml, const std::string& context_json);
  /// Reads a folder. Without trials.jsonl it reads trials.jsonl.gz, as which runs are published. A torn last line is
  /// not a row. Error(kUsage) if it is not the folder of a run or another line is damaged.
  static RunFolder open(const std::string& path);

  /// Must be called before rows are added: no other process can add any until this object is gone. Reads the rows again
  /// and cuts a torn last line off. Error(kUsage) if another process has claimed the folder, or its rows are packed.
  void claim();
  const std::string& path() const { return path_; }
  /// Returns true if the last line was torn at open(): a trial was being written, or the file was cut.
  bool cut_off() const { return cut_off_; }
  std::string dump(const std::string& trial_id) const;       // a folder
  std::string event_log(const std::string& trial_id) const;  // a file name that is safe for any id
  const std::vector<TrialRow>& rows() const { return rows_; }
  std::string suite_toml() const;
  std::string context_json() const;

  /// Appends a finished trial and flushes it to the disk. Error(kEnvironment) if that fails: the file is as before.
  void add(TrialRow row);
  /// Drops the rows for which `out` is true (trials that are to run again), rewriting trials.jsonl.
  void drop_if(const std::function<bool(const TrialRow&)>& out);
  /// Adds a warning to rows for which `about` is true, unless they have one of its kind, and rewrites trials.jsonl.
  void warn_if(const std::function<bool(const TrialRow&)>& about, const Warning& warning);
  /// Replaces all rows, rewriting trials.jsonl: a reader sees the old file or the new one, whole.
  void rewrite(std::vector<TrialRow> rows);
  /// Finishes the folder, which must be this one; it has that name from now on.
  void finish(UnfinishedFolder& place, const std::string& name);
  /// (Re)writes the CSV tables, rows in the order of `order`; a reader sees the old table or the new one, whole.
  void write_tables() const;
  void write_text(const std::string& name, const std::string& text) const;

 private:
  explicit RunFolder(std::string path) : path_(std::move(path)) {}

  std::string path_;
  std::vector<TrialRow> rows_;
  bool cut_off_ = false;
  std::shared_ptr<void> claim_;  // the open folder that carries the lock
};

}  // namespace hopbench
