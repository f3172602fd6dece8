// Results read off a trial's curve: the place where it reaches the target, and its end.
#pragma once

#include <optional>
#include <string_view>

#include "backends/base/record/trial_row.h"
#include "results/arithmetic/statistics.h"

namespace hopbench {

/// Returns the model that has to reach the target: "mean", "median rank", "worst rank" or "server".
std::string_view target_model(const TrialRow& row);

/// The crossings of the labels' target loss by that model, in each measure of progress (fairness section 3). Empty if
/// no target is set.
struct TargetReached {
  Crossing time_s, samples, iterations;
};
TargetReached target_reached(const TrialRow& row);

/// The end of the mean model's curve, the T in "> T" for a target that was not reached. 0 without a curve.
struct CurveEnd {
  double time_s = 0, samples = 0;
};
CurveEnd curve_end(const TrialRecord& record);

/// Returns the last point of `model`, or nullptr if the curve has none. The pointer is into the record.
const CurvePoint* final_point(const TrialRecord& record, std::string_view model);
/// Returns the best accuracy over the mean model's points; nothing if there are none.
std::optional<double> best_accuracy(const TrialRecord& record);
/// Returns the median number of samples between two evaluations; 0 if there are fewer than two.
double evaluation_interval(const TrialRecord& record);

}  // namespace hopbench
