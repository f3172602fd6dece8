// What theory promises of a trial, as docs/protocols.md has it: what a report draws beside what happened.
#pragma once

#include "results/report.h"
#include "suites/trial.h"

namespace hopbench {

/// Nothing where a protocol bounds nothing, or where its bound is no plain number (sgp, gossipgrad). Error(kUsage) for
/// a trial that is not possible.
ReportBound bound_of(const TrialSpec& spec);

}  // namespace hopbench
