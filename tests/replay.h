// An oracle for gossip (dpsgd, hop): what every worker's model must be after each iteration, worked out again from the
// event log alone, in doubles and without protocols/. Checkers see who waits for whom and which tags are averaged; this
// sees that the numbers are those.
#pragma once

#include <string>

#include "tests/cluster.h"

namespace hopbench {

/// Returns the first report of a run with events that differs from the replay, or a term that no rank sent; "" if all
/// is well. For plain momentum: no steps of the learning rate, no weight decay.
std::string replayed(const Cluster& cluster, const Knobs& knobs);

}  // namespace hopbench
