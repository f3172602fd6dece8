// Values that no trial can have: a file with one of them was damaged or edited.
#pragma once

#include <map>
#include <span>
#include <string>

#include "results/run_folder.h"

namespace hopbench {

/// Error(kUsage) names the first field whose value is impossible: a negative count, time or rate, a clock or measure of
/// an unknown kind, a clock that its transport has not, a name with control characters, or a rate in virtual time above
/// its ideal. Reasons and warnings are free text. Infinite and missing (nan) rates are possible.
void check_possible(const TrialRow& row);
/// The same of a row of trials.csv, by column. Cells may be missing or empty. Numbers must be numbers to their end.
void check_possible(const std::map<std::string, std::string>& cells);

/// Error(kUsage) names the first trial that ended well and whose time or rate is not finite: it cannot be compared.
/// `file` is where the rows are from, and `folder` that of the run; empty: there is none.
void check_finite(std::span<const TrialRow> rows, const std::string& file, const std::string& folder);
/// The same of the trials of a run.
void check_finite(const RunFolder& run);

/// Error(kUsage) names the first field of a trial that ended well which cannot be compared with later results: a time
/// or rate that is not finite, or an id with an empty part, a part "." or "..", or a control character.
void check_comparable(const TrialRow& row);

}  // namespace hopbench
