// Settings drawn for the sweep of invariants_test: every configuration that a protocol's invariants speak of.
#pragma once

#include <string>

#include "tests/cluster.h"

namespace hopbench {

/// Knobs of the protocol for this cluster; may add to the cluster what they need (hosts, say). A protocol that is not
/// listed runs with its defaults.
Knobs draw_knobs(const std::string& protocol, Random& random, Cluster& cluster);

}  // namespace hopbench
