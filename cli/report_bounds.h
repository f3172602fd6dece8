// What theory promises of a trial, as docs/protocols.md has it: what a report draws beside what happened.
#pragma once

#include "results/report.h"
#include "suites/trial.h"

namespace hopbench {

/// The gap is the one that the record has (`gap_bound`), so records made before that column existed have none. Nothing
/// where a protocol bounds nothing, or where its bound is not a plain number (sgp, gossipgrad).
ReportBound bound_of(const TrialSpec& spec, const TrialRecord& record);

}  // namespace hopbench
