// Rounds of the workers that are done, as DSGD-AAU and DyBW have them.
#pragma once

#include <string>
#include <vector>

#include "protocols/gossip/path_search.h"
#include "protocols/node/node.h"

namespace hopbench::gossip {

/// The workers that begin anew when a round is over.
enum class Rounds {
  kOnTheirOwn,  // those that are in it; the others go on computing
  kTogether,    // all; work that comes later than its round is dropped
};

/// Runs the controller: a worker that is done sends kRequest, and gets kReply with the round's number and members. With
/// kTogether all workers get it, and the number is that of the iteration.
[[noreturn]] void control_rounds(Node& self, Rounds rounds);

/// Averages x, of iteration k, with the active neighbours that are still alive. `number` is the round's.
void average_active(Node& self, Iter k, Iter number, const ActiveNeighbours& active, Vec& x);

/// The links and refusals of both.
std::vector<Edge> links_with_controller(const Setting& setting);
std::string too_many_or_not_symmetric(const Setting& setting);

}  // namespace hopbench::gossip
