// Transfers under way over shared resources (fair_share.h), and the time when each has its last byte through.
//
// All flows with one bottleneck have one rate, so each resource has a clock for its flows: the number of bytes it has
// given each of them so far. A flow ends when the clock has advanced by the flow's bytes since the flow came. Another
// rate changes the time of ends, but not their order. So a change costs the resource one new prediction and no look at
// its flows. (The virtual time of fair queueing: Demers, Keshav, Shenker, SIGCOMM 1989.)
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <span>
#include <vector>

#include "backends/base/time.h"
#include "backends/runtime/virtual/fair_share.h"

namespace hopbench {

class Transfers {
 public:
  int add_resource(double bytes_per_s);  // > 0
  /// Changes a capacity from now on; `settle` must follow before time goes on.
  void set_capacity(int resource, double bytes_per_s) { share_.set_capacity(resource, bytes_per_s); }

  /// Returns the flow's number, free again once `ended` has returned it. `settle` must follow before time goes on.
  int begin(std::span<const int> resources, double bytes);
  /// Gives out the resources anew. Called after all that begins or ends at this instant.
  void settle(Time now);
  /// Returns when `ended` must be called next; kNever: no flow is on its way.
  Time next_end();
  /// Returns the flows that are through by now, in the order of their begins. `settle` must follow before time goes on.
  const std::vector<int>& ended(Time now);

 private:
  struct FlowRank {  // the place of a flow among those of its bottleneck
    double at = 0;
    std::uint64_t order = 0;
    int flow = 0;
    std::uint32_t version = 0;  // differs from the flow's: it has moved away
    bool operator>(const FlowRank& other) const { return std::pair(at, order) > std::pair(other.at, other.order); }
  };
  template <class T>
  using Rising = std::priority_queue<T, std::vector<T>, std::greater<>>;
  struct Line {  // the flows that have their bottleneck at one resource
    Time since{};
    double given = 0, rate = 0;  // bytes to each flow until `since`; bytes/s from then on
    Rising<FlowRank> places;
    Time predicted = kNever;  // in ends_, no later than its next end
    std::uint32_t version = 0;

    double given_by(Time now) const { return given + rate * to_seconds(now - since); }
  };
  struct OnWay {
    double left = 0;  // while it has no place
    double at = 0;    // its place
    int line = -1;
    std::uint32_t version = 0;
    std::uint64_t order = 0;  // of its begin
  };
  struct End {
    Time time{};
    int line = 0;
    std::uint32_t version = 0;  // differs from the line's: predicted again since
    bool operator>(const End& other) const { return std::pair(time, line) > std::pair(other.time, other.line); }
  };
  OnWay& flow(int f) { return flows_[static_cast<std::size_t>(f)]; }
  Line& line(int l) { return lines_[static_cast<std::size_t>(l)]; }
  Time end_of(const Line& line, const FlowRank& place) const;
  const FlowRank* first(Line& line);
  void predict(int line);

  FairShare share_;
  std::vector<Line> lines_;  // by resource
  std::vector<OnWay> flows_;
  Rising<End> ends_;
  std::uint64_t next_order_ = 0;
  std::vector<int> ended_;
};

}  // namespace hopbench
