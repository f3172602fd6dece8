// Max-min fair rates of flows over shared resources, kept up to date while flows come and go.
//
// In a max-min fair allocation every flow has a bottleneck: a resource on its path that is full and on which no flow is
// faster; and an allocation in which every flow has one is the max-min fair one (Bertsekas and Gallager, Data Networks,
// 6.5.2). So all flows with one bottleneck go at one rate, its level, and rates are kept by resource.
//
// Most changes are dealt with in constant time, however many flows they concern: where all flows on a resource have it
// for their bottleneck, each gets an equal part of it, and a flow more or less changes nothing elsewhere as long as
// that part is no more than an equal part of every other resource that these flows cross. Each resource keeps a lower
// bound of the latter, its ceiling. An incast is like that.
//
// Other changes are dealt with where they happen: the flows they touch are filled anew with all others held as they
// are, then the bottlenecks round them are checked, and flows that lost theirs join in until all have one. The result
// is that of progressive filling over everything, at the price of the few flows that really change.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace hopbench {

class FairShare {
 public:
  static constexpr std::size_t kMaxPath = 5;

  int add_resource(double capacity);  // > 0
  void set_capacity(int resource, double capacity);
  int add_flow(std::span<const int> resources);  // 1 to kMaxPath, all different; its rate is 0 until `update`
  void remove_flow(int flow);                    // its number may be given to another flow

  struct Changes {
    std::vector<int> levels;  // resources whose level is another now; one may be named twice
    std::vector<int> moved;   // flows that have another bottleneck now, those that were added among them
  };
  /// Takes all changes since the last update into account.
  const Changes& update();
  int bottleneck(int flow) const { return flows_[static_cast<std::size_t>(flow)].bottleneck; }
  /// The rate of each flow that has this resource for its bottleneck.
  double level(int resource) const { return resources_[static_cast<std::size_t>(resource)].level; }
  double rate(int flow) const { return bottleneck(flow) < 0 ? 0 : level(bottleneck(flow)); }

 private:
  struct FlowState {
    std::array<int, kMaxPath> path{};
    std::array<std::size_t, kMaxPath> place{};  // in the lists of those resources
    std::size_t hops = 0;                       // 0: not in use
    int bottleneck = -1;
    bool fresh = false;                   // added since the last update
    bool inside = false, filled = false;  // during a filling
    int next_bottleneck = -1;
    double next_rate = 0;
  };
  struct Resource {
    double capacity = 0, level = 0;
    std::vector<std::pair<int, std::size_t>> flows;  // flow, and which hop of it this is
    std::size_t own = 0;                             // how many of them have their bottleneck here
    double ceiling = 0;  // up to it the level may rise without a look at the other resources of these flows
    bool grown = false;  // there is less of it for each flow than before: more flows, or another capacity
    bool dirty = false, failed = false;
    double left = 0;  // during a filling: what is not given away,
    int open = 0;     // and how many flows wait for their part of it
    bool touched = false;
    double next_level = -1;

    double equal_part() const { return capacity / static_cast<double>(flows.size()); }
  };
  FlowState& flow(int f) { return flows_[static_cast<std::size_t>(f)]; }
  Resource& resource(int r) { return resources_[static_cast<std::size_t>(r)]; }
  void mark_dirty(int r);
  void place_added();
  void lower_ceilings(int r);
  void share_equally();
  double ceiling_of(int r);
  double room_on(int other, int r);
  void set_level(int r, double level);
  void fill_failed();
  void take_in(int f);
  void fill();
  void fill_at(int r, double level);
  bool widen(bool all);
  void settle();

  std::vector<FlowState> flows_;
  std::vector<int> free_;
  std::vector<Resource> resources_;
  std::vector<int> added_, dirty_;                // since the last update; added: or on what has another capacity
  std::vector<int> inside_, touched_;             // flows filled anew, and the resources on their paths
  std::vector<std::pair<double, int>> by_level_;  // heap of (what each open flow would get, resource)
  Changes changes_;
};

}  // namespace hopbench
