// The settings of a network, which virtual/network.h simulates and which emulated links obey.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "backends/base/time.h"
#include "backends/runtime/link_rule.h"

namespace hopbench {

/// A network as plain data (suite key [network], plus what a scenario changes). Bandwidths in bytes/s, 0 = unlimited.
struct NetworkSpec {
  Duration latency{std::chrono::microseconds(100)};
  double bandwidth = 125e6;  // of each host's NIC, each way
  std::int64_t packet_bytes = 1500;
  Duration local_latency{std::chrono::microseconds(20)};  // between ranks of one host
  double local_bandwidth = 0;                             // of each host's memory, shared by all its pairs
  Duration overhead{};       // of a message at each end, on a processor that messages share
  double overhead_rate = 0;  // bytes/s that such a processor handles in addition
  int processors = 0;        // that all ranks' messages share; 0: one on each host
  double jitter = 0;         // latency is drawn from latency * (1 + jitter * exponential(1)); 0 = none
  /// The way in which flows share a link: max-min fairly, or as TCP's segments in the order in which they come
  /// (fifo_network.h).
  enum class Queue { kFair, kFifo };
  Queue queue = Queue::kFair;
  double goodput = 1;                 // payload's share of the bytes that links carry; the rest are headers
  double burst = 0;                   // fifo: bytes that a link that was idle lets through at once
  std::int64_t rendezvous_bytes = 0;  // larger messages wait for the receiver's permission (rendezvous.h); 0: none do
  std::vector<int> host_of{};         // rank -> host; empty: every rank on a host of its own
  bool servers_apart = true;          // if there is not one for each worker; false: they are with worker 0
  std::vector<int> rack_of{};         // host -> rack; hosts beyond the list are in rack 0; empty: one rack
  double uplink = 0;                  // of each rack, each way, shared by all its traffic with other racks
  struct Link {                       // between two hosts, or a host's own NIC if b is -1
    int a = 0, b = -1;
    double bandwidth = 0;  // replaces the NIC's, or adds a link shared by all flows between a and b (both ways apart);
                           // 0: leaves that unchanged
    Duration latency{
        -1};      // if not negative, replaces that of all pairs of that NIC (of two such NICs the longer), or of a, b
    Time from{};  // it holds within [from, until)
    Time until = kNever;
    bool one_way = false;  // from a to b only, or out of that NIC only
    bool cut = false;      // nothing gets through while it holds; what is under way goes on afterwards
    LinkRule rule{};       // changes what the link is while it holds
  };
  std::vector<Link> links{};  // if several hold, the last one that sets a value counts, and factors after it multiply
};

}  // namespace hopbench
