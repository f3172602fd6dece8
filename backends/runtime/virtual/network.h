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
