// The transports over which a test runs, once over each.
#pragma once

#include <string>
#include <vector>

#include "backends/transport/wire.h"

namespace hopbench {

/// Every transport for real processes but those that only choose among the others.
inline std::vector<std::string> single_transports() {
  std::vector<std::string> names;
  for (const Transport& transport : transports()) {
    if (!transport.chooses) names.emplace_back(transport.name);
  }
  return names;
}

}  // namespace hopbench
