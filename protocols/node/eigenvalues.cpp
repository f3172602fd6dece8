#include "protocols/node/eigenvalues.h"

// The same bits with every compiler and instruction set. So no other source may include Eigen without this definition.
#define EIGEN_DONT_VECTORIZE
#include <Eigen/Eigenvalues>

#include "backends/base/error.h"

namespace hopbench {
namespace {

using Solver = Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>;

Solver solved(const std::vector<std::vector<double>>& symmetric, int what) {
  const auto n = static_cast<Eigen::Index>(symmetric.size());
  Eigen::MatrixXd matrix(n, n);
  for (Eigen::Index i = 0; i < n; ++i) {
    const std::vector<double>& row = symmetric[static_cast<std::size_t>(i)];
    HB_ASSERT_MSG(row.size() == symmetric.size(), "a square matrix");
    for (Eigen::Index j = 0; j < n; ++j) matrix(i, j) = row[static_cast<std::size_t>(j)];
  }
  Solver solver(matrix, what);
  HB_ASSERT_MSG(solver.info() == Eigen::Success, "eigenvalues of finite numbers");
  return solver;
}

}  // namespace

std::vector<double> eigenvalues(const std::vector<std::vector<double>>& symmetric) {
  const Solver solver = solved(symmetric, Eigen::EigenvaluesOnly);
  return {solver.eigenvalues().begin(), solver.eigenvalues().end()};
}

Eigensystem eigensystem(const std::vector<std::vector<double>>& symmetric) {
  const Solver solver = solved(symmetric, Eigen::ComputeEigenvectors);
  Eigensystem system{.values = {solver.eigenvalues().begin(), solver.eigenvalues().end()}, .vectors = {}};
  for (const auto column : solver.eigenvectors().colwise()) system.vectors.emplace_back(column.begin(), column.end());
  return system;
}

}  // namespace hopbench
