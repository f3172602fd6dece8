// Eigenvalues and inverses of symmetric matrices, for plans and bounds.
#pragma once

#include <vector>

namespace hopbench {

/// Returns the eigenvalues of a symmetric matrix of n rows of n numbers, ascending and each as often as it occurs, up
/// to rounding. Takes O(n^3). They are the same bits with every compiler, but a plan that follows from them should not
/// depend on the last ones.
std::vector<double> eigenvalues(const std::vector<std::vector<double>>& symmetric);

/// The eigenvalues as above, and at the same place an eigenvector of length 1 for each, orthogonal to the others.
struct Eigensystem {
  std::vector<double> values;
  std::vector<std::vector<double>> vectors;
};
Eigensystem eigensystem(const std::vector<std::vector<double>>& symmetric);

/// Returns the inverse of a symmetric matrix whose eigenvalues are above 0.
std::vector<std::vector<double>> inverse_of(const std::vector<std::vector<double>>& positive);

}  // namespace hopbench
