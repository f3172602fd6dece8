// NetMax's policy: how often a worker pulls the model of each neighbour (protocols/gossip/netmax.cpp).
#pragma once

#include <vector>

#include "protocols/node/topology.h"

namespace hopbench {

/// The times of all workers' iterations, in seconds, as far as they are known.
struct PullTimes {
  std::vector<std::vector<double>> pulling;  // [i][m]: of worker i while it pulls from neighbour m
  std::vector<double> alone;                 // [i]: while it pulls from nobody
};

struct PullPolicy {
  std::vector<std::vector<double>> chances;  // [i][m]: that worker i pulls from neighbour m; [i][i]: from nobody
  double pull = 0;                           // learning rate x rho
};

/// Pulls from every neighbour equally often, and as strongly as the chances allow.
PullPolicy uniform_policy(const Topology& graph);

/// Returns the policy for which the time to consensus is predicted to be shortest: the mean time of an iteration over
/// the logarithm of the factor by which it brings models together. All workers make iterations equally often, as far as
/// they can: those with fast links pull over slow ones more often.
PullPolicy best_policy(const Topology& graph, const PullTimes& times);

}  // namespace hopbench
