// Measures the speed of virtual time itself: messages a second, with no arithmetic.
#pragma once

#include <cstdint>

namespace hopbench {

struct MessageBench {
  std::int64_t messages = 0, events = 0;
  double cpu_s = 0;  // of the one thread that does all the work; other load of the machine is not included
  double virtual_s = 0;
};

/// Runs ranks on a ring with a chord to the opposite side. In every iteration each exchanges a one-float message with
/// each neighbour. No message is large enough to share a link.
MessageBench run_exchange_bench(int ranks, int iterations);

/// Runs `workers` that push about 1 MB to one server, which answers with a word; then the next. The pushes differ in
/// size, so that they begin and end one by one while the others share the server's NIC. `messages` counts pushes only.
MessageBench run_incast_bench(int workers, int pushes);

}  // namespace hopbench
