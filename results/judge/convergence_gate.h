// Tests by a one-sided t-test over seeds if training needs more iterations to the target than before. A single seed
// says nothing, since two programs that sum in different orders never take the same path.
#pragma once

#include <string>
#include <vector>

#include "results/files/run_folder.h"
#include "results/judge/gate.h"

namespace hopbench {

constexpr int kSeedsToJudge = 5;

/// Returns a row "iterations to target" for each measure, scenario and variant with a target, if base reached it in at
/// least kSeedsToJudge pairs of one seed and repeat, and head in at least two of them. kRegression: the mean log ratio
/// head / base is above 0, one-sided 95 % after Bonferroni over all rows, or head no longer reaches it where base did.
/// kImprovement: below 0, likewise. kNoChange: equal. Otherwise kWithin what the bounds exclude. `notes` gets a note on
/// variants with too few seeds.
std::vector<GateRow> convergence_rows(const RunFolder& base, const RunFolder& head, std::vector<std::string>& notes);

}  // namespace hopbench
