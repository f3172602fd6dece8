// All-reduce by recursive halving and doubling: fewer, larger messages than a ring, between partners farther apart.
#pragma once

#include <span>
#include <vector>

#include "protocols/node/node.h"

namespace hopbench::allreduce {

/// Computes the mean like ring_mean (protocols/node/collectives.h), in 2 log2(n) messages per rank instead of 2 (n -
/// 1), and with the same bytes. If n is not a power of two, the ranks beyond the largest one, p, send their vector to a
/// partner and get the mean from it, which takes n - p more pairs of whole vectors.
///
/// All results are bit-identical. They differ from the ring's bits unless n = 2, because pairs are summed, then pairs
/// of pairs, while the ring adds one rank after the other.
void halving_doubling_mean(Node& self, std::span<const int> group, Iter k, const Payload& mine, Vec& result,
                           std::size_t offset, const char* why);

/// Returns the links that it needs: a hypercube, and one link to each rank beyond it.
std::vector<Edge> halving_doubling_links(std::span<const int> group);

}  // namespace hopbench::allreduce
