// Bounds on the rate of a trial, from its draws and its cost. They are the last rows of every rate table.
#pragma once

#include "backends/base/record/trial_record.h"
#include "results/arithmetic/steady.h"
#include "suites/trial/plan.h"
#include "suites/trial/trial.h"

namespace hopbench {

/// Rates in samples/s that a trial's workers could have had in a window of it.
///
/// Each worker's own rate is that at which it would have computed in the window if its device had not idled. It counts
/// the samples that the worker did compute, those computed for other workers included. It adds the samples that fit
/// into the time in which its device computed none that count: batches of the suite's size, at the suite's cost, with
/// the worker's own slowdowns of the iterations after its last one in the window. Time before a late join and during a
/// hang is idle. Workers that the scenario removed are left out, as in the rates.
struct WindowBounds {
  double ideal = -1;           // the sum of those rates; no protocol can be faster. -1: the suite gives no cost
  double slowest = 0;          // every worker at the rate of the slowest one; 0: the suite gives no cost
  double without_slowest = 0;  // without that worker, the others at the rate of the slowest of them
};
/// Returns them. If a device computed more in some time than the cost allows, `ideal` is below `record.samples_per_s`.
WindowBounds window_bounds(const TrialRecord& record, const TrialSpec& spec, const Plan& plan, const Window& window);

/// Returns the samples/s that the suite's cost and the draws give its slowest worker, over the trial's iterations and
/// without any wait; 0 if the suite gives no cost.
double slowest_rate(const TrialSpec& spec, const Plan& plan);

}  // namespace hopbench
