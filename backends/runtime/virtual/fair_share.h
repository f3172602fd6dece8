// Max-min fair rates of flows over shared resources, kept up to date while flows come and go.
//
// In a max-min fair allocation every flow has a bottleneck: a resource on its path that is full and on which no flow is
// faster. Conversely, an allocation in which every flow has a bottleneck is max-min fair (Bertsekas and Gallager, Data
// Networks, 6.5.2). So all flows with one bottleneck have one rate, its level, and rates are kept by resource.
//
// Most changes take constant time, whatever the number of flows they concern. If all flows on a resource have it as
// their bottleneck, each gets an equal part of it. One flow more or less then changes nothing elsewhere, as long as
// that part is at most an equal part of every other resource that these flows cross. Each resource keeps a lower bound
// of the latter, its ceiling. An incast is such a case.
//
// Other changes are handled where they happen. The flows they touch are filled again with all others fixed. Then the
// bottlenecks around them are checked, and flows that lost theirs join in until all have one. The result is that of
// progressive filling over everything, at the price of the few flows that really change.
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
  void remove_flow(int flow);                    // its number may be reused for another flow

  struct Changes {
    std::vector<int> levels;  // resources whose level has changed; one may be named twice
    std::vector<int> moved;   // flows whose bottleneck has changed, and those that were added
  };
  /// Takes all changes since the last update into account.
  const Changes& update();
  int bottleneck(int flow) const { return flows_[static_cast<std::size_t>(flow)].bottleneck; }
  /// Returns the rate of each flow that has this resource as its bottleneck.
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
    std::vector<std::pair<int, std::size_t>> flows;  // flow, and the index of this hop on its path
    std::size_t own = 0;                             // number of them that have their bottleneck here
    double ceiling = 0;  // the level may rise up to it without a check of the other resources of these flows
    bool grown = false;  // each flow has less of it than before: more flows, or another capacity
    bool dirty = false, failed = false;
    double left = 0;  // during a filling: what is not given away,
    int open = 0;     // and the number of flows that wait for their part of it
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
  std::vector<int> added_, dirty_;                // since the last update; added: also on a changed capacity
  std::vector<int> inside_, touched_;             // flows filled again, and the resources on their paths
  std::vector<std::pair<double, int>> by_level_;  // heap of (what each open flow would get, resource)
  Changes changes_;
};

}  // namespace hopbench
