// Protocols built in from elsewhere: each file NAME.cpp in the folder HOPBENCH_PROTOCOLS_DIR defines
// `const hopbench::Protocol& hopbench::NAME_protocol()`. CMake writes the list.
#pragma once

#include <vector>

#include "protocols/node/protocol.h"

namespace hopbench {

std::vector<const Protocol*> extra_protocols();

}  // namespace hopbench
