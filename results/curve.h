// What is read off a trial's curve: where it reaches the target, and how it ends.
#pragma once

#include <optional>
#include <string_view>

#include "results/run_folder.h"
#include "results/statistics.h"

namespace hopbench {

/// The model that has to reach the target: "mean", "median rank", "worst rank" or "server".
std::string_view target_model(const TrialRow& row);

/// That model's crossing of the labels' target loss, by each measure of progress (fairness section 3). Nothing where no
/// target is set.
struct TargetReached {
  Crossing time_s, samples, iterations;
};
TargetReached target_reached(const TrialRow& row);

/// How far the mean model's curve goes: "> T" of a target that was not reached. 0 without a curve.
struct CurveEnd {
  double time_s = 0, samples = 0;
};
CurveEnd curve_end(const TrialRecord& record);

/// The last point of `model`; nullptr if the curve has none. The pointer is into the record.
const CurvePoint* final_point(const TrialRecord& record, std::string_view model);
/// Over the mean model's points; nothing without any.
std::optional<double> best_accuracy(const TrialRecord& record);
/// Median number of samples between two evaluations; 0 below two.
double evaluation_interval(const TrialRecord& record);

}  // namespace hopbench
