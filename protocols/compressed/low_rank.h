// Matrices of low rank in place of a gradient's: the factors that PowerSGD sends (protocols/compressed/powersgd.cpp).
#pragma once

#include <vector>

#include "protocols/node/node.h"

namespace hopbench::compressed {

/// One step of a power iteration on each matrix M of a gradient, which all workers make together:
///
///   P = M Q        mean of all workers' P, its columns made orthonormal        Q = M^T P        mean of the Q
///
/// P Q^T is then near to the mean of the workers' M. What is in no matrix (biases, statistics), and matrices whose
/// factors would not be smaller, go along with P as they are. Q is kept for the next time; a column that came to
/// nothing, because M had a lower rank, is drawn anew.
///
/// The product with a matrix is charged as one pass over it.
class LowRank {
 public:
  /// Factors of that rank, or of a matrix's smaller side, for gradients like this vector. The first Q are drawn, the
  /// same on all workers.
  LowRank(Node& self, int rank, const Vec& like);

  /// Returns the P of this worker's matrices, one after the other, and then all numbers that are sent as they are.
  Vec left(const Vec& m);
  /// Takes the mean of that over all workers. Returns the Q of this worker's matrices, one after the other.
  Vec right(const Vec& m, const Vec& mean_of_left);
  /// Takes the mean of that over all workers. Returns P Q^T of each matrix, and the mean of all other numbers.
  Vec product(const Vec& mean_of_right);
  /// Sets the numbers to 0 that are sent as they are.
  void clear_whole(Vec& x) const;

 private:
  using Numbers = std::vector<float>;
  struct Matrix {
    Tensor at;
    std::size_t rank = 0;
    std::vector<Numbers> p, q;  // by column: rows and columns numbers
  };
  /// Returns a column of Q, the same on all workers in the same step.
  Numbers drawn(std::size_t matrix, std::size_t column) const;

  Node& self_;
  std::size_t size_;  // of the gradient
  std::vector<Matrix> matrices_;
  std::vector<Slice> whole_;  // what is sent as it is
  Iter step_ = 0;
  Vec result_;  // with the means of what is sent as it is
};

/// Makes columns of one length orthonormal, from the first one on (Gram and Schmidt). What is left of a column that
/// lies among those before it, up to rounding, becomes 0.
void make_orthonormal(std::vector<std::vector<float>>& columns);

}  // namespace hopbench::compressed
