// Shared memory as a Wire, for those peers with whom it can be shared.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "backends/transport/wire.h"

namespace hopbench {

/// A wire to those of the peers whose memory this process maps and who map this process's. The others are put into
/// `others`, each with the reason. Both sides of a pair come to the same end. Throws Error where this process has no
/// memory to share.
std::unique_ptr<Wire> connect_shm(const WireOptions& options, Meeting& meeting, std::map<int, std::string>& others);

/// Large vectors of host_space() lie in shared memory from now on.
void prepare_shm();

}  // namespace hopbench
