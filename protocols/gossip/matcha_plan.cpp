#include "protocols/gossip/matcha_plan.h"

#include <algorithm>
#include <cmath>

#include "protocols/gossip/laplacian.h"

namespace hopbench {
namespace {

using Matching = std::vector<Edge>;

/// Returns the edges of all matchings, with the weights of these.
std::vector<WeightedEdge> weighted(const std::vector<Matching>& matchings, const Numbers& weights) {
  std::vector<WeightedEdge> edges;
  for (std::size_t j = 0; j < matchings.size(); ++j) {
    for (const auto& [a, b] : matchings[j]) edges.push_back({a, b, weights[j]});
  }
  return edges;
}

/// Returns the nearest numbers in [0, 1] whose sum is at most `most`.
Numbers projected(const Numbers& p, double most) {
  const auto shifted = [&](double by) {
    Numbers q = p;
    for (double& each : q) each = std::clamp(each - by, 0.0, 1.0);
    return q;
  };
  const auto sum = [](const Numbers& q) {
    double all = 0;
    for (const double each : q) all += each;
    return all;
  };
  double low = 0, high = 1 + *std::max_element(p.begin(), p.end());
  if (sum(shifted(0)) <= most) return shifted(0);
  for (int step = 0; step < 60; ++step) {
    const double middle = (low + high) / 2;
    (sum(shifted(middle)) > most ? low : high) = middle;
  }
  return shifted(high);
}

/// Maximises the second smallest eigenvalue of the mean Laplacian, by projected ascent.
Numbers best_chances(const std::vector<Matching>& matchings, std::size_t n, double budget) {
  const double most = budget * static_cast<double>(matchings.size());
  Numbers p(matchings.size(), budget), best = p, fiedler = some_direction(n);
  double best_value = -1;
  for (int step = 0; step < 400; ++step) {
    const double value = fiedler_value(weighted(matchings, p), fiedler, step == 0 ? 2000 : 100);
    if (value > best_value) best_value = value, best = p;
    for (std::size_t j = 0; j < matchings.size(); ++j) {
      Numbers one(matchings.size(), 0.0);
      one[j] = 1;
      p[j] += 0.3 / std::sqrt(1.0 + step) * dot(fiedler, laplacian_times(weighted(matchings, one), fiedler));
    }
    p = projected(p, most);
  }
  return best;
}

/// Minimises the largest eigenvalue of E[W^2] = I - 2 alpha L + alpha^2 (L^2 + 2 V), L the mean Laplacian and V the sum
/// of p (1 - p) x Laplacian: a matching's Laplacian squared is twice itself.
double best_alpha(const std::vector<Matching>& matchings, const Numbers& chances, std::size_t n) {
  Numbers variances;
  for (const double p : chances) variances.push_back(2 * p * (1 - p));
  const std::vector<WeightedEdge> mean = weighted(matchings, chances), varied = weighted(matchings, variances);
  const auto largest = [&](double alpha) {
    Numbers x = some_direction(n);
    const auto times = [&](const Numbers& v) {
      const Numbers once = laplacian_times(mean, v), twice = laplacian_times(mean, once),
                    also = laplacian_times(varied, v);
      Numbers y = v;
      for (std::size_t i = 0; i < n; ++i) y[i] += -2 * alpha * once[i] + alpha * alpha * (twice[i] + also[i]);
      return y;
    };
    return largest_eigenvalue(times, x, 500);
  };
  double low = 0, high = 1;
  for (int step = 0; step < 40; ++step) {  // convex in alpha
    const double left = low + (high - low) / 3, right = high - (high - low) / 3;
    if (largest(left) > largest(right)) {
      low = left;
    } else {
      high = right;
    }
  }
  return (low + high) / 2;
}

}  // namespace

MatchaPlan matcha_plan(const Topology& graph, double budget) {
  MatchaPlan plan{.matchings = matchings_of(graph), .chances = {}, .alpha = 0};
  if (plan.matchings.empty()) return plan;
  const auto n = static_cast<std::size_t>(graph.size());
  plan.chances = best_chances(plan.matchings, n, budget);
  plan.alpha = best_alpha(plan.matchings, plan.chances, n);
  return plan;
}

}  // namespace hopbench
