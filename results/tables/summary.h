// The tables that a run prints, one for each scenario and measure, with the bound rows.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "backends/base/record/trial_row.h"
#include "results/tables/table.h"

namespace hopbench {

/// Returns the summary of a run, without "who pays" (cost.h). `reference` is the label that speed-ups refer to.
std::vector<Table> summarise(std::span<const TrialRow> rows, const std::string& reference);

}  // namespace hopbench
