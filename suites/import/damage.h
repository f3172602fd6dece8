// Events that never ended, as a profiler that was stopped too early writes them.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "suites/import/trace_events.h"

namespace hopbench {

/// The last beginning of a thread, or of a whole profile. A first reading notes all events. Then an event is known to
/// have never ended if it lasts beyond the last beginning although that is of a later step.
class LastBegins {
 public:
  struct Last {
    double begin = 0;
    std::int64_t id = 0;  // what tells the step
  };
  void note(std::uint64_t thread, double begin, std::int64_t id) {
    const auto [at, is_new] = last_.try_emplace(thread, Last{begin, id});
    if (!is_new && begin > at->second.begin) at->second = {begin, id};
  }
  template <class StepOf>
  bool never_ended(std::uint64_t thread, const TraceEvent& event, std::int64_t step, const StepOf& step_of) const {
    const auto at = last_.find(thread);
    if (at == last_.end()) return false;
    const Last& last = at->second;
    return event.begin < last.begin && event.end > last.begin && step < step_of(last);
  }
  std::size_t threads() const { return last_.size(); }

 private:
  std::unordered_map<std::uint64_t, Last> last_;
};

}  // namespace hopbench
