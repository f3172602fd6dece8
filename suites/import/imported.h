// A recording of a training job as rows of rank, step and seconds, and what was found wrong with it. Readers
// (readers.h) make it from files; decompose.h computes statistics of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "suites/import/communication.h"

namespace hopbench {

/// A row of a trace. 16 bytes, since there may be tens of millions of them.
struct TraceRow {
  std::int32_t rank = 0, step = 0;
  double seconds = 0;
};
/// Rows in chunks, so that they grow without being copied.
using TraceRows = std::deque<TraceRow>;

/// Returns the steps that any rank has, or `every` rank. Rows are sorted by rank and step.
std::vector<std::int32_t> steps_of(const TraceRows& rows, bool every);

/// Faults of a recording, in few lines: causes first, then what many steps have in common, then the rest.
class Remarks {
 public:
  /// Adds a remark that explains others: it comes before them.
  void cause(std::string text) { causes_.push_back(std::move(text)); }
  void add(std::string text) { others_.push_back(std::move(text)); }
  /// Adds what is wrong with a step of a rank. Steps with the same `why` become one line, with the first `detail`.
  void step(std::int64_t rank, std::int64_t step, const std::string& why, const std::string& detail = "");
  /// Adds what ranks have in common.
  void rank(std::int64_t rank, const std::string& why, const std::string& detail = "") { step(rank, -1, why, detail); }
  /// Returns the lines in their order.
  std::vector<std::string> texts() const;
  /// Returns ": " and the first line, or "".
  std::string first() const;

 private:
  struct Group {
    std::set<std::int64_t> ranks;
    std::size_t steps = 0;
    std::vector<std::string> shown;  // the first steps of first_rank
    std::int64_t first_rank = 0;
    std::string detail;
    std::size_t of_first = 0;  // steps of first_rank
  };
  std::vector<std::string> causes_, others_;
  std::map<std::string, Group> groups_;  // by what is wrong
};

/// The clock of a rank, compared with that of the lowest rank by the ends of collectives.
struct ClockOffset {
  int rank = 0;
  double seconds = 0;  // to be subtracted from the rank's times
  double spread = 0;   // median distance of the single estimates from their median, seconds
  std::size_t steps = 0;
};

/// The result of a reader.
struct Imported {
  TraceRows rows;  // after finish_rows(): by rank and step, without gaps in the ranks
  Remarks remarks;
  std::vector<ClockOffset> clocks;  // empty if clocks were not compared
  bool clocks_applied = false;      // the offsets changed some seconds
  /// The mean over the stages of a replica of the time that they compute, divided by that of the slowest stage. Absent
  /// if replicas have one stage.
  std::optional<double> stage_balance;
  Communication communication;
  bool named_like_sums = false;  // the name of the times is that of times since the start, as elapsed or total

  /// Adds a row. Adds a remark instead if `seconds` is not from 1e-9 to 1e9.
  void add(int rank, std::int64_t step, double seconds);
};

inline constexpr int kMostRanksOfTrace = 100'000;  // as in backends/runtime/trace.cpp
inline constexpr std::int64_t kMostStepOfTrace = 2'147'483'647;

/// Sorts the rows, removes all rows of a rank and step that are there more than once and those of the lowest `skip`
/// steps, and numbers the ranks from 0 without gaps. Adds remarks about this, about steps that a rank lacks and another
/// rank has, and about times that are hardly those of steps. Error(kUsage) if no step is left that all ranks have;
/// `where` names the files in it.
void finish_rows(Imported& imported, const std::string& where, std::int64_t skip = 0);

/// Writes the rows as a trace file (docs/suites.md). `title` becomes a comment. Rows must be finished.
void write_trace(const TraceRows& rows, const std::string& title, std::ostream& out);

}  // namespace hopbench
