#include "protocols/gossip/hops.h"

#include <algorithm>
#include <cstdint>

#include "backends/base/error.h"

namespace hopbench::gossip {

Hops::Hops(int n, int p) : n_(n) {
  HB_ASSERT(n >= 1 && p >= 1);
  for (std::int64_t one = 1; one < n; one *= p + 1) {
    std::vector<int> hops;
    for (std::int64_t hop = one; hop < n && hop <= p * one; hop += one) hops.push_back(int(hop));
    hops_.push_back(std::move(hops));
  }
  if (hops_.empty()) hops_.emplace_back();
}

std::vector<int> Hops::to(int rank, Iter k) const { return ranks(rank, k, 1); }
std::vector<int> Hops::from(int rank, Iter k) const { return ranks(rank, k, -1); }

std::vector<int> Hops::ranks(int rank, Iter k, int direction) const {
  std::vector<int> ranks;
  for (int hop : hops_[static_cast<std::size_t>(k) % hops_.size()]) ranks.push_back((rank + direction * hop + n_) % n_);
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

std::vector<Edge> Hops::edges() const {
  std::vector<Edge> edges;
  for (Iter k = 0; k < turns(); ++k) {
    for (int rank = 0; rank < n_; ++rank) {
      for (int peer : to(rank, k)) edges.emplace_back(rank, peer);
    }
  }
  return edges;
}

}  // namespace hopbench::gossip
