// The folder a run writes: hopbench-results/<utc>-<id>/.
//
//   suite.toml     the resolved suite            context.json   versions, machine, overrides, hash
//   trials.csv ranks.csv curve.csv               long-form tables, a row each; the same bytes each time in virtual time
//   host.csv                                     what measures the host (wall_s, cpu_s, max_rss_bytes), apart for that
//   reason trials.jsonl   a finished trial a line, appended as it ends: what --resume reads, so a crash loses no
//   finished row events/        the event log, a file a trial, JSON lines summary.md     the tables that were printed
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "results/record.h"

namespace hopbench {

/// What the tables need to know of a trial beside its record: names and settings, as text.
struct TrialLabels {
  std::string suite, measure, what;  // what: "rate" | "convergence"
  std::string scenario, protocol, variant, backend, transport, clock, model, dataset, topology, status_mark;
  int world = 0, batch = 0;
  double cost_s = 0;  // calibrated cost of a step
  std::uint64_t seed = 0;
  std::uint32_t repeat = 0;
  int order = 0;
  double target_loss = 0;
  int target_hold = 3;
  bool experimental = false;
  std::string source, reading;
};

struct TrialRow {
  TrialLabels labels;
  TrialRecord record;
};

class RunFolder {
 public:
  /// Creates the folder (Error(kEnvironment) if it cannot be written) with suite and context.
  static RunFolder create(const std::string& path, const std::string& suite_toml, const std::string& context_json);
  /// Opens one to go on with it; a torn last line of trials.jsonl is cut off.
  static RunFolder open(const std::string& path);

  const std::string& path() const { return path_; }
  std::string event_log(const std::string& trial_id) const;  // a file name that is safe for any id
  const std::vector<TrialRow>& rows() const { return rows_; }
  std::string suite_toml() const;
  std::string context_json() const;

  /// Appends a finished trial and flushes it to the disk.
  void add(TrialRow row);
  /// Drops the rows for which it is true (trials that are to run again), rewriting trials.jsonl.
  void drop_if(const std::function<bool(const TrialRow&)>& out);
  /// (Re)writes the CSV tables, rows in the order of `order`.
  void write_tables() const;
  void write_text(const std::string& name, const std::string& text) const;

 private:
  explicit RunFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
  std::vector<TrialRow> rows_;
};

}  // namespace hopbench
