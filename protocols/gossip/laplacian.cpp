#include "protocols/gossip/laplacian.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace hopbench {
namespace {

/// Makes x orthogonal to the vector of ones, and of length 1.
void normalise(Numbers& x) {
  double sum = 0;
  for (const double number : x) sum += number;
  for (double& number : x) number -= sum / static_cast<double>(x.size());
  const double length = std::sqrt(dot(x, x));
  for (double& number : x) number /= length;
}

}  // namespace

Numbers laplacian_times(const std::vector<WeightedEdge>& edges, const Numbers& x) {
  Numbers y(x.size(), 0.0);
  for (const WeightedEdge& edge : edges) {
    const auto a = static_cast<std::size_t>(edge.a), b = static_cast<std::size_t>(edge.b);
    const double flow = edge.weight * (x[a] - x[b]);
    y[a] += flow;
    y[b] -= flow;
  }
  return y;
}

double dot(const Numbers& x, const Numbers& y) {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * y[i];
  return sum;
}

Numbers some_direction(std::size_t n) {
  Numbers x;
  for (std::size_t i = 0; i < n; ++i)
    x.push_back(static_cast<double>((i + 1) * 2654435761U % 4294967296U) / 4294967296.0 - 0.5);
  if (n > 1) normalise(x);
  return x;
}

double largest_eigenvalue(const std::function<Numbers(const Numbers&)>& times, Numbers& x, int steps) {
  double value = 0;
  for (int step = 0; step < steps; ++step) {
    Numbers y = times(x);
    value = dot(x, y);
    if (!(dot(y, y) > 1e-24)) return 0;
    x = std::move(y);
    normalise(x);
  }
  return value;
}

double fiedler_value(const std::vector<WeightedEdge>& edges, Numbers& x, int steps) {
  std::vector<double> degrees(x.size(), 0.0);
  double bound = 0;  // on eigenvalues: twice the largest weighted degree
  for (const WeightedEdge& edge : edges) {
    for (const int end : {edge.a, edge.b}) {
      degrees[static_cast<std::size_t>(end)] += edge.weight;
      bound = std::max(bound, 2 * degrees[static_cast<std::size_t>(end)]);
    }
  }
  const auto times = [&](const Numbers& v) {
    Numbers y = laplacian_times(edges, v);
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = bound * v[i] - y[i];
    return y;
  };
  return bound - largest_eigenvalue(times, x, steps);
}

}  // namespace hopbench
