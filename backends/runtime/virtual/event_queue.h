// The event heap of virtual time. Events are small tagged records. Their data lies in slots of the simulation.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "backends/base/time.h"

namespace hopbench {

enum class SimEventKind : std::uint32_t {
  kStart,     // index: a rank whose strands get their first turn
  kDeliver,   // index: an envelope
  kWake,      // index: a strand in occupy
  kDeadline,  // index: a strand in await. The end of a run does not wait for these.
  kAction,    // index: an action of Timeline::at
  kKill,      // index: a rank
};

struct SimEvent {
  Time time{};
  std::uint32_t tie = 0;  // 0 without --shuffle
  SimEventKind what = SimEventKind::kAction;
  std::uint64_t sequence = 0;
  std::uint32_t index = 0;
  std::uint32_t wait = 0;  // kWake, kDeadline: the strand's wait that is meant; an older one is stale
};

/// A heap ordered by (time, tie, sequence).
class EventQueue {
 public:
  void push(SimEvent event) {
    event.sequence = next_++;
    heap_.push_back(event);
    std::push_heap(heap_.begin(), heap_.end(), later);
  }
  SimEvent pop() {
    std::pop_heap(heap_.begin(), heap_.end(), later);
    const SimEvent event = heap_.back();
    heap_.pop_back();
    return event;
  }
  bool empty() const { return heap_.empty(); }

 private:
  static bool later(const SimEvent& a, const SimEvent& b) {
    if (a.time != b.time) return a.time > b.time;
    if (a.tie != b.tie) return a.tie > b.tie;
    return a.sequence > b.sequence;
  }
  std::vector<SimEvent> heap_;
  std::uint64_t next_ = 0;
};

/// Values that an event refers to by a small number, which is used again once the event is over.
template <class T>
class Slots {
 public:
  std::uint32_t put(T value) {
    if (free_.empty()) {
      values_.push_back(std::move(value));
      return static_cast<std::uint32_t>(values_.size() - 1);
    }
    const std::uint32_t at = free_.back();
    free_.pop_back();
    values_[at] = std::move(value);
    return at;
  }
  T take(std::uint32_t at) {
    free_.push_back(at);
    return std::move(values_[at]);
  }
  const T& operator[](std::uint32_t at) const { return values_[at]; }
  T& operator[](std::uint32_t at) { return values_[at]; }

 private:
  std::vector<T> values_;
  std::vector<std::uint32_t> free_;
};

}  // namespace hopbench
