// The directed exponential graph, used in turn: the ranks to which a rank sends in an iteration, such that each of n
// ranks hears of all others within log n iterations.
#pragma once

#include <vector>

#include "backends/base/iter.h"
#include "protocols/node/topology.h"

namespace hopbench::gossip {

/// The peers of a rank by iteration. In iteration k each rank sends to all ranks j (p + 1)^i ahead, j = 1 .. p, if that
/// is below n; i goes round with k. A rank has as many senders as receivers. With p = 1 it has one of each, 2^i ahead.
class Hops {
 public:
  Hops(int n, int p);

  std::vector<int> to(int rank, Iter k) const;    // ascending
  std::vector<int> from(int rank, Iter k) const;  // ascending
  /// Returns the number of iterations after which every rank has heard of every other.
  int turns() const { return int(hops_.size()); }
  /// Returns an edge for each pair that ever communicates.
  std::vector<Edge> edges() const;

 private:
  std::vector<int> ranks(int rank, Iter k, int direction) const;

  int n_;
  std::vector<std::vector<int>> hops_;  // of each i; one empty turn if there is only one rank
};

}  // namespace hopbench::gossip
