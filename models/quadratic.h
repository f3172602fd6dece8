// The quadratic objective that protocols are checked on: its optimum is known.
//
//   f(x) = mean over the samples i of 0.5 * sum over d of a_d (x_d - c_id)^2
//
// The centres c_i are the samples of the data set (by default `quadratic`, drawn in ten groups, so that label-skewed
// splits give the workers different optima). The curvatures a_d are log spaced in [0.1, 1] (condition number 10).
#pragma once

#include <vector>

#include "models/dataset.h"

namespace hopbench {

std::vector<double> quadratic_curvatures(std::size_t size);

struct QuadraticOptimum {
  std::vector<double> x;  // the mean of the centres
  double loss = 0;        // f(x), the least possible loss, which is due to the samples' scatter
};
/// Returns the optimum over the whole data set. Evaluation uses only the first `evaluation_samples`.
QuadraticOptimum quadratic_optimum(const Dataset& centres);

}  // namespace hopbench
