// `hopbench run` as one of several processes: who it is, whom it waits for, whom it serves.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "backends/fleet/fleet.h"
#include "cli/run.h"

namespace hopbench {

/// For a process that is not the first of its run: serves that one until the run is over, and returns the exit code.
/// Nothing for one that is the first, or alone.
std::optional<int> serve(const RunOptions& options);

/// For the first process of several, or with --hosts: waits for the others. nullptr for one that is alone.
class Gathering {
 public:
  explicit Gathering(const RunOptions& options);
  Fleet* fleet() const { return fleet_.get(); }
  /// Of all its processes, with their machines and clocks, for the context; empty: alone.
  std::string processes_json() const;
  /// Error(kUsage) for a trial that these processes cannot run.
  void check(const std::vector<TrialSpec>& trials) const;
  /// Error(kUsage) if a run that is resumed was one of other processes: its context.
  void check_same(const std::string& context_json) const;

 private:
  std::unique_ptr<MeetingPoint> meeting_;
  std::unique_ptr<Fleet> fleet_;  // says good-bye before ssh is waited for
};

/// The hidden command `agent`, which --hosts starts by ssh; returns the exit code.
int agent_main();

}  // namespace hopbench
