// All-reduce in three phases, so that data leave a host only once.
#pragma once

#include <vector>

#include "protocols/groups/groups.h"
#include "protocols/node/node.h"

namespace hopbench::allreduce {

/// Computes the mean like ring_mean (protocols/node/collectives.h), over the workers of all `hosts`. The first worker
/// of each host adds up the vectors of the host's workers, by ascending rank. These leaders average along a ring. Then
/// each sends the mean to the others on its host. Hosts may be of different sizes.
///
/// All results are bit-identical. They are the ring's bits only if each worker is on a host of its own, because
/// otherwise a host's workers are summed first.
void hierarchical_mean(Node& self, const groups::Division& hosts, Iter k, const Payload& mine, Vec& result,
                       std::size_t offset, const char* why);

/// Returns the links that it needs: a star on each host, and a ring of the leaders.
std::vector<Edge> hierarchical_links(const groups::Division& hosts);

}  // namespace hopbench::allreduce
