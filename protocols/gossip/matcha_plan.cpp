#include "protocols/gossip/matcha_plan.h"

#include <cmath>

#include "protocols/gossip/best_chances.h"
#include "protocols/node/eigenvalues.h"

namespace hopbench::gossip {
namespace matcha_plan {

double rounded(double value) { return std::round(value * 1e9) / 1e9; }

/// Minimises the largest eigenvalue of E[W^2] = I - 2 alpha L + alpha^2 (L^2 + 2 V), L the mean Laplacian and V the sum
/// of p (1 - p) x Laplacian: a matching's Laplacian squared is twice itself. It is convex in alpha, and least at 1 at
/// most: there the mean of all eigenvalues is 1 again, or more.
double best_alpha(const std::vector<Matching>& matchings, const Numbers& chances, std::size_t n) {
  Numbers variances;
  for (const double p : chances) variances.push_back(2 * p * (1 - p));
  const Matrix mean = laplacian_of(matchings, chances, n);
  Matrix square = laplacian_of(matchings, variances, n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) square[i][j] += dot(mean[i], mean[j]);
  }
  double low = 0, high = 1;
  for (int step = 0; step < 40; ++step) {
    const double alpha = (low + high) / 2;
    Matrix change(n, Numbers(n));  // (E[W^2] - I) / alpha, and for the vector of ones less than all others
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) change[i][j] = alpha * square[i][j] - 2 * mean[i][j] - 3;
    }
    const Eigensystem system = eigensystem(change);
    const Numbers& v = system.vectors.back();
    double slope = 0;
    for (std::size_t i = 0; i < n; ++i) slope += v[i] * (alpha * dot(square[i], v) - dot(mean[i], v));
    (slope > 0 ? high : low) = alpha;
  }
  return rounded(high);
}

}  // namespace matcha_plan

MatchaPlan make_matcha_plan(const Topology& graph, double budget) {
  struct Kept {
    double budget = 0;
    int workers = 0;
    MatchaPlan plan;
  };
  static thread_local Kept kept;
  std::vector<Matching> matchings = matchings_of(graph);
  if (kept.budget == budget && kept.workers == graph.size() && kept.plan.matchings == matchings) return kept.plan;
  kept = {budget, graph.size(), {.matchings = std::move(matchings), .chances = {}, .alpha = 0}};
  if (kept.plan.matchings.empty()) return kept.plan;
  const auto n = static_cast<std::size_t>(graph.size());
  kept.plan.chances = find_best_chances(kept.plan.matchings, n, budget);
  for (double& chance : kept.plan.chances) chance = matcha_plan::rounded(chance);
  kept.plan.alpha = matcha_plan::best_alpha(kept.plan.matchings, kept.plan.chances, n);
  return kept.plan;
}

}  // namespace hopbench::gossip
