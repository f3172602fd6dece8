// The directed exponential graph, used in turn: the ranks to which a rank sends in an iteration, such that each of n
// ranks hears of all others within log n iterations.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "backends/base/error.h"
#include "backends/base/iter.h"
#include "protocols/node/topology.h"

namespace hopbench::gossip {

/// The peers of a rank by iteration. In iteration k each rank sends to all ranks j (p + 1)^i ahead, j = 1 .. p, if that
/// is below n; i goes round with k. A rank has as many senders as receivers. With p = 1 it has one of each, 2^i ahead.
class Hops {
 public:
  Hops(int n, int p) : n_(n) {
    HB_ASSERT(n >= 1 && p >= 1);
    for (std::int64_t one = 1; one < n; one *= p + 1) {
      std::vector<int> hops;
      for (std::int64_t hop = one; hop < n && hop <= p * one; hop += one) hops.push_back(int(hop));
      hops_.push_back(std::move(hops));
    }
    if (hops_.empty()) hops_.emplace_back();
  }

  std::vector<int> to(int rank, Iter k) const { return ranks(rank, k, 1); }     // ascending
  std::vector<int> from(int rank, Iter k) const { return ranks(rank, k, -1); }  // ascending
  /// Returns the number of iterations after which every rank has heard of every other.
  int turns() const { return int(hops_.size()); }
  /// Returns an edge for each pair that ever communicates.
  std::vector<Edge> edges() const {
    std::vector<Edge> edges;
    for (Iter k = 0; k < turns(); ++k) {
      for (int rank = 0; rank < n_; ++rank) {
        for (int peer : to(rank, k)) edges.emplace_back(rank, peer);
      }
    }
    return edges;
  }

 private:
  std::vector<int> ranks(int rank, Iter k, int direction) const {
    std::vector<int> ranks;
    for (int hop : hops_[static_cast<std::size_t>(k) % hops_.size()])
      ranks.push_back((rank + direction * hop + n_) % n_);
    std::sort(ranks.begin(), ranks.end());
    return ranks;
  }

  int n_;
  std::vector<std::vector<int>> hops_;  // of each i; one empty turn if there is only one rank
};

}  // namespace hopbench::gossip
