// NetMax's monitor: it measures how long pulls take, and tells workers how often to pull from whom (protocols/gossip/
// netmax.cpp).
#pragma once

#include "protocols/gossip/netmax_policy.h"
#include "protocols/node/node.h"

namespace hopbench::gossip {

/// The times of a worker's iteration: the words are the rank that it pulled from (its own: from nobody) and
/// nanoseconds.
inline constexpr Kind kPullTimes = kClock;
/// A worker's part of a policy: the pull, then its chances by rank.
inline constexpr Kind kPullPolicy = kToken;

class PullMonitor {
 public:
  /// Tells a new policy after every `every` reports of a worker, on average.
  PullMonitor(Node& self, int every);
  [[noreturn]] void run();

 private:
  PullTimes guessed() const;
  void tell();

  Node& self_;
  const int every_;
  PullTimes times_;    // moving averages; 0: not known
  PullPolicy policy_;  // in force
  Iter round_ = 0;
};

}  // namespace hopbench::gossip
