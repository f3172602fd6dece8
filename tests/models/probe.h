// A learner, a batch and the slope of its loss, for tests of models.
#pragma once

#include <cmath>
#include <functional>
#include <memory>
#include <vector>

#include "models/learner.h"

namespace hopbench {

struct Probe {
  std::vector<float> gradient(const std::function<void(int)>& done = {}) {
    std::vector<float> g(learner->size(), std::nanf(""));
    loss = learner->gradient(x.data(), batch, g.data(), done);
    return g;
  }
  /// The loss at x in training: a float.
  double trained_loss() {
    gradient();
    return double(loss);
  }
  /// Returns the loss as it is scored: with the statistics of batch norms, and in double.
  double scored_loss() { return learner->score(x.data(), batch).loss_sum / batch.size; }

  /// (f(x + h v) - f(x - h v)) / 2h, f one of the two.
  double slope(double (Probe::*f)(), const std::vector<double>& v, double h) {
    const std::vector<float> middle = x;
    const auto at = [&](double step) {
      for (std::size_t d = 0; d < x.size(); ++d) x[d] = float(middle[d] + step * v[d]);
      return (this->*f)();
    };
    const double result = (at(h) - at(-h)) / (2 * h);
    x = middle;
    return result;
  }

  std::unique_ptr<Backend> backend;
  std::unique_ptr<Learner> learner;
  std::vector<float> inputs, x;
  std::vector<std::int32_t> labels;
  Batch batch;
  float loss = 0;
};

inline double norm(const std::vector<float>& values, const Bucket& part) {
  double sum = 0;
  for (std::size_t d = part.offset; d < part.offset + part.size; ++d) sum += double(values[d]) * values[d];
  return std::sqrt(sum);
}

}  // namespace hopbench
