// A simulated network of first-in-first-out queues, for links that are full: `network.queue = "fifo"`.
//
// A message travels as segments. Each waits in the queue of every link on its way, behind all that came before it, and
// then takes the latency. A queue is a token bucket. It serves at the link's rate, and if it was idle, it lets `burst`
// bytes through at once. An acknowledgement comes back the same way, and queues there too.
//
// A connection, which all messages of a pair of ranks share, has at most a window of bytes on the way. The window
// begins at ten segments, grows by what is acknowledged, and shrinks while nothing is sent (slow start: RFC 5681, 6928,
// 7661). There is no loss, and so no congestion avoidance: a queue may hold all that is under way, and acknowledgements
// wait behind it. At most 128 KiB of a connection wait in the sender's own NIC
// (Linux' TCP small queues), so connections of one host take turns there.
//
// Ranks' processors (`overhead`) and capacities that change in time are as in the fair network, except that a segment
// keeps the rate that its link had when its turn came. Jitter and links that are cut are not in this model.
#pragma once

#include <memory>

#include "backends/runtime/virtual/network.h"

namespace hopbench {

/// Makes the network. `seed` and `repeat`: for rules of links.
std::unique_ptr<Network> make_fifo_network(const NetworkSpec& spec, int ranks, Timeline& timeline, std::uint64_t seed,
                                           std::uint32_t repeat);

}  // namespace hopbench
