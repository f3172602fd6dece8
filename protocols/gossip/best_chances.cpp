#include "protocols/gossip/best_chances.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "protocols/node/eigenvalues.h"

namespace hopbench::gossip {
namespace best_chances {

Numbers times(const Matrix& matrix, const Numbers& x) {
  Numbers y;
  for (const Numbers& row : matrix) y.push_back(dot(row, x));
  return y;
}

/// A function of the chances p of matchings and of a number t:
///   -weight log t - log det (L - t) - the sum of all log p_j + log (1 - p_j)
/// where L is the mean Laplacian among vectors that sum to 0. It is convex, and without end where t reaches an
/// eigenvalue or a chance 0 or 1. At its least value for a given sum of p, t is up to a factor of 1 + terms / weight
/// the largest second eigenvalue that L can have. So there is one best plan, even if many have that eigenvalue.
class Barrier {
 public:
  Barrier(const std::vector<Matching>& matchings, std::size_t n) : matchings_(matchings), n_(n) {
    for (std::size_t j = 0; j < matchings.size(); ++j) {
      for (const auto& [a, b] : matchings[j])
        links_.push_back({static_cast<std::size_t>(a), static_cast<std::size_t>(b), j});
    }
  }

  /// Returns the number of terms beside weight log t.
  double terms() const { return static_cast<double>(n_ - 1 + 2 * matchings_.size()); }

  /// Makes a step of Newton's method, from x = (p, t), that keeps the sum of p. Returns its length, in the metric of
  /// the function at x; a step of 1 or more would have left the function's domain, and is shortened.
  double step(Numbers& x, double weight) {
    derive(x, weight);
    const Matrix inverse = inverse_of(curvature_);
    Numbers sum(x.size(), 1.0);
    sum.back() = 0;
    const Numbers down = times(inverse, slope_), along = times(inverse, sum);
    const double force = dot(sum, down) / dot(sum, along);
    Numbers move;
    for (std::size_t j = 0; j < x.size(); ++j) move.push_back(force * along[j] - down[j]);
    const double length = std::sqrt(std::max(0.0, -dot(move, slope_))), part = length > 0.25 ? 1 / (1 + length) : 1;
    for (std::size_t j = 0; j < x.size(); ++j) x[j] += part * move[j];
    return length;
  }

 private:
  struct Link {
    std::size_t a, b, matching;
  };

  void derive(const Numbers& x, double weight) {
    const std::size_t last = matchings_.size();
    const double t = x[last];
    Matrix shifted = laplacian_of(matchings_, x, n_);
    for (std::size_t i = 0; i < n_; ++i) {
      for (double& each : shifted[i]) each += (1 + t) / static_cast<double>(n_);  // the vector of ones gets 1
      shifted[i][i] -= t;
    }
    const Matrix inverse = inverse_of(shifted);
    slope_.assign(last + 1, 0.0);
    curvature_.assign(last + 1, slope_);
    for (const Link& one : links_) {
      Numbers across = inverse[one.a];
      for (std::size_t i = 0; i < n_; ++i) across[i] -= inverse[one.b][i];
      slope_[one.matching] -= across[one.a] - across[one.b];
      curvature_[one.matching][last] -= dot(across, across);
      for (const Link& other : links_) {
        const double both = across[other.a] - across[other.b];
        curvature_[one.matching][other.matching] += both * both;
      }
    }
    for (std::size_t j = 0; j < last; ++j) {
      slope_[j] += 1 / (1 - x[j]) - 1 / x[j];
      curvature_[j][j] += 1 / (x[j] * x[j]) + 1 / ((1 - x[j]) * (1 - x[j]));
      curvature_[last][j] = curvature_[j][last];
    }
    slope_[last] = -1 - weight / t;
    curvature_[last][last] = -1 + weight / (t * t);
    for (std::size_t i = 0; i < n_; ++i) {
      slope_[last] += inverse[i][i];
      curvature_[last][last] += dot(inverse[i], inverse[i]);
    }
  }

  const std::vector<Matching>& matchings_;
  std::size_t n_;
  std::vector<Link> links_;
  Numbers slope_;
  Matrix curvature_;
};

}  // namespace best_chances

double dot(const Numbers& x, const Numbers& y) { return std::inner_product(x.begin(), x.end(), y.begin(), 0.0); }

Matrix laplacian_of(const std::vector<Matching>& matchings, const Numbers& weights, std::size_t n) {
  Matrix sum(n, Numbers(n, 0.0));
  for (std::size_t j = 0; j < matchings.size(); ++j) {
    for (const auto& [first, second] : matchings[j]) {
      const auto a = static_cast<std::size_t>(first), b = static_cast<std::size_t>(second);
      sum[a][a] += weights[j], sum[b][b] += weights[j];
      sum[a][b] -= weights[j], sum[b][a] -= weights[j];
    }
  }
  return sum;
}

Numbers find_best_chances(const std::vector<Matching>& matchings, std::size_t n, double budget) {
  Numbers x(matchings.size(), budget);
  if (budget > 1 - 1e-9) return x;
  best_chances::Barrier barrier(matchings, n);
  x.push_back(eigenvalues(laplacian_of(matchings, x, n))[1] / 2);
  for (const int weight : {1, 4, 16, 64, 256}) {
    for (int step = 0; step < 100; ++step) {
      if (barrier.step(x, weight * barrier.terms()) < 1e-7) break;
    }
  }
  x.pop_back();
  return x;
}

}  // namespace hopbench::gossip
