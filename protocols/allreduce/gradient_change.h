// The change of a worker's gradient from one iteration to the next, as SelSync measures it
// (protocols/allreduce/selsync.cpp).
#pragma once

#include <cmath>
#include <cstddef>
#include <deque>

namespace hopbench::allreduce {

/// |E_k - E_(k-1)| / E_(k-1), where E_k is the exponentially weighted average of the last `window` squared norms:
/// weights (1 - factor)^age, scaled to sum to 1.
class GradientChange {
 public:
  GradientChange(int window, double factor) : window_(static_cast<std::size_t>(window)), factor_(factor) {}

  /// Takes the squared norm of the next gradient and returns the change; 0 at first, and if both averages are 0.
  double next(double squared_norm) {
    const bool first = norms_.empty();
    norms_.push_front(squared_norm);
    if (norms_.size() > window_) norms_.pop_back();
    const double before = smoothed_;
    smoothed_ = average();
    return first || smoothed_ == before ? 0 : std::abs(smoothed_ - before) / before;
  }
  /// Returns E_k; 0 before the first gradient.
  double smoothed() const { return smoothed_; }

 private:
  double average() const {
    double sum = 0, total = 0, weight = 1;
    for (const double norm : norms_) {
      sum += weight * norm;
      total += weight;
      weight *= 1 - factor_;
    }
    return sum / total;
  }

  std::size_t window_;
  double factor_;
  std::deque<double> norms_;  // newest first
  double smoothed_ = 0;
};

}  // namespace hopbench::allreduce
