// A recording of a training job as rows of rank, step and seconds, and what was found wrong with it. Readers
// (readers.h) make it from files; decompose.h computes statistics of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

namespace hopbench {

/// A row of a trace. 16 bytes, since there may be tens of millions of them.
struct TraceRow {
  std::int32_t rank = 0, step = 0;
  double seconds = 0;
};
/// Rows in chunks, so that they grow without being copied.
using TraceRows = std::deque<TraceRow>;

/// Messages about markers that are missing or contradict each other. Keeps the first ones and counts the others.
class Remarks {
 public:
  void add(std::string remark);
  /// Counts remarks without their texts, as add() does once it is full.
  void count(std::size_t remarks) { more_ += remarks; }
  bool full() const { return kept_.size() >= kMostKept; }
  const std::vector<std::string>& kept() const { return kept_; }
  std::size_t more() const { return more_; }

 private:
  static constexpr std::size_t kMostKept = 1000;
  std::vector<std::string> kept_;
  std::size_t more_ = 0;
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

  /// Adds a row. Adds a remark instead if `seconds` is not from 1e-9 to 1e9.
  void add(int rank, std::int64_t step, double seconds);
};

inline constexpr int kMostRanksOfTrace = 100'000;  // as in backends/runtime/trace.cpp
inline constexpr std::int64_t kMostStepOfTrace = 2'147'483'647;

/// Sorts the rows, removes all rows of a rank and step that are there more than once, and numbers the ranks from 0
/// without gaps. Adds remarks about this, and about each step that a rank lacks and another rank has. Error(kUsage) if
/// no row is left; `where` names the files in it.
void finish_rows(Imported& imported, const std::string& where);

/// Writes the rows as a trace file (docs/suites.md). `title` becomes a comment. Rows must be finished.
void write_trace(const TraceRows& rows, const std::string& title, std::ostream& out);

}  // namespace hopbench
