// The directed exponential graph, walked through in turn: whom a rank sends to in an iteration, so that each of n ranks
// hears of all others within log n iterations.
#pragma once

#include <vector>

#include "backends/base/iter.h"
#include "protocols/topology.h"

namespace hopbench {

/// In iteration k everybody sends to the ranks j (p + 1)^i ahead of it, j = 1 .. p, where i goes round with k: all that
/// are below n, and as many in as out. With p = 1 one rank, 2^i ahead.
class Hops {
 public:
  Hops(int n, int p);

  std::vector<int> to(int rank, Iter k) const;    // ascending
  std::vector<int> from(int rank, Iter k) const;  // ascending
  /// After so many iterations everybody has heard of everybody.
  int turns() const { return int(hops_.size()); }
  /// An edge for each pair that ever talks.
  std::vector<Edge> edges() const;

 private:
  std::vector<int> ranks(int rank, Iter k, int direction) const;

  int n_;
  std::vector<std::vector<int>> hops_;  // of each i; one empty turn if nobody else is there
};

}  // namespace hopbench
