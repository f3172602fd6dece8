// The steps of ranks as readers of events find them, and how they become rows: markers are checked, clocks aligned, and
// the ranks of a replica combined.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "suites/import/imported.h"
#include "suites/import/readers.h"
#include "suites/import/spans.h"

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

struct RankMarks {
  std::int64_t rank = 0;
  Steps steps;    // settled
  Spans exposed;  // communication that no computation covers, seconds of the rank's clock
};

/// Moves the rank's exposed communication from its spans to its steps. Call this if no replica has several ranks.
void settle_exposed(RankMarks& rank);

/// Adds the rows of all ranks. Their steps may be gone afterwards.
///   - A step of which a rank has fewer or more collectives than most ranks of its stage does not count for its clock
///     (of equal counts of ranks, the larger number of collectives counts), and is left out if rows depend on clocks.
///   - The clock of each rank is compared with that of the lowest rank, by the median over steps of the difference of
///     the ends of the step's last collective.
///   - A row is a rank's step minus its exposed communication. With a grouped layout it is the span from the first
///     begin to the last end of a replica's ranks minus the time in which all of its ranks communicate or are not in
///     the step; a step that one of them lacks is left out. `align`: offsets apply to such spans.
/// Each step that is left out has a remark. Error(kUsage) if the layout does not fit the ranks.
void add_rows(std::vector<RankMarks>& ranks, const Layout& layout, bool align, Imported& to);

}  // namespace hopbench
