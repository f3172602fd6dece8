// `hopbench baseline`: save, list, show, rm.
#include <fmt/format.h>

#include <filesystem>
#include <set>

#include "backends/base/printable.h"
#include "backends/base/process/tell.h"
#include "backends/base/text.h"
#include "cli/gate/gate.h"
#include "cli/outputs.h"
#include "results/judge/baseline.h"
#include "results/tables/table.h"
#include "suites/language/suite.h"

namespace hopbench {

std::string newest_run() {
  namespace fs = std::filesystem;
  fs::path newest;
  fs::file_time_type when{};
  if (fs::is_directory("hopbench-results")) {
    for (const fs::directory_entry& entry : fs::directory_iterator("hopbench-results")) {
      const fs::path trials = entry.path() / "trials.jsonl";
      if (!fs::exists(trials) || (!newest.empty() && fs::last_write_time(trials) < when)) continue;
      newest = entry.path();
      when = fs::last_write_time(trials);
    }
  }
  if (newest.empty()) throw usage_error("there is no run in ./hopbench-results: name the folder of one");
  return newest.string();
}

SuiteTrials trials_of_suite(const RunFolder& run) {
  const Suite suite = parse_suite(run.suite_toml(), run.path() + "/suite.toml", {});
  SuiteTrials trials{suite.trials.size(), {}};
  for (const TrialSpec& spec : suite.trials) trials.lacking.insert(spec.id());
  for (const TrialRow& row : run.rows()) trials.lacking.erase(row.record.id);
  return trials;
}

namespace {

/// Throws Error(kUsage) if the run lacks trials of its suite, and SuiteError if the suite is damaged.
void check_all_there(const RunFolder& run, bool partial) {
  const auto [all, missing] = trials_of_suite(run);
  if (partial || missing.empty()) return;
  throw usage_error(fmt::format(
      "{0} lacks {1} of the {2} trials of its suite, for example {3}: run them (run --resume {0}), or keep the "
      "others alone with --partial",
      run.path(), missing.size(), all, *missing.begin()));
}

}  // namespace

int command_baseline_save(const BaselineCommand& options) {
  const RunFolder run = open_run(options.folder.empty() ? newest_run() : options.folder);
  check_all_there(run, options.partial);
  const std::size_t changed = save_baseline(options.baselines, options.name, run, options.reason).size();
  const Baseline saved = read_baseline(options.baselines, options.name);
  tell(fmt::format("baseline {}: {} trials of {}{}\n", saved.name, saved.trials, printable(run.path()),
                   changed > 0 ? fmt::format(", {} of virtual time are not what they were", changed) : ""));
  return 0;
}

int command_baseline_list(const BaselineCommand& options) {
  Table table{.columns = {"baseline", "suite", "trials", "saved", "by"}};
  for (const Baseline& b : list_baselines(options.baselines)) {
    const BaselineSave& last = b.history.back();
    table.rows.push_back({b.name, b.suite, fmt::format("{}", b.trials), last.time, last.version});
  }
  if (table.rows.empty()) {
    tell(fmt::format("no baseline in {}: hopbench baseline save NAME DIR\n", options.baselines));
    return 0;
  }
  fmt::print("{}", to_text(table, false));
  return 0;
}

int command_baseline_show(const BaselineCommand& options) {
  const Baseline baseline = read_baseline(options.baselines, options.name);
  fmt::print("baseline {}: suite {}, {} trials\n", baseline.name, baseline.suite, baseline.trials);
  for (const BaselineSave& save : baseline.history) {
    fmt::print("{}\n", printable_line(fmt::format("saved {} by {}{}", save.time, save.version,
                                                  save.reason.empty() ? "" : ": " + save.reason)));
    for (const std::string& trial : save.changed) fmt::print("  changed: {}\n", printable_line(trial));
  }
  const RunFolder rows = RunFolder::open(options.baselines + "/" + options.name);
  for (const TrialRow& row : rows.rows()) fmt::print("  {}  {} s\n", row.record.id, row.record.time_s);
  return 0;
}

int command_baseline_remove(const BaselineCommand& options) {
  remove_baseline(options.baselines, options.name);
  tell(fmt::format("baseline {} is gone from {}\n", options.name, options.baselines));
  return 0;
}

}  // namespace hopbench
