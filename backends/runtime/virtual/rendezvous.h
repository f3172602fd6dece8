// Large messages over a transport that sends them by rendezvous. The head travels first, then the receiver's permission
// comes back, then the body leaves. The permission is a message of the receiver, and waits behind all that it has sent
// to this sender before. Gloo does so if no receive is posted, and most MPI libraries do above their eager limit.
#pragma once

#include <cstdint>
#include <memory>

#include "backends/runtime/virtual/network.h"

namespace hopbench {

/// `inner` carries everything; messages above `bytes` go by rendezvous. Messages of a pair stay in order: one that
/// overtakes a body is handed over after it.
std::unique_ptr<Network> make_rendezvous(std::unique_ptr<Network> inner, std::int64_t bytes, Timeline& timeline);

}  // namespace hopbench
