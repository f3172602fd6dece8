// Chooses where the ranks of a trial run.
#pragma once

#include "backends/fleet/fleet.h"
#include "backends/runtime/process/launch.h"
#include "suites/trial/plan.h"

namespace hopbench {

/// Puts each rank of the trial in its place among the run's machines; `fleet` nullptr: all are here. If launch.ranks is
/// less than the plan's (calibration has no servers), places the first ones. Error(kUsage) if they cannot run there.
void place(LaunchOptions& launch, const TrialSpec& spec, const Plan& plan, Fleet* fleet);

/// Checks the same before anything runs. Throws what `place` would throw.
void check_place(const TrialSpec& spec, Fleet& fleet);

/// Returns the name of the machine that a rank is on; empty if the run uses only this machine.
std::string machine_of(const LaunchOptions& launch, int rank, const Fleet* fleet);

}  // namespace hopbench
