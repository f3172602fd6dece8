#include "backends/runtime/virtual/transfers.h"

#include <algorithm>

namespace hopbench {
int Transfers::add_resource(double bytes_per_s) {
  lines_.emplace_back();
  return share_.add_resource(bytes_per_s);
}

int Transfers::begin(std::span<const int> resources, double bytes) {
  const int f = share_.add_flow(resources);
  if (flows_.size() <= static_cast<std::size_t>(f)) flows_.resize(static_cast<std::size_t>(f) + 1);
  flow(f) = {.left = bytes, .version = flow(f).version + 1, .order = next_order_++};
  return f;
}

void Transfers::settle(Time now) {
  const FairShare::Changes& changes = share_.update();
  for (const int f : changes.moved) {
    OnWay& moved = flow(f);
    if (moved.line >= 0) moved.left = std::max(moved.at - line(moved.line).given_by(now), 0.0);
    moved.line = -1;
    ++moved.version;
  }
  for (const int l : changes.levels) {
    Line& changed = line(l);
    changed.given = first(changed) == nullptr ? 0 : changed.given_by(now);
    changed.since = now;
    changed.rate = share_.level(l);
  }
  for (const int f : changes.moved) {
    OnWay& moved = flow(f);
    if (moved.line >= 0) continue;  // named twice
    moved.line = share_.bottleneck(f);
    Line& to = line(moved.line);
    moved.at = to.given_by(now) + moved.left;
    to.places.push({.at = moved.at, .order = moved.order, .flow = f, .version = moved.version});
  }
  for (const int l : changes.levels) predict(l);
  for (const int f : changes.moved) predict(flow(f).line);
}

Time Transfers::end_of(const Line& line, const FlowRank& place) const {
  const double left = std::max(place.at - line.given, 0.0);
  return after(line.since, line.rate > 0 ? seconds_to_duration(left / line.rate) : kLongestDuration);
}

const Transfers::FlowRank* Transfers::first(Line& line) {
  while (!line.places.empty() && line.places.top().version != flow(line.places.top().flow).version) line.places.pop();
  return line.places.empty() ? nullptr : &line.places.top();
}

// A prediction that has become too early is left as it is, and corrected when its time comes.
void Transfers::predict(int l) {
  Line& predicted = line(l);
  const FlowRank* next = first(predicted);
  if (next == nullptr) return;
  const Time end = end_of(predicted, *next);
  if (end >= predicted.predicted) return;
  predicted.predicted = end;
  ends_.push({.time = end, .line = l, .version = ++predicted.version});
}

Time Transfers::next_end() {
  for (; !ends_.empty(); ends_.pop()) {
    Line& next = line(ends_.top().line);
    if (ends_.top().version != next.version) continue;
    if (first(next) != nullptr) break;
    next.predicted = kNever;  // its flows have moved away
  }
  return ends_.empty() ? kNever : ends_.top().time;
}

const std::vector<int>& Transfers::ended(Time now) {
  ended_.clear();
  while (next_end() <= now) {
    const int l = ends_.top().line;
    ends_.pop();
    Line& due = line(l);
    due.predicted = kNever;
    for (const FlowRank* next = first(due); next != nullptr && end_of(due, *next) <= now; next = first(due)) {
      const int f = next->flow;
      due.places.pop();
      ++flow(f).version;
      share_.remove_flow(f);
      ended_.push_back(f);
    }
    predict(l);
  }
  std::sort(ended_.begin(), ended_.end(), [this](int a, int b) { return flow(a).order < flow(b).order; });
  return ended_;
}

}  // namespace hopbench
