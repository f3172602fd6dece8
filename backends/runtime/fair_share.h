// Max-min fair rates of flows over shared resources, kept up to date while flows come and go.
//
// In a max-min fair allocation every flow has a bottleneck: a resource on its path that is full and on which no flow is
// faster; and an allocation in which every flow has one is the max-min fair one (Bertsekas and Gallager, Data Networks,
// 6.5.2). So a change is dealt with where it happens: the flows it touches are filled anew with all others held as they
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
  static constexpr std::size_t kMaxPath = 3;

  int add_resource(double capacity);  // > 0
  void set_capacity(int resource, double capacity);
  int add_flow(std::span<const int> resources);  // 1 to kMaxPath, all different; its rate is 0 until `update`
  void remove_flow(int flow);                    // its number may be given to another flow

  /// Takes all changes since the last update into account; returns the flows whose rate is another now.
  const std::vector<int>& update();
  double rate(int flow) const { return flows_[static_cast<std::size_t>(flow)].rate; }

 private:
  struct FlowState {
    std::array<int, kMaxPath> path{};
    std::array<std::size_t, kMaxPath> place{};  // in the lists of those resources
    std::size_t hops = 0;                       // 0: not in use
    double rate = 0, next_rate = 0;
    int bottleneck = -1;
    bool inside = false, filled = false;
  };
  struct Resource {
    double capacity = 0;
    std::vector<std::pair<int, std::size_t>> flows;  // flow, and which hop of it this is
    double left = 0;                                 // during a filling: what is not given away,
    int open = 0;                                    // and how many flows wait for their part of it
    bool touched = false, dirty = false;
  };
  FlowState& flow(int f) { return flows_[static_cast<std::size_t>(f)]; }
  Resource& resource(int r) { return resources_[static_cast<std::size_t>(r)]; }
  void mark_dirty(int r);
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
  std::vector<int> changed_;
};

}  // namespace hopbench
