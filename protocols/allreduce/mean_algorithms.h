// All-reduce by other ways than along a ring (ring_mean in protocols/node/collectives.h). With both, all results are
// bit-identical.
#pragma once

#include <span>
#include <vector>

#include "protocols/groups/groups.h"
#include "protocols/node/node.h"

namespace hopbench::allreduce {

/// Computes the mean like ring_mean by recursive halving and doubling, in 2 log2(n) messages per rank instead of 2 (n -
/// 1), and with the same bytes: fewer, larger messages, between partners farther apart. If n is not a power of two, the
/// ranks beyond the largest one, p, send their vector to a partner and get the mean from it, which takes n - p more
/// pairs of whole vectors.
///
/// The results differ from the ring's bits unless n = 2, because pairs are summed, then pairs of pairs, while the ring
/// adds one rank after the other.
void halving_doubling_mean(Node& self, std::span<const int> group, Iter k, const Payload& mine, Vec& result,
                           std::size_t offset, const char* why);
/// Returns the links that it needs: a hypercube, and one link to each rank beyond it.
std::vector<Edge> halving_doubling_links(std::span<const int> group);

/// Computes the mean like ring_mean, over the workers of all `hosts`, in three phases, so that data leave a host only
/// once. The first worker of each host adds up the vectors of the host's workers, by ascending rank. These leaders
/// average along a ring. Then each sends the mean to the others on its host. Hosts may be of different sizes.
///
/// The results are the ring's bits only if each worker is on a host of its own, because otherwise a host's workers are
/// summed first.
void hierarchical_mean(Node& self, const groups::Division& hosts, Iter k, const Payload& mine, Vec& result,
                       std::size_t offset, const char* why);
/// Returns the links that it needs: a star on each host, and a ring of the leaders.
std::vector<Edge> hierarchical_links(const groups::Division& hosts);

}  // namespace hopbench::allreduce
