// Recursive halving and doubling. Thakur, Rabenseifner, Gropp: "Optimization of Collective Communication Operations in
// MPICH", IJHPCA 2005 (Rabenseifner's algorithm).
#include <algorithm>
#include <bit>

#include "protocols/allreduce/mean_algorithms.h"
#include "protocols/node/collectives.h"

namespace hopbench::allreduce {
namespace halving_doubling {

int largest_power_of_two(std::size_t n) { return static_cast<int>(std::bit_floor(n)); }

Payload joined(Node& self, const Payload& low, const Payload& high) {
  Vec both = Vec::of_parts(low.size() + high.size(), low);
  self.operate(2 * (bytes_of(low) + bytes_of(high)), [&] {
    both.assign(0, low);
    both.assign(low.size(), high);
  });
  return share(both);
}

void assign(Node& self, Vec& result, std::size_t offset, const Payload& mean) {
  self.operate(2 * bytes_of(mean), [&] { result.assign(offset, mean); });
}

}  // namespace halving_doubling

void halving_doubling_mean(Node& self, std::span<const int> group, Iter k, const Payload& mine, Vec& result,
                           std::size_t offset, const char* why) {
  using namespace halving_doubling;
  const int n = static_cast<int>(group.size()), p = largest_power_of_two(group.size());
  const int me = static_cast<int>(std::find(group.begin(), group.end(), self.rank) - group.begin());
  HB_ASSERT(me < n);
  const auto at = [&](int position) { return group[static_cast<std::size_t>(position)]; };

  // Ranks beyond the hypercube take part through a partner in it.
  if (me >= p) {
    self.contributed();
    self.send(at(me - p), kReduceScatter, k, mine);
    assign(self, result, offset, self.recv(is_from(kAllGather, at(me - p), k), why).body);
    return;
  }
  Payload sum = mine;
  if (me + p < n) sum = added(self, mine, self.recv(is_from(kReduceScatter, at(me + p), k), why).body, 1.0f);

  // Reduce-scatter by halving: each of two partners gives away one half of what both have, and adds to the other half.
  for (int distance = p / 2; distance > 0; distance /= 2) {
    const std::size_t half = sum.size() / 2;
    const Payload low = sum.slice(0, half), high = sum.slice(half, sum.size() - half);
    const bool keeps_high = (me & distance) != 0;
    self.send(at(me ^ distance), kReduceScatter, k, keeps_high ? low : high);
    const Message theirs = self.recv(is_from(kReduceScatter, at(me ^ distance), k), why);
    const float weight = distance > 1 ? 1.0f : 1.0f / static_cast<float>(n);  // the last one makes it the mean
    sum = added(self, keeps_high ? high : low, theirs.body, weight);
  }

  // All-gather by doubling: the same partners in the opposite order, each sends all it has.
  for (int distance = 1; distance < p; distance *= 2) {
    self.send(at(me ^ distance), kAllGather, k, sum);
    const Payload theirs = self.recv(is_from(kAllGather, at(me ^ distance), k), why).body;
    sum = (me & distance) != 0 ? joined(self, theirs, sum) : joined(self, sum, theirs);
  }
  if (me + p < n) self.send(at(me + p), kAllGather, k, sum);
  assign(self, result, offset, sum);
  self.contributed();
}

std::vector<Edge> halving_doubling_links(std::span<const int> group) {
  const int n = static_cast<int>(group.size()), p = halving_doubling::largest_power_of_two(group.size());
  const auto at = [&](int position) { return group[static_cast<std::size_t>(position)]; };
  std::vector<Edge> edges;
  for (int i = 0; i < p; ++i) {
    for (int distance = 1; distance < p; distance *= 2) edges.emplace_back(at(i), at(i ^ distance));
    if (i + p < n) edges.emplace_back(at(i), at(i + p));
  }
  return edges;
}

}  // namespace hopbench::allreduce
