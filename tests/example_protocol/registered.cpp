// The examples as protocols built in from elsewhere, in place of those that CMake lists: the common tests run them.
#include "protocols/extra.h"

namespace hopbench {

const Protocol& periodic_average_protocol();
const Protocol& pull_gossip_protocol();

std::vector<const Protocol*> extra_protocols() { return {&periodic_average_protocol(), &pull_gossip_protocol()}; }

}  // namespace hopbench
