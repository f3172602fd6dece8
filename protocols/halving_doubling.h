// All-reduce by recursive halving and doubling: fewer, larger messages than a ring, between partners farther apart.
#pragma once

#include <span>
#include <vector>

#include "protocols/node.h"

namespace hopbench {

/// As ring_mean (protocols/collectives.h), in 2 log2(n) messages a rank instead of 2 (n - 1), and with the same bytes.
/// Where n is no power of two, those beyond the largest one, p, hand their vector to a partner and get the mean from
/// it: n - p pairs of whole vectors more.
///
/// All results are bit-identical. They are not the ring's bits, but for n = 2: pairs are summed, then pairs of pairs;
/// the ring adds one rank after the other.
void halving_doubling_mean(Node& self, std::span<const int> group, Iter k, const Payload& mine, Vec& result,
                           std::size_t offset, const char* why);

/// The links that it needs: a hypercube, and one to each of those beyond it.
std::vector<Edge> halving_doubling_links(std::span<const int> group);

}  // namespace hopbench
