// The steps of ranks as readers of events find them, and how they become rows: markers are checked, clocks aligned, and
// the ranks of a replica combined.
#pragma once

#include <cstdint>
#include <vector>

#include "suites/import/imported.h"
#include "suites/import/readers.h"
#include "suites/import/spans.h"
#include "suites/import/steps.h"

namespace hopbench {

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
