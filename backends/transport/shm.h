// Shared memory as a Wire, for the peers with which it can be shared.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "backends/transport/wire.h"

namespace hopbench {

/// Returns a wire to the peers whose memory this process maps and that map this process's memory. Puts the others into
/// `others`, each with the reason. Both sides of a pair come to the same result. Throws Error if this process has no
/// memory to share.
std::unique_ptr<Wire> connect_shm(const WireOptions& options, Meeting& meeting, std::map<int, std::string>& others);

/// Makes large vectors of host_space() lie in shared memory from now on.
void prepare_shm();

}  // namespace hopbench
