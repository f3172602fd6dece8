// The simulated network of virtual time: latency, plus bytes over bandwidth shared max-min fairly.
//
// A flow from rank a to rank b crosses a's host's NIC outward, the link between the two hosts if the suite defines one,
// the uplinks of the two racks if they differ, and b's host's NIC inward. Each of these has a bandwidth. Flows that are
// under way at the same time share it max-min fairly (progressive filling), so a parameter server's incast is modelled.
// Latency comes first, then the bytes. Messages of one pair arrive in order, as over one TCP connection: at most one of
// a pair's messages is on the links, while the latencies of the following ones run. Ranks on one host use its memory
// (`local`), which is shared likewise.
//
// A message of at most `packet_bytes` is not shared: it arrives after latency + bytes / (narrowest bandwidth), since a
// single packet waits for at most a packet of every other flow. It still keeps its pair's order.
//
// A message keeps a processor busy for `overhead` + bytes / `overhead_rate` before its latency begins, and again after
// it has arrived: the o and O of LogGOPS (Hoefler, Schneider, Lumsdaine: LogGOPSim, HPDC 2010). Each host has one
// processor for that, or all hosts share `processors` of them, as ranks that play hosts on one machine do. Messages are
// handled one after the other in the order in which they ask, each as a whole. They are handed over in their pair's
// order. They do not slow the work of ranks.
//
// Links may change in time, also by rules with memory (link_rule.h). At that instant the flows under way share the
// capacity that is there then. A message has the latency that holds when it is sent, and a small one also has the
// bandwidth of that time. While a link is cut, its bytes stand still but latencies run.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "backends/base/time.h"
#include "backends/runtime/network_spec.h"

namespace hopbench {

struct Flow {
  int from = 0, to = 0;
  std::int64_t bytes = 0;
};

/// The clock and event heap that a network lives on: the simulation's, or a test's.
class Timeline {
 public:
  virtual ~Timeline() = default;
  virtual Time now() const = 0;
  virtual void at(Time when, std::function<void()> action) = 0;  // ties run in the order of the calls
};

class Network {
 public:
  virtual ~Network() = default;
  /// Calls `arrived` on the timeline when the flow's last byte has arrived.
  virtual void transfer(const Flow& flow, std::function<void()> arrived) = 0;
};

/// Makes the network. Draws of jitter are keyed by (seed, repeat, kLink, pair, message number), those of rules with
/// memory by (seed, repeat, kLinkRule, rule, time).
std::unique_ptr<Network> make_network(const NetworkSpec& spec, int ranks, Timeline& timeline, std::uint64_t seed,
                                      std::uint32_t repeat);

/// Makes a network where everything arrives at once: the schedule's own critical path, with no communication at all.
std::unique_ptr<Network> make_instant_network(Timeline& timeline);

}  // namespace hopbench
