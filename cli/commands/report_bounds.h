// The bounds that theory gives for a trial, as in docs/protocols.md. A report draws them beside the measured values.
#pragma once

#include "results/report/report.h"
#include "suites/trial/trial.h"

namespace hopbench {

/// Returns the bound. The gap is the one that the record has (`gap_bound`), so records made before that column existed
/// have none. Returns nothing if the protocol has no bound, or if its bound is not a plain number (sgp, gossipgrad).
ReportBound bound_of(const TrialSpec& spec, const TrialRecord& record);

}  // namespace hopbench
