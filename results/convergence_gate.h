// Whether training needs more iterations to the target than it did: a one-sided t-test over seeds, since no two
// programs that sum in another order walk the same path, and a single seed says nothing.
#pragma once

#include <string>
#include <vector>

#include "results/gate.h"
#include "results/run_folder.h"

namespace hopbench {

constexpr int kSeedsToJudge = 5;

/// A row "iterations to target" for each measure, scenario and variant with a target and at least kSeedsToJudge pairs
/// of one seed and repeat in which base got there, and head in two of them at least. kRegression: the mean log ratio
/// head / base is above 0, one-sided 95 % after Holm over all rows, or head no longer gets there where base did;
/// kImprovement likewise; else kNoChange. `notes` is told what has too few seeds.
std::vector<GateRow> convergence_rows(const RunFolder& base, const RunFolder& head, std::vector<std::string>& notes);

}  // namespace hopbench
