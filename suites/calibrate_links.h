// `hopbench calibrate --links`: what the link between each two ranks carries, one way. Pair after pair exchanges
// messages while everybody else is silent, so no pair meets another's.
#pragma once

#include <atomic>
#include <span>
#include <string>
#include <vector>

#include "backends/runtime/launch.h"
#include "backends/runtime/network.h"
#include "suites/execute.h"

namespace hopbench {

struct PairFigures {
  int from = 0, to = 0;
  double round_trip_s = 0;  // of a message without body and its answer; the median of some
  double large_s = 0;       // of `bytes` and the answer
  double bytes = 0;
};

/// All ordered pairs of the spec's workers, over its transport. Real processes. Throws Error naming the rank if one
/// fails.
std::vector<PairFigures> calibrate_links(const TrialSpec& spec, const std::atomic<int>* interrupts);

/// The rank's side; returns what the launcher reads.
std::string calibrate_links_rank(ChildChannel& channel, const TrialSpec& spec);

/// A network whose messages take as long, beside what processors take for them (`machine`: the same suite's, without
/// --links). Its bandwidth is 0 where processors explain all; links name hosts, and pairs of hosts, that are slower
/// than the rest by a quarter or more, one way where only one is. Latency is half a round trip, so of both ways alike.
/// `host_of`: rank -> host, empty: each on its own.
NetworkSpec network_from(std::span<const PairFigures> pairs, const Calibration& machine, std::span<const int> host_of);

}  // namespace hopbench
