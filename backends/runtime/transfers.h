// Transfers under way over shared resources (fair_share.h), and when each has its last byte through.
//
// All flows with one bottleneck go at one rate, so each resource has a clock for its flows: how many bytes it has given
// each of them so far. A flow ends when that clock shows what it showed when the flow came, plus the flow's bytes.
// Another rate changes when that will be, but not in which order flows end: a change costs the resource one new
// prediction and no look at its flows. (The virtual time of fair queueing: Demers, Keshav, Shenker, SIGCOMM 1989.)
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <span>
#include <vector>

#include "backends/base/time.h"
#include "backends/runtime/fair_share.h"

namespace hopbench {

class Transfers {
 public:
  int add_resource(double bytes_per_s);  // > 0
  /// From now on; `settle` must follow before time goes on.
  void set_capacity(int resource, double bytes_per_s) { share_.set_capacity(resource, bytes_per_s); }

  /// Returns the flow's number, which is free again once `ended` has told it. `settle` must follow before time goes on.
  int begin(std::span<const int> resources, double bytes);
  /// After all that begins or ended at this instant: gives out the resources anew.
  void settle(Time now);
  /// When `ended` is to be asked next; kNever: no flow is on its way.
  Time next_end();
  /// The flows that are through by now, in the order in which they began. `settle` must follow before time goes on.
  const std::vector<int>& ended(Time now);

 private:
  struct Place {  // of a flow among those of its bottleneck
    double at = 0;
    std::uint64_t order = 0;
    int flow = 0;
    std::uint32_t version = 0;  // another than the flow's: it has moved away
    bool operator>(const Place& other) const { return std::pair(at, order) > std::pair(other.at, other.order); }
  };
  template <class T>
  using Rising = std::priority_queue<T, std::vector<T>, std::greater<>>;
  struct Line {  // of the flows that have their bottleneck at one resource
    Time since{};
    double given = 0, rate = 0;  // bytes to each flow until `since`; bytes/s from then on
    Rising<Place> places;
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
    std::uint32_t version = 0;  // another than the line's: predicted anew since
    bool operator>(const End& other) const { return std::pair(time, line) > std::pair(other.time, other.line); }
  };
  OnWay& flow(int f) { return flows_[static_cast<std::size_t>(f)]; }
  Line& line(int l) { return lines_[static_cast<std::size_t>(l)]; }
  Time end_of(const Line& line, const Place& place) const;
  const Place* first(Line& line);
  void predict(int line);

  FairShare share_;
  std::vector<Line> lines_;  // by resource
  std::vector<OnWay> flows_;
  Rising<End> ends_;
  std::uint64_t next_order_ = 0;
  std::vector<int> ended_;
};

}  // namespace hopbench
