// How the ranks of a trial are launched and connected, and where they run.
#pragma once

#include <atomic>
#include <cstddef>
#include <string>
#include <vector>

#include "backends/fleet/fleet.h"
#include "backends/runtime/process/launch.h"
#include "backends/transport/wire.h"
#include "suites/trial/child_task.h"
#include "suites/trial/plan.h"

namespace hopbench {

/// Returns options to launch `ranks` children with the job, within the limits of its trial.
LaunchOptions launch_options(const ChildTask& job, int ranks, const std::atomic<int>* interrupts);
/// Returns options to connect this rank with its peers. `body_bytes`: of the largest messages.
WireOptions wire_options(const TrialSpec& spec, ChildChannel& channel, const std::vector<int>& peers,
                         std::size_t body_bytes);

/// Puts each rank of the trial in its place among the run's machines; `fleet` nullptr: all are here. If launch.ranks is
/// less than the plan's (calibration has no servers), places the first ones. Error(kUsage) if they cannot run there.
void place(LaunchOptions& launch, const TrialSpec& spec, const Plan& plan, Fleet* fleet);

/// Checks the same before anything runs. Throws what `place` would throw.
void check_place(const TrialSpec& spec, Fleet& fleet);

/// Returns the name of the machine that a rank is on; empty if the run uses only this machine.
std::string machine_of(const LaunchOptions& launch, int rank, const Fleet* fleet);

}  // namespace hopbench
