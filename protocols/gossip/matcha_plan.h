// MATCHA's plan: which links of a graph are used how often, and what a neighbour's model weighs (protocols/gossip/
// matcha.cpp).
#pragma once

#include <vector>

#include "protocols/node/matchings.h"
#include "protocols/node/topology.h"

namespace hopbench::gossip {

struct MatchaPlan {
  std::vector<std::vector<Edge>> matchings;  // of the graph's edges
  std::vector<double> chances;               // by matching: the probability that an iteration uses it
  double alpha = 0;                          // weight of a neighbour's model: W = I - alpha L
};

/// Makes the plan for a connected undirected graph. `budget`, in (0, 1]: the mean number of matchings in an iteration,
/// as a share of all. The chances maximise the second smallest eigenvalue of the mean Laplacian, up to 0.4 %. All are
/// above 0, so every link is used. For them alpha minimises the largest eigenvalue of the mean of W^2 without its
/// eigenvector of ones. All are rounded to 1e-9 and the same on every rank. Takes O(n^3) for n workers; the last plan
/// is kept, for the other ranks of the process.
MatchaPlan make_matcha_plan(const Topology& graph, double budget);

}  // namespace hopbench::gossip
