// NetMax's policy: how often a worker pulls the model of each neighbour (protocols/gossip/netmax.cpp).
#pragma once

#include <vector>

#include "protocols/node/topology.h"

namespace hopbench::gossip {

/// The times of all workers' iterations, in seconds, as far as they are known.
struct PullTimes {
  std::vector<std::vector<double>> pulling;  // [i][m]: of worker i while it pulls from neighbour m
  std::vector<double> alone;                 // [i]: while it pulls from nobody
};

/// The numbers are whole multiples of 1e-9, so that they are the same bits with every compiler.
struct PullPolicy {
  std::vector<std::vector<double>> chances;  // [i][m]: that worker i pulls from neighbour m; [i][i]: from nobody
  double pull = 0;                           // learning rate x rho; at most half of each neighbour's chance
};

/// Pulls from every neighbour equally often, and as strongly as the chances allow.
PullPolicy uniform_policy(const Topology& graph);

/// Returns the predicted rate, a second, at which models come together: minus the logarithm of the factor of one
/// iteration, over the mean of all workers' mean times of an iteration. The factor is the second largest eigenvalue of
/// E[W'W], every worker being as likely to make the iteration. 0: never.
double consensus_rate(const Topology& graph, const PullTimes& times, const PullPolicy& policy);

/// Returns the best policy by this rate: the better of `now` and the uniform one, or another if it is 2 % faster.
/// Others are searched for among policies with which all workers make iterations equally often, as far as they can. The
/// best of those is improved by small changes if there are not many workers. On one core this takes 7 ms for 16
/// workers, 30 ms for 64, 150 ms for 128.
PullPolicy best_policy(const Topology& graph, const PullTimes& times, const PullPolicy& now);

}  // namespace hopbench::gossip
