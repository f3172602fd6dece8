// `hopbench calibrate --links` and `--hosts` measure the link between each two ranks. One pair after the other
// exchanges messages while all other ranks are silent, so that messages of two pairs never meet.
#pragma once

#include <atomic>
#include <span>
#include <string>
#include <vector>

#include "backends/runtime/process/launch.h"
#include "backends/runtime/virtual/network.h"
#include "suites/trial/child_task.h"
#include "suites/trial/execute.h"

namespace hopbench {

struct PairFigures {
  int from = 0, to = 0;
  double round_trip_s = 0;  // of a message without body and its answer (a median)
  /// Bodies that were sent, the smallest first, and how long each and its answer took (medians).
  struct Sent {
    double bytes = 0, seconds = 0;
  };
  std::vector<Sent> bodies{};
  double both_ways_s = 0;  // the largest body, with one of the same size the other way at the same time
  bool contended = false;  // other programs took the core meanwhile
};

/// A rank's machine and its TCP.
struct LinkEnd {
  std::string machine, congestion_control, packets;
};

struct LinkFigures {
  std::vector<PairFigures> pairs;
  std::vector<int> machine_of;  // rank -> machine, numbered from 0 on; empty: all ranks are here
  std::vector<LinkEnd> ends;    // by rank
};

/// Measures all ordered pairs of the spec's workers, over its transport. Runs real processes, on the fleet's machines
/// if there is one. Throws Error naming the rank if one fails.
LinkFigures calibrate_links(const TrialSpec& spec, const std::atomic<int>* interrupts, Fleet* fleet = nullptr);

/// Runs the rank's side; returns what the launcher reads.
std::string calibrate_links_rank(ChildChannel& channel, const ChildTask& job);

/// Returns a network whose messages take as long as the pairs', apart from the time of processors (`machine`: the same
/// suite's, without --links). Its bandwidth is 0 if processors explain all. Links name hosts, and pairs of hosts, that
/// are slower than the rest by a quarter or more; one way if only one is. Latency is half a round trip, so the same
/// both ways. Bandwidth comes from the time that more bytes take, so what passes an idle link at once (a token bucket's
/// burst) does not count. `host_of`: rank -> host; empty: each rank on its own.
NetworkSpec network_from(std::span<const PairFigures> pairs, const Calibration& machine, std::span<const int> host_of);

/// Returns latency, bandwidth and links as keys of [network], a line each.
std::string links_toml(const NetworkSpec& network);
/// Returns a rate as a suite writes it; 0 is "0", unlimited.
std::string rate_toml(double bytes_per_s);

}  // namespace hopbench
