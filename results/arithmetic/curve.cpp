#include "results/arithmetic/curve.h"

#include <algorithm>
#include <vector>

#include "backends/base/record/target_model.h"

namespace hopbench {
namespace {

constexpr std::string_view kMean = "mean";

std::vector<const CurvePoint*> points_of(const TrialRecord& record, std::string_view model) {
  std::vector<const CurvePoint*> points;
  for (const CurvePoint& point : record.curve) {
    if (point.model == model) points.push_back(&point);
  }
  return points;
}
std::vector<const CurvePoint*> mean_points(const TrialRecord& record) { return points_of(record, kMean); }

}  // namespace

std::string_view target_model(const TrialRow& row) {
  switch (row.labels.target_model) {
    case TargetModel::kAuto:
      return final_point(row.record, "server") != nullptr ? "server" : kMean;
    case TargetModel::kMean:
      return kMean;
    case TargetModel::kMedianRank:
      return "median rank";
    case TargetModel::kWorstRank:
      return "worst rank";
  }
  return kMean;
}

TargetReached target_reached(const TrialRow& row) {
  if (row.labels.target_loss <= 0) return {};
  std::vector<double> time, samples, iterations, loss;
  for (const CurvePoint* point : points_of(row.record, target_model(row))) {
    time.push_back(to_seconds(point->time));
    samples.push_back(static_cast<double>(point->samples));
    iterations.push_back(point->iteration);
    loss.push_back(point->loss);
  }
  if (loss.size() < 2) return {};  // only the end was evaluated, which cannot show when the target was reached
  const double target = row.labels.target_loss;
  const int hold = std::max(1, row.labels.target_hold);
  return {time_to_target(time, loss, target, hold), time_to_target(samples, loss, target, hold),
          time_to_target(iterations, loss, target, hold)};
}

CurveEnd curve_end(const TrialRecord& record) {
  const CurvePoint* last = final_point(record, kMean);
  if (last == nullptr) return {};
  return {to_seconds(last->time), static_cast<double>(last->samples)};
}

const CurvePoint* final_point(const TrialRecord& record, std::string_view model) {
  const CurvePoint* last = nullptr;
  for (const CurvePoint& point : record.curve) {
    if (point.model == model) last = &point;
  }
  return last;
}

std::optional<double> best_accuracy(const TrialRecord& record) {
  std::optional<double> best;
  for (const CurvePoint* point : mean_points(record)) best = std::max(best.value_or(point->accuracy), point->accuracy);
  return best;
}

double evaluation_interval(const TrialRecord& record) {
  const auto points = mean_points(record);
  std::vector<double> steps;
  for (std::size_t i = 1; i < points.size(); ++i) {
    steps.push_back(static_cast<double>(points[i]->samples - points[i - 1]->samples));
  }
  return steps.empty() ? 0 : median(steps);
}

}  // namespace hopbench
