// Registers the examples as protocols of the user's own, instead of those that CMake lists, so that the common tests
// run them.
#include "protocols/node/extra.h"

namespace hopbench {

const Protocol& periodic_average_protocol();
const Protocol& pull_gossip_protocol();

std::vector<const Protocol*> extra_protocols() { return {&periodic_average_protocol(), &pull_gossip_protocol()}; }

}  // namespace hopbench
