// Weighted Laplacians of graphs, for protocols that plan their mixing.
#pragma once

#include <functional>
#include <vector>

#include "protocols/node/topology.h"

namespace hopbench {

using Numbers = std::vector<double>;

/// An undirected edge with a weight.
struct WeightedEdge {
  int a = 0, b = 0;
  double weight = 0;
};

/// Returns the Laplacian times x.
Numbers laplacian_times(const std::vector<WeightedEdge>& edges, const Numbers& x);

double dot(const Numbers& x, const Numbers& y);

/// Returns a vector of n numbers that sum to 0, of length 1, the same everywhere and of no special direction.
Numbers some_direction(std::size_t n);

/// Returns the largest eigenvalue of a positive semidefinite operator among vectors that sum to 0, by power iteration
/// from x, which becomes the eigenvector.
double largest_eigenvalue(const std::function<Numbers(const Numbers&)>& times, Numbers& x, int steps);

/// Returns the second smallest eigenvalue of the Laplacian, and in x its eigenvector. `steps` of power iteration from
/// x.
double fiedler_value(const std::vector<WeightedEdge>& edges, Numbers& x, int steps);

}  // namespace hopbench
