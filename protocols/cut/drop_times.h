// DropCompute's choice: after how much time a worker stops computing (protocols/cut/dropcompute.cpp).
#pragma once

#include <optional>
#include <vector>

namespace hopbench::cut {

/// The times of one worker's gradient: when each of its micro-batches began, and when the last one ended, in seconds
/// from the first one's beginning.
struct MicroBatchTimes {
  std::vector<double> begins;  // begins[0] = 0
  std::vector<int> samples;    // of each
  double end = 0;
};

struct MeasuredIteration {
  std::vector<MicroBatchTimes> workers;
  double communication = 0;  // seconds that the all-reduce takes once all have come
};

/// Returns the time limit with the largest effective speed-up over the measured iterations: the mean of (time of the
/// iteration) / (its time under the limit), times the share of samples in micro-batches that begin within the limit.
/// The shortest of several; nothing if no limit gains a hundredth, or if there is one worker only. Times may be off by
/// the rounding of single precision.
std::optional<double> best_limit(const std::vector<MeasuredIteration>& iterations);

}  // namespace hopbench::cut
