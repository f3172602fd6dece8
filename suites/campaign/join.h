// `hopbench run` as one of several processes: which process it is, and which others it waits for or serves.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "backends/fleet/fleet.h"
#include "backends/fleet/process_identity.h"
#include "suites/campaign/options.h"
#include "suites/trial/trial.h"

namespace hopbench {

/// Returns the place of this process in its run. An indexed Job whose pods run a shard each (--shard, and no
/// HOPBENCH_WORLD_SIZE) numbers runs and not processes. Throws as identity_of() does.
ProcessIdentity place_in_run(const GatheringOptions& options);

/// Serves the first process of the run, if this process is not the first, until the run is over. Returns the exit code.
/// Returns nothing if this process is the first, or alone. Serves nobody if the first process `only_prints`.
std::optional<int> serve(const GatheringOptions& options, bool only_prints = false);

/// The other processes of a run. The first of several, or one with --hosts, waits for them. fleet() is null if alone.
class Gathering {
 public:
  explicit Gathering(const GatheringOptions& options);
  Fleet* fleet() const { return fleet_.get(); }
  /// Returns all its processes, with their machines and clocks, for the context; empty if this process is alone.
  std::string processes_json() const;
  /// Calls `work` and tells the exit code that it returns, or that of the Error that it throws, to the other processes.
  int telling_all(const std::function<int()>& work) const;
  /// Throws Error(kUsage) for a trial that these processes cannot run.
  void check(const std::vector<TrialSpec>& trials) const;
  /// Throws Error(kUsage) if a run that is resumed, whose context this is, was one of other processes.
  void check_same(const std::string& context_json) const;

 private:
  std::unique_ptr<MeetingPoint> meeting_;
  std::unique_ptr<Fleet> fleet_;  // says good-bye before ssh is waited for
};

/// Runs the hidden command `agent`, which --hosts starts by ssh; returns the exit code.
int agent_main();

}  // namespace hopbench
