// The links of a graph in groups that can be used at the same time.
#pragma once

#include <vector>

#include "protocols/node/topology.h"

namespace hopbench {

/// Splits the edges of an undirected graph into at most (largest degree + 1) matchings (Misra, Gries, 1992): each edge
/// once, as (a, b) with a < b, and no two edges of a matching share a worker.
std::vector<std::vector<Edge>> matchings_of(const Topology& graph);

}  // namespace hopbench
