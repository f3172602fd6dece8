// Bounds on the rate of a trial, from its draws and its cost. They are the last rows of every rate table.
#pragma once

#include <vector>

#include "backends/base/record.h"
#include "results/arithmetic/steady.h"
#include "suites/trial/plan.h"
#include "suites/trial/trial.h"

namespace hopbench {

/// Rates in samples/s that the draws and the cost alone give, over the trial's iterations without its warm-up. They are
/// 0 if the suite gives no cost.
struct ScheduleBounds {
  double slowest = 0;          // every worker at the rate of the slowest one
  double without_slowest = 0;  // the same rate without that worker: the others at the rate of the slowest of them
};
/// Returns these rates. Leaves out the workers in `lost`, which the scenario removed.
ScheduleBounds schedule_bounds(const TrialSpec& spec, const Plan& plan, const std::vector<int>& lost = {});

/// Returns the rate in samples/s at which the workers would have computed in `window` if no device had idled; -1 if the
/// suite gives no cost.
///
/// Counts the samples that the workers did compute in the window, those computed for other workers included. Adds the
/// samples that fit into the time in which their devices computed no gradient: batches of the suite's size, at the
/// suite's cost, with the worker's own slowdowns of the iterations after its last one in the window. No protocol can be
/// faster in the same window. If a device computed more in some time than the cost allows, the result is below
/// `record.samples_per_s`. Workers that the scenario removed are left out, as in the rates. Time before a late join and
/// during a hang is idle.
double window_ideal(const TrialRecord& record, const TrialSpec& spec, const Plan& plan, const Window& window);

}  // namespace hopbench
