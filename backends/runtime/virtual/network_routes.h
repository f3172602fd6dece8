// The ways of messages through a simulated network: resources between two ranks, and processors that handle messages.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "backends/base/time.h"
#include "backends/runtime/virtual/fair_share.h"
#include "backends/runtime/virtual/network.h"

namespace hopbench {

/// Returns the time that `bytes` take; 0 bytes/s: no time.
Duration time_for(double bytes, double bytes_per_s);

/// The links that a flow between two ranks crosses, and its latency.
struct Route {
  int from = 0, to = 0;  // hosts
  Duration latency{};
  double narrowest = 0;  // bytes/s; 0: unlimited
  std::array<int, FairShare::kMaxPath> resources{};
  std::size_t hops = 0;
};

/// A NetworkSpec as numbered resources, each with a capacity, and the way from rank to rank over them.
class Routes {
 public:
  /// Called for each new resource, numbered from 0 on, and for each change of one. Capacities: bytes/s of payload.
  using Capacity = std::function<void(int resource, double bytes_per_s)>;

  Routes(const NetworkSpec& spec, int ranks, std::uint64_t seed, std::uint32_t repeat, Capacity tell);

  /// Returns when move_to() must be called next. Nothing changes before.
  Time next_change() const { return next_change_; }

  /// Moves routes and capacities to the time `now`. The resources of a route stay the same.
  void move_to(Time now);

  Route between(int from, int to);

  /// Returns when a message is through that begins at `start` and takes `length` on its own. It stands still while its
  /// way is cut.
  Time through(const Route& route, Time start, Duration length) const;

 private:
  enum class Part { kMemory, kOut, kIn, kLink, kUp, kDown };
  using LinkKey = std::tuple<Part, int, int>;  // two hosts or racks; twice the same unless it is a link
  struct Way {
    double bandwidth = 0;  // 0: always unlimited
    Duration latency{-1};
    double latency_factor = 1;
    bool cut = false;
  };

  static bool concerns(const NetworkSpec::Link& link, const Route& route);
  const LinkState& state_of(std::size_t link, Time now);
  void obey(const NetworkSpec::Link& link, const LinkState* state, Way& way) const;
  Duration latency_of(const Way& nic) const;
  int host(int rank) const { return spec_.host_of.empty() ? rank : spec_.host_of[static_cast<std::size_t>(rank)]; }
  int rack(int host) const;
  double bandwidth_of(const LinkKey& place) const;
  double capacity_of(const LinkKey& place) const;
  const Way& way_of(const LinkKey& place) const;
  void add(Route& route, const LinkKey& place);

  const NetworkSpec spec_;
  int hosts_ = 0;
  const std::uint64_t seed_;
  const std::uint32_t repeat_;
  Capacity tell_;
  std::vector<Time> changes_;  // begins and ends of links ahead, the next one last
  Time next_change_ = kNever;
  struct Known {
    int number = -1;  // of the link's rule with memory; -1: it has none
    LinkState state{};
  };
  std::vector<Known> known_;  // by link
  std::vector<NetworkSpec::Link> cuts_;
  std::vector<Way> out_, in_;  // NICs by host, as they are now
  std::map<std::pair<int, int>, Way> links_;
  std::map<LinkKey, int> resources_;
};

/// The processors on which messages are handled, in the order in which they ask.
class Processors {
 public:
  Processors(const NetworkSpec& spec, int ranks);

  bool any() const { return !free_at_.empty(); }

  /// Returns when a message of `bytes` bytes that asks at this rank now will have been handled.
  Time handle(int rank, double bytes, Time now);

 private:
  std::size_t host(int rank) const {
    return static_cast<std::size_t>(host_of_.empty() ? rank : host_of_[static_cast<std::size_t>(rank)]);
  }

  Duration overhead_;
  double rate_;
  bool shared_;
  std::vector<int> host_of_;
  std::vector<Time> free_at_;  // by processor; empty: handling takes no time
};

}  // namespace hopbench
