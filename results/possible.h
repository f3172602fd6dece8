// Values that no trial can have: a file with one of them was damaged or edited.
#pragma once

#include "results/run_folder.h"

namespace hopbench {

/// Error(kUsage) names the first field whose value is impossible: a negative count, time or rate, or a clock or
/// measure of an unknown kind. Infinite and missing (nan) rates are possible.
void check_possible(const TrialRow& row);

/// Error(kUsage) names the first field of a trial that ended well which cannot be compared with later results: a time
/// or rate that is not finite, or an id with an empty part, a part "." or "..", or a control character.
void check_comparable(const TrialRow& row);

}  // namespace hopbench
