// Results that are kept to hold later ones against: a folder each in results/baselines/.
//
//   baseline.json   who saved it and when, and why its exact rows were changed, each time
//   suite.toml context.json trials.jsonl trials.csv   as in a run's folder, without the marks of single iterations
//   events/         the logs of the trials of virtual time, gzip
#pragma once

#include <string>
#include <vector>

#include "results/files/run_folder.h"

namespace hopbench {

/// Where baselines are unless told otherwise; relative to the current folder.
inline constexpr const char* kBaselines = "results/baselines";

/// An entry of a baseline's history. The first entry is the first save. A save without a reason that changes no trial
/// adds no entry.
struct BaselineSave {
  std::string time, version;         // UTC; "0.1.0 (1d1d8fa)"
  std::string reason;                // empty where no exact row changed
  std::vector<std::string> changed;  // trials of virtual time with other results
};

struct Baseline {
  std::string name, suite;
  std::size_t trials = 0;
  std::vector<BaselineSave> history;
};

/// Checks a baseline's name: letters, digits, '_', '-' and '.', not '.' first. Error(kUsage) for any other name.
void check_baseline_name(const std::string& name);

/// Returns true if the folder is a baseline, false if it is a run.
bool is_baseline(const std::string& folder);

/// Checks that a baseline can be saved as `folders`/NAME. Error(kUsage) if the name is not valid, if the folder exists
/// and is not a baseline, or if it holds files that are not part of a baseline, which saving would remove.
void check_baseline_place(const std::string& folders, const std::string& name);

/// Writes `folders`/NAME, whole or not at all, and returns the trials of virtual time that changed. Error(kUsage) if a
/// trial of virtual time would change (compare_exact) and `reason` is empty; if some trial of the run did not end well,
/// or the last one is cut off; if a trial cannot be compared with later ones (check_comparable) or the event log of a
/// trial of virtual time is not whole (check_event_log); or as check_baseline_place() does.
std::vector<std::string> save_baseline(const std::string& folders, const std::string& name, const RunFolder& run,
                                       const std::string& reason);

/// Returns all baselines, in the order of their names. Error(kUsage) if one is damaged.
std::vector<Baseline> list_baselines(const std::string& folders);
Baseline read_baseline(const std::string& folders, const std::string& name);

/// Removes a baseline. Error(kUsage) if it does not exist, if the folder is not a baseline, or if it holds other files.
void remove_baseline(const std::string& folders, const std::string& name);

}  // namespace hopbench
