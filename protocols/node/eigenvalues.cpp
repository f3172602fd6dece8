#include "protocols/node/eigenvalues.h"

// The same bits with every compiler and instruction set; temporaries on the heap, because the stacks of virtual ranks
// are small. No other source may include Eigen without these definitions.
#define EIGEN_DONT_VECTORIZE
#define EIGEN_STACK_ALLOCATION_LIMIT 0
#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>

#include "backends/base/error.h"

namespace hopbench {
namespace {

using Solver = Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>;

Eigen::MatrixXd matrix_of(const std::vector<std::vector<double>>& symmetric) {
  const auto n = static_cast<Eigen::Index>(symmetric.size());
  Eigen::MatrixXd matrix(n, n);
  for (Eigen::Index i = 0; i < n; ++i) {
    const std::vector<double>& row = symmetric[static_cast<std::size_t>(i)];
    HB_ASSERT_MSG(row.size() == symmetric.size(), "a square matrix");
    for (Eigen::Index j = 0; j < n; ++j) matrix(i, j) = row[static_cast<std::size_t>(j)];
  }
  return matrix;
}

std::vector<std::vector<double>> columns_of(const Eigen::MatrixXd& matrix) {
  std::vector<std::vector<double>> columns;
  for (const auto column : matrix.colwise()) columns.emplace_back(column.begin(), column.end());
  return columns;
}

Solver solved(const std::vector<std::vector<double>>& symmetric, int what) {
  Solver solver(matrix_of(symmetric), what);
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
  return {{solver.eigenvalues().begin(), solver.eigenvalues().end()}, columns_of(solver.eigenvectors())};
}

std::vector<std::vector<double>> inverse_of(const std::vector<std::vector<double>>& positive) {
  const Eigen::LLT<Eigen::MatrixXd> factors(matrix_of(positive));
  HB_ASSERT_MSG(factors.info() == Eigen::Success, "a matrix whose eigenvalues are above 0");
  const auto n = static_cast<Eigen::Index>(positive.size());
  return columns_of(factors.solve(Eigen::MatrixXd::Identity(n, n)));
}

}  // namespace hopbench
