#include "protocols/cut/drop_times.h"

#include <algorithm>

namespace hopbench {
namespace {

constexpr std::size_t kCandidates = 200;
constexpr double kRounding = 1e-6;   // relative; workers tell each other their times in single precision
constexpr double kLeastGain = 0.01;  // the best of many limits looks better than it is

/// Returns when a gradient ends that begins no micro-batch after `limit`.
double end_under(const MicroBatchTimes& times, double limit) {
  const auto late = std::find_if(times.begins.begin() + 1, times.begins.end(), [&](double t) { return t > limit; });
  return late == times.begins.end() ? times.end : *late;  // the one before ends where the late one would begin
}

double longest(const std::vector<MeasuredIteration>& iterations) {
  double most = 0;
  for (const MeasuredIteration& iteration : iterations) {
    for (const MicroBatchTimes& times : iteration.workers) most = std::max(most, times.end);
  }
  return most;
}

}  // namespace

double effective_speedup(const std::vector<MeasuredIteration>& iterations, double limit) {
  double faster = 0, kept = 0, all = 0;
  for (const MeasuredIteration& iteration : iterations) {
    double whole = 0, cut = 0;
    for (const MicroBatchTimes& times : iteration.workers) {
      whole = std::max(whole, times.end);
      cut = std::max(cut, end_under(times, limit));
      for (std::size_t p = 0; p < times.begins.size(); ++p) {
        all += times.samples[p];
        kept += p == 0 || times.begins[p] <= limit ? times.samples[p] : 0;
      }
    }
    faster +=
        (whole + iteration.communication) / (cut + iteration.communication) / static_cast<double>(iterations.size());
  }
  return faster * kept / all;
}

double best_limit(const std::vector<MeasuredIteration>& iterations) {
  if (iterations.front().workers.size() < 2) return longest(iterations);  // it waits for nobody
  std::vector<double> candidates;
  for (const MeasuredIteration& iteration : iterations) {
    for (const MicroBatchTimes& times : iteration.workers)
      candidates.insert(candidates.end(), times.begins.begin() + 1, times.begins.end());
  }
  std::sort(candidates.begin(), candidates.end());
  double best = longest(iterations), most = 1 + kLeastGain;
  const std::size_t step = 1 + candidates.size() / kCandidates;
  for (std::size_t i = 0; i < candidates.size(); i += step) {
    const double speedup = effective_speedup(iterations, candidates[i]);
    if (speedup > most) most = speedup, best = candidates[i];
  }
  return best * (1 + kRounding);  // what began at that very time is within it
}

}  // namespace hopbench
