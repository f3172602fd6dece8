// All-reduce in three phases, so that what leaves a host leaves it once.
#pragma once

#include <vector>

#include "protocols/groups.h"
#include "protocols/node.h"

namespace hopbench {

/// As ring_mean (protocols/collectives.h), over the workers of all `hosts`: the first worker of each host adds up what
/// its own workers have, by ascending rank; these leaders average along a ring; each hands the mean to its host's
/// others. Hosts may be of different sizes.
///
/// All results are bit-identical. They are the ring's bits where each worker is on a host of its own, and not
/// elsewhere: a host's workers are summed first.
void hierarchical_mean(Node& self, const Division& hosts, Iter k, const Payload& mine, Vec& result, std::size_t offset,
                       const char* why);

/// The links that it needs: a star on each host, and a ring of the leaders.
std::vector<Edge> hierarchical_links(const Division& hosts);

}  // namespace hopbench
