#include "backends/runtime/virtual/fair_share.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "backends/base/error.h"

namespace hopbench {
namespace {

constexpr double kSlack = 1e-9;     // rates this close (relative) count as equal when a bottleneck is checked
constexpr double kSame = 1e-12;     // a rate that moves less than this stays
constexpr int kPatientRounds = 12;  // then the filling takes in every flow it touches, so a long ripple ends soon

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
  resource(r).grown = true;
  mark_dirty(r);
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
  added.fresh = true;
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
  if (removed.bottleneck >= 0) --resource(removed.bottleneck).own;
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

const FairShare::Changes& FairShare::update() {
  changes_.levels.clear();
  changes_.moved.clear();
  place_added();
  for (std::size_t i = 0; i < dirty_.size(); ++i) {  // more may be added meanwhile
    const Resource& r = resource(dirty_[i]);
    if (r.grown && r.own == 0) lower_ceilings(dirty_[i]);
  }
  share_equally();
  fill_failed();
  dirty_.clear();
  added_.clear();
  return changes_;
}

// Places each flow where an equal part is least. If that is wrong, the filling corrects it.
void FairShare::place_added() {
  for (const int f : added_) {
    FlowState& placed = flow(f);
    if (!std::exchange(placed.fresh, false) || placed.hops == 0) continue;
    int least = placed.path[0];
    for (std::size_t hop = 0; hop < placed.hops; ++hop) {
      const int r = placed.path[hop];
      mark_dirty(r);
      resource(r).grown = true;
      if (std::pair(resource(r).equal_part(), r) < std::pair(resource(least).equal_part(), least)) least = r;
    }
    placed.bottleneck = least;
    ++resource(least).own;
    changes_.moved.push_back(f);
  }
}

// Called if no flow has its bottleneck on r and an equal part of r has changed.
void FairShare::lower_ceilings(int r) {
  const double part = resource(r).equal_part();
  for (const auto& [f, hop] : resource(r).flows) {
    const int bottleneck = flow(f).bottleneck;
    resource(bottleneck).ceiling = std::min(resource(bottleneck).ceiling, part);
    mark_dirty(bottleneck);
  }
}

void FairShare::share_equally() {
  for (const int r : dirty_) {
    Resource& res = resource(r);
    res.grown = res.dirty = false;
    if (res.own == 0) {
      res.level = 0;
      continue;
    }
    const double part = res.equal_part();
    res.failed = res.own < res.flows.size();
    if (!res.failed && part > res.ceiling) {
      res.ceiling = ceiling_of(r);
      res.failed = part > res.ceiling;
    }
    if (!res.failed) set_level(r, part);
  }
}

double FairShare::ceiling_of(int r) {
  double ceiling = std::numeric_limits<double>::infinity();
  for (const auto& [f, own_hop] : resource(r).flows) {
    const FlowState& fl = flow(f);
    for (std::size_t hop = 0; hop < fl.hops; ++hop) {
      if (hop != own_hop) ceiling = std::min(ceiling, room_on(fl.path[hop], r));
    }
  }
  return ceiling;
}

// Returns the level up to which r's flows leave the resource `other` without a bottleneck on it. Returns 0 if a flow
// has its bottleneck there, or if another flow is faster than an equal part, as it may be while r's are slower.
double FairShare::room_on(int other, int r) {
  const Resource& res = resource(other);
  if (res.own > 0) return 0;
  const double part = res.equal_part();
  for (const auto& [f, hop] : res.flows) {
    if (flow(f).bottleneck != r && rate(f) > part) return 0;
  }
  return part;
}

void FairShare::set_level(int r, double level) {
  Resource& res = resource(r);
  if (std::abs(level - res.level) <= kSame * res.level) return;
  res.level = level;
  changes_.levels.push_back(r);
}

void FairShare::fill_failed() {
  for (const int r : dirty_) {
    if (!std::exchange(resource(r).failed, false)) continue;
    for (const auto& [f, hop] : resource(r).flows) {
      if (flow(f).bottleneck == r) take_in(f);
    }
  }
  if (inside_.empty()) return;
  int round = 0;
  do {
    fill();
  } while (widen(++round > kPatientRounds));
  settle();
}

void FairShare::take_in(int f) {
  FlowState& taken = flow(f);
  if (std::exchange(taken.inside, true)) return;
  inside_.push_back(f);
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
    res.next_level = -1;
    for (const auto& [f, hop] : res.flows) {
      if (flow(f).inside) {
        ++res.open;
      } else {
        res.left -= rate(f);
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
    const double now = res.left / res.open;  // levels only rise while others are filled, so look again later
    if (now > level) {
      by_level_.emplace_back(now, r);
      std::push_heap(by_level_.begin(), by_level_.end(), std::greater<>{});
    } else {
      fill_at(r, now);
    }
  }
}

void FairShare::fill_at(int r, double level) {
  resource(r).next_level = level;
  for (const auto& [f, hop] : resource(r).flows) {
    FlowState& filled = flow(f);
    if (!filled.inside || filled.filled) continue;
    filled.filled = true;
    filled.next_rate = level;
    filled.next_bottleneck = r;
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
    double used = 0, fastest_inside = 0;
    for (const auto& [f, hop] : res.flows) {
      const FlowState& fl = flow(f);
      used += fl.inside ? fl.next_rate : rate(f);
      if (fl.inside) fastest_inside = std::max(fastest_inside, fl.next_rate);
    }
    const bool full = used >= res.capacity * (1 - kSlack);
    const double filled_here = res.next_level >= 0 ? res.next_level : std::numeric_limits<double>::infinity();
    for (const auto& [f, hop] : res.flows) {
      const FlowState& fl = flow(f);
      if (fl.inside) continue;
      const bool lost_its_own = fl.bottleneck == r && (!full || rate(f) < fastest_inside * (1 - kSlack));
      const bool spoils_ours = rate(f) > filled_here * (1 + kSlack);
      if (all || lost_its_own || spoils_ours) take_in(f);
    }
  }
  return inside_.size() > before;
}

void FairShare::settle() {
  for (const int f : inside_) {
    FlowState& settled = flow(f);
    settled.inside = false;
    if (settled.bottleneck == settled.next_bottleneck) continue;
    --resource(settled.bottleneck).own;
    ++resource(settled.next_bottleneck).own;
    settled.bottleneck = settled.next_bottleneck;
    changes_.moved.push_back(f);
  }
  // A flow that stayed outside, with its bottleneck where others were filled, is as fast as they are except for slack.
  // Then the level stays.
  for (const int r : touched_) {
    Resource& res = resource(r);
    res.touched = false;
    std::size_t outside = res.own;
    for (const auto& [f, hop] : res.flows) {
      const FlowState& fl = flow(f);
      resource(fl.bottleneck).ceiling = 0;
      if (fl.bottleneck == r && fl.filled) --outside;
    }
    if (res.own == 0) {
      res.level = 0;
    } else if (outside == 0) {
      set_level(r, res.next_level);
    }
  }
  for (const int f : inside_) flow(f).filled = false;
  inside_.clear();
  touched_.clear();
}

}  // namespace hopbench
