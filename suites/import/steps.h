// The steps of a rank with the times of their marks: 48 bytes each, since a recording may have millions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <utility>

namespace hopbench {

/// A step of a rank, or what a part of its events tells of it. Times are seconds of the rank's clock.
struct StepMarks {
  std::int64_t step = 0;
  double begin = std::numeric_limits<double>::infinity(), end = -std::numeric_limits<double>::infinity();
  double last_collective = -std::numeric_limits<double>::infinity();  // its end
  std::uint32_t collectives = 0;                                      // number of them
  double exposed = 0;  // communication that no computation covers, after settle_exposed()
};

static_assert(sizeof(StepMarks) == 48, "docs/import.md says how much memory an import takes");

/// Steps by number. Parts of a step may come in any order, between those of other steps; settle() unites them.
class Steps {
 public:
  /// Adds a part of a step: the earlier begin, the later ends and the sum of the collectives count. Parts that come in
  /// rising order of steps take constant time, others the logarithm of the number of steps on average.
  void add(const StepMarks& part);
  /// Unites the parts of each step and sorts the steps. Everything below needs that, unless add() is called in rising
  /// order of steps only.
  void settle();

  bool empty() const { return list_.empty(); }
  auto begin() { return list_.begin(); }
  auto end() { return list_.end(); }
  auto begin() const { return list_.begin(); }
  auto end() const { return list_.end(); }
  /// Returns nullptr if there is no such step.
  const StepMarks* find(std::int64_t step) const;
  StepMarks* find(std::int64_t step) { return const_cast<StepMarks*>(std::as_const(*this).find(step)); }
  void erase_if(const std::function<bool(const StepMarks&)>& condition) { std::erase_if(list_, condition); }
  void clear() { list_ = {}; }

 private:
  std::deque<StepMarks> list_;  // grows without being copied
  bool settled_ = true;
  std::size_t settle_at_ = 0;  // length at which parts that came in another order are united
};

}  // namespace hopbench
