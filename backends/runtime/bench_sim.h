// How fast virtual time itself runs: messages a second, with no arithmetic.
#pragma once

#include <cstdint>

namespace hopbench {

struct MessageBench {
  std::int64_t messages = 0, events = 0;
  double cpu_s = 0;  // of the one thread that does it all: what else the machine does is not in it
  double virtual_s = 0;
};

/// Ranks on a ring with a chord to the opposite side exchange a one-float message with each neighbour in every
/// iteration: no message is large enough to share a link.
MessageBench run_exchange_bench(int ranks, int iterations);

/// `workers` push about 1 MB to one server, which answers with a word; then the next. The pushes differ in size, so
/// that they begin and end one by one while the others share the server's NIC. `messages` counts the pushes only.
MessageBench run_incast_bench(int workers, int pushes);

}  // namespace hopbench
