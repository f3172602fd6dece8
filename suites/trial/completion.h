// Completes a trial's record once its ranks' records are there.
#pragma once

#include "backends/base/record/event.h"
#include "backends/base/record/trial_record.h"
#include "suites/trial/plan.h"
#include "suites/trial/trial.h"

namespace hopbench {

/// Returns the record of a worker that the scenario killed at `when`, with real processes and in virtual time. Its
/// counts died with it. The samples in its slot, which a curve's last point needs, are no part of the record.
RankRecord crashed_record(int rank, int host, Time when);
Event crash_event(int rank, Iter k, Time when);

/// Fills in what follows from the ranks' records: names, hash, time, rates, gaps, bounds, warnings.
void complete_record(TrialRecord& record, const TrialSpec& spec, const Plan& plan);

/// Holds the record's rate against window_ideal_samples_per_s, if that is known. In virtual time a larger rate fails
/// the trial, since some device computed more than it could. In real processes, whose times are measured, a rate
/// above 1.01 of it adds a warning.
void check_ideal(TrialRecord& record, bool virtual_time);

}  // namespace hopbench
