#include "protocols/allreduce/gradient_change.h"

#include <cmath>

namespace hopbench::allreduce {

double GradientChange::next(double squared_norm) {
  const bool first = norms_.empty();
  norms_.push_front(squared_norm);
  if (norms_.size() > window_) norms_.pop_back();
  const double before = smoothed_;
  smoothed_ = average();
  if (first || smoothed_ == before) return 0;
  return std::abs(smoothed_ - before) / before;
}

double GradientChange::average() const {
  double sum = 0, total = 0, weight = 1;
  for (const double norm : norms_) {
    sum += weight * norm;
    total += weight;
    weight *= 1 - factor_;
  }
  return sum / total;
}

}  // namespace hopbench::allreduce
