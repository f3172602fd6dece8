// Checks for values that no trial can have: a file with one of them was damaged or edited.
#pragma once

#include <map>
#include <span>
#include <string>

#include "results/files/run_folder.h"

namespace hopbench {

/// Checks a trial. Error(kUsage) names the first field with an impossible value: a negative count, time or rate,
/// a clock or measure of an unknown kind, a clock that its transport lacks, a name with control characters, a rate
/// in virtual time above its ideal. Reasons and warnings are free text. Infinite and missing (nan) rates are possible.
void check_possible(const TrialRow& row);
/// Checks the same for a row of trials.csv, by column. Cells may be missing or empty. A number must be one to its end.
void check_possible(const std::map<std::string, std::string>& cells);

/// Checks that trials can be compared. Error(kUsage) names the first that ended well but whose time or rate is not
/// finite. `file` is the file that has the rows, and `folder` is the run's folder; empty: there is none.
void check_finite(std::span<const TrialRow> rows, const std::string& file, const std::string& folder);
/// Checks the same for the trials of a run.
void check_finite(const RunFolder& run);

/// Checks a trial that ended well. Error(kUsage) names the first field that cannot be compared with later results: a
/// time or rate that is not finite, or an id with an empty part, a part "." or "..", or a control character.
void check_comparable(const TrialRow& row);

}  // namespace hopbench
