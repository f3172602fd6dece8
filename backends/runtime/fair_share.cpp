#include "backends/runtime/fair_share.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "backends/base/error.h"

namespace hopbench {
namespace {

constexpr double kSlack = 1e-9;     // rates this close (relative) count as equal when a bottleneck is checked
constexpr double kSame = 1e-12;     // a rate that moves less than this stays
constexpr int kPatientRounds = 12;  // then the filling takes in all it touches, so a long ripple ends soon

}  // namespace

int FairShare::add_resource(double capacity) {
  HB_ASSERT(capacity > 0);
  resources_.emplace_back();
  resources_.back().capacity = capacity;
  return static_cast<int>(resources_.size() - 1);
}

void FairShare::set_capacity(int r, double capacity) {
  HB_ASSERT(capacity > 0);
  if (std::exchange(resource(r).capacity, capacity) == capacity) return;
  for (const auto& [f, hop] : resource(r).flows) added_.push_back(f);
}

int FairShare::add_flow(std::span<const int> resources) {
  HB_ASSERT(!resources.empty() && resources.size() <= kMaxPath);
  if (free_.empty()) {
    flows_.emplace_back();
    free_.push_back(static_cast<int>(flows_.size() - 1));
  }
  const int f = free_.back();
  free_.pop_back();
  FlowState& added = flow(f);
  added = FlowState{};
  added.hops = resources.size();
  for (std::size_t hop = 0; hop < added.hops; ++hop) {
    Resource& r = resource(resources[hop]);
    added.path[hop] = resources[hop];
    added.place[hop] = r.flows.size();
    r.flows.emplace_back(f, hop);
  }
  added_.push_back(f);
  return f;
}

void FairShare::remove_flow(int f) {
  FlowState& removed = flow(f);
  for (std::size_t hop = 0; hop < removed.hops; ++hop) {
    Resource& r = resource(removed.path[hop]);
    const std::pair<int, std::size_t> last = r.flows.back();
    r.flows[removed.place[hop]] = last;
    flow(last.first).place[last.second] = removed.place[hop];
    r.flows.pop_back();
    mark_dirty(removed.path[hop]);
  }
  removed.hops = 0;
  free_.push_back(f);
}

void FairShare::mark_dirty(int r) {
  if (std::exchange(resource(r).dirty, true)) return;
  dirty_.push_back(r);
}

const std::vector<int>& FairShare::update() {
  changed_.clear();
  for (const int f : added_) {
    if (flow(f).hops == 0) continue;
    take_in(f);
    for (std::size_t hop = 0; hop < flow(f).hops; ++hop) mark_dirty(flow(f).path[hop]);
  }
  added_.clear();
  for (const int r : dirty_) {
    resource(r).dirty = false;
    for (const auto& [f, hop] : resource(r).flows) {
      if (flow(f).bottleneck == r) take_in(f);
    }
  }
  dirty_.clear();
  if (inside_.empty()) return changed_;
  int round = 0;
  do {
    fill();
  } while (widen(++round > kPatientRounds));
  settle();
  return changed_;
}

void FairShare::take_in(int f) {
  FlowState& taken = flow(f);
  if (std::exchange(taken.inside, true)) return;
  inside_.push_back(f);
  taken.next_rate = taken.rate;  // until it is filled
  for (std::size_t hop = 0; hop < taken.hops; ++hop) {
    if (std::exchange(resource(taken.path[hop]).touched, true)) continue;
    touched_.push_back(taken.path[hop]);
  }
}

void FairShare::fill() {
  for (const int f : inside_) flow(f).filled = false;
  by_level_.clear();
  for (const int r : touched_) {
    Resource& res = resource(r);
    res.left = res.capacity;
    res.open = 0;
    for (const auto& [f, hop] : res.flows) {
      if (flow(f).inside) {
        ++res.open;
      } else {
        res.left -= flow(f).rate;
      }
    }
    res.left = std::max(res.left, 0.0);
    if (res.open > 0) by_level_.emplace_back(res.left / res.open, r);
  }
  std::make_heap(by_level_.begin(), by_level_.end(), std::greater<>{});
  while (!by_level_.empty()) {
    std::pop_heap(by_level_.begin(), by_level_.end(), std::greater<>{});
    const auto [level, r] = by_level_.back();
    by_level_.pop_back();
    Resource& res = resource(r);
    if (res.open == 0) continue;
    const double now = res.left / res.open;  // levels only rise while others are filled: look again later
    if (now > level) {
      by_level_.emplace_back(now, r);
      std::push_heap(by_level_.begin(), by_level_.end(), std::greater<>{});
    } else {
      fill_at(r, now);
    }
  }
}

void FairShare::fill_at(int r, double level) {
  for (const auto& [f, hop] : resource(r).flows) {
    FlowState& filled = flow(f);
    if (!filled.inside || filled.filled) continue;
    filled.filled = true;
    filled.next_rate = level;
    filled.bottleneck = r;
    for (std::size_t h = 0; h < filled.hops; ++h) {
      Resource& res = resource(filled.path[h]);
      res.left = std::max(res.left - level, 0.0);
      --res.open;
    }
  }
}

bool FairShare::widen(bool all) {
  const std::size_t before = inside_.size();
  const std::size_t resources = touched_.size();
  for (std::size_t i = 0; i < resources; ++i) {
    const int r = touched_[i];
    const Resource& res = resource(r);
    double used = 0, fastest_inside = 0, slowest_filled_here = std::numeric_limits<double>::infinity();
    for (const auto& [f, hop] : res.flows) {
      const FlowState& fl = flow(f);
      used += fl.inside ? fl.next_rate : fl.rate;
      if (!fl.inside) continue;
      fastest_inside = std::max(fastest_inside, fl.next_rate);
      if (fl.bottleneck == r) slowest_filled_here = std::min(slowest_filled_here, fl.next_rate);
    }
    const bool full = used >= res.capacity * (1 - kSlack);
    for (const auto& [f, hop] : res.flows) {
      const FlowState& fl = flow(f);
      if (fl.inside) continue;
      const bool lost_its_own = fl.bottleneck == r && (!full || fl.rate < fastest_inside * (1 - kSlack));
      const bool spoils_ours = fl.rate > slowest_filled_here * (1 + kSlack);
      if (all || lost_its_own || spoils_ours) take_in(f);
    }
  }
  return inside_.size() > before;
}

void FairShare::settle() {
  for (const int f : inside_) {
    FlowState& settled = flow(f);
    settled.inside = false;
    if (std::abs(settled.next_rate - settled.rate) <= kSame * settled.rate) continue;
    settled.rate = settled.next_rate;
    changed_.push_back(f);
  }
  for (const int r : touched_) resource(r).touched = false;
  inside_.clear();
  touched_.clear();
}

}  // namespace hopbench
