// Two programs that run the same suites in turns, as tier T2 of the gate wants it.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "cli/gate/gate.h"
#include "results/files/files.h"
#include "results/judge/timed_gate.h"

namespace hopbench {

/// One run of one side: seconds by row and metric, its results, and the settings it was made with.
struct SideRun {
  std::map<std::pair<std::string, std::string>, double> seconds;
  std::map<std::string, std::set<std::string>> trials;  // their ids, by row
  std::vector<TrialRow> rows;
  std::string context_json;
  double iterations = 0;  // of the first trial's rank 0
};

class GateSides {
 public:
  /// Counts ^C and SIGTERM from here on, so that the folder of the runs is always removed.
  explicit GateSides(const GateCommand& options);

  /// Runs `command` on the suites: `CMD run SUITE... --json=... `. Error(kTrialsFailed) if it fails; Error(kUsage) if
  /// it is not hopbench, or if a trial is paced, since a slowdown would hide in its pace.
  SideRun run(const std::string& command, const std::vector<std::string>& more_sets = {});

  /// Returns the rows of a first run of base, which every pair has.
  const std::vector<TimedRow>& rows();
  /// Runs one pair, the sides in turns: base first, then head first, and so on. Error(kTrialsFailed) if one of the runs
  /// does not have the trials of the first run of base: its times would be of less work, or of more.
  std::vector<TimedPair> pair(const std::string& base, const std::string& head,
                              const std::vector<std::string>& head_sets = {});
  const SideRun& first() const { return first_; }

 private:
  /// Throws Error(kUsage) for a real trial with a pace, and for --virtual-threshold if no trial is of virtual time.
  void check_suites() const;

  const GateCommand& options_;
  TemporaryFolder folder_;
  SideRun first_;
  std::vector<TimedRow> rows_;
  int runs_ = 0, pairs_ = 0;
};

}  // namespace hopbench
