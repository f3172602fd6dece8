// Tests if a rate of virtual time depends on the order of what happens at one instant.
#pragma once

#include "backends/base/record/trial_record.h"
#include "backends/runtime/process/board.h"
#include "suites/trial/trial.h"

namespace hopbench {

/// Returns the trial as it is run for its rate alone: without an event log, evaluations and `shuffles`. Gradients are
/// computed only if the protocol's times follow their values.
TrialSpec rate_alone(const TrialSpec& spec);

/// Simulates the trial `spec.shuffles` more times, each time with other ties (SimulationOptions::shuffle, without
/// longer messages). Adds the warning "depends on ties" if the largest of all rates is more than 5 % above the
/// smallest, or if the trial fails in some order. Computes no gradients, unless they are sparse or the protocol follows
/// their values. `board` shows progress; it may be null.
void mark_ties(TrialRecord& record, const TrialSpec& spec, Board* board);

}  // namespace hopbench
