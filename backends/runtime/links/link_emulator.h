// The network of virtual time on the machine's clock: links of real processes are as slow as the suite says.
//
// A rank sends a message over its real wire at once and offers the emulator a flow of the bytes that virtual time would
// charge. A thread of the launcher's process plays all ranks' flows on one Network, the same as in virtual time, so
// that shared NICs, incast, latency, jitter and links that change in time are the same in both. Once a flow has
// arrived, it notifies the receiving rank, which then hands the message over (emulated_wire.h). So a message takes as
// long as the emulated or the real way, whichever is longer.
//
// Two rules keep it exact. An offer counts from the instant at which its sender made it (all processes of a machine
// have one CLOCK_MONOTONIC). An event's effects count from the time at which it was due, not from when this thread got
// to it. So lateness does not add up; each message is late by the time that it takes to wake two threads.
#pragma once

#include <cstdint>
#include <memory>

#include "backends/runtime/virtual/network.h"

namespace hopbench {

/// A rank's offer, one packet a message, in the order in which the rank sends, for each pair.
struct LinkOffer {
  std::int32_t to = 0;
  std::int64_t bytes = 0;    // negative: does not concern the network, arrives at once
  std::int64_t when_ns = 0;  // CLOCK_MONOTONIC
};

/// A notice to a rank: the next message from `from` is there, since when.
struct LinkRelease {
  std::int32_t from = 0;
  std::int64_t due_ns = 0;
};

class LinkEmulator {
 public:
  /// Ignores `overhead`, `overhead_rate` and `processors` of the spec, because real processes spend that time
  /// themselves. Throws Error if there are no more descriptors.
  LinkEmulator(const NetworkSpec& spec, int ranks, std::uint64_t seed, std::uint32_t repeat);
  ~LinkEmulator();

  /// Returns a rank's end, a SOCK_SEQPACKET socket that the caller then owns (close-on-exec). Once for each rank.
  int take_end(int rank);
  /// Begins. Offers made earlier have waited. Times of changing links count from `start_ns` (CLOCK_MONOTONIC).
  void start(std::int64_t start_ns);

  class Impl;

 private:
  std::unique_ptr<Impl> impl_;
};

/// Returns CLOCK_MONOTONIC in ns.
std::int64_t link_clock_ns();

}  // namespace hopbench
