// Where the ranks of a trial run.
#pragma once

#include "backends/fleet/fleet.h"
#include "backends/runtime/launch.h"
#include "suites/plan.h"

namespace hopbench {

/// Puts each rank of the trial in its place among the run's machines; `fleet` nullptr: all are here. With `ranks` fewer
/// than the plan's (calibration has no servers) the first of them. Error(kUsage) where the trial cannot run there.
void place(LaunchOptions& launch, const TrialSpec& spec, const Plan& plan, Fleet* fleet);

/// The same, before anything runs: throws what `place` would.
void check_place(const TrialSpec& spec, Fleet& fleet);

/// The name of the machine that a rank is on; empty: here alone.
std::string machine_of(const LaunchOptions& launch, int rank, const Fleet* fleet);

}  // namespace hopbench
