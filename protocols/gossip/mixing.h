// One exchange of gossip: a worker sends a vector to some workers, and averages its own with those that it receives.
#pragma once

#include <string>
#include <vector>

#include "protocols/node/node.h"

namespace hopbench::gossip {

/// The workers that a worker talks to in an iteration, and how much their vectors weigh. Weights count relative to each
/// other: own + the sum of `weights` is 1 in the average.
struct Exchange {
  std::vector<int> to;          // ascending
  std::vector<int> from;        // ascending
  std::vector<double> weights;  // of those in `from`
  double own = 1;
};

/// Returns the exchange with all neighbours in the suite's topology, with Metropolis weights W. If `lazy`, those of
/// (I + W) / 2, whose eigenvalues are not negative.
Exchange with_neighbours(const Node& self, bool lazy = false);

/// Sends x as this worker's vector of iteration k.
void send_to(Node& self, Iter k, const Exchange& exchange, const Vec& x);
/// Waits for the others' vectors of iteration k.
std::vector<Message> received(Node& self, Iter k, const Exchange& exchange);
/// Returns the average of x and those vectors; a copy of x if there are none.
Vec averaged_with(Node& self, Iter k, const Exchange& exchange, const std::vector<Message>& others, const Vec& x);
/// Does all three.
Vec mixed(Node& self, Iter k, const Exchange& exchange, const Vec& x);

/// Does the same with a second vector of the iteration. To checkers and counters only the first is this worker's work.
void send_second(Node& self, Iter k, const Exchange& exchange, const Vec& y);
Vec averaged_second(Node& self, Iter k, const Exchange& exchange, const Vec& y);

/// Returns why a topology has no symmetric weights with which all workers train together; empty if it has.
std::string not_symmetric(const Setting& setting);

/// Returns the .gap_bound of protocols whose workers wait for all neighbours in every iteration.
std::optional<std::int64_t> diameter_of(const Setting& setting);

}  // namespace hopbench::gossip
