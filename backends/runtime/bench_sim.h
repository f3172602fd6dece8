// How fast virtual time itself runs: messages a second, with no arithmetic.
#pragma once

#include <cstdint>

namespace hopbench {

struct MessageBench {
  std::int64_t messages = 0, events = 0;
  double wall_s = 0;
  double virtual_s = 0;
};

struct MessageBenchOptions {
  int ranks = 64;
  int iterations = 1000;
  /// Of each vector; besides it every neighbour is sent a one-word token. 0: a one-float message and no token.
  std::int64_t bytes = 0;
  bool uneven = false;  // computing takes a random time, so that transfers begin and end one by one
};

/// Ranks on a ring with a chord to the opposite side exchange a message with each neighbour in every iteration.
MessageBench run_message_bench(const MessageBenchOptions& options);
inline MessageBench run_message_bench(int ranks, int iterations) {
  return run_message_bench({.ranks = ranks, .iterations = iterations});
}

}  // namespace hopbench
