// A recording of how long the gradients of real workers took, or by how much they were slowed, which a scenario
// replays. docs/suites.md describes the files and the ways of mapping a recording onto a trial.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backends/base/random.h"
#include "backends/base/time.h"

namespace hopbench {

/// The content of a trace file: CSV with a header, of one of two kinds. Lines that begin with # are comments.
///
///   rank,step,seconds    how long the gradient of a rank took in a step
///   rank,time,factor     by how much a rank is slowed from a time (seconds) on, until its next row
class Trace {
 public:
  enum class Kind { kSteps, kTimes };

  /// Reads a file. Error(kUsage), "FILE:LINE: ...", if it is not such a file.
  static std::shared_ptr<const Trace> read(const std::string& path);

  Kind kind() const { return kind_; }
  int ranks() const { return ranks_; }
  /// Returns 16 hex digits, a hash of the lines of the file.
  const std::string& digest() const { return digest_; }
  /// Returns the mean of all seconds, or the least value of the file.
  double mean() const { return mean_; }
  double least() const { return least_; }

  // --- kSteps. Only steps that every rank has are kept, so a step that some rank lacks is a gap.
  std::int64_t steps() const { return static_cast<std::int64_t>(numbers_.size()); }
  /// Returns how many steps were left out because some rank lacks them.
  std::int64_t incomplete() const { return incomplete_; }
  double seconds(int rank, std::int64_t at) const { return values_[std::size_t(rank * steps() + at)]; }
  /// Returns the places from which `block` steps follow each other without a gap.
  std::vector<std::int64_t> starts(std::int64_t block) const;
  /// Returns the largest number of steps without a gap.
  std::int64_t longest_run() const;

  // --- kTimes
  /// Returns the time of the last row of any rank: the end of the recording.
  Duration length() const { return length_; }
  /// Returns the factor of a rank at `since_begin`; 1 before its first row. After the last row that row holds.
  double factor(int rank, Duration since_begin) const;

 private:
  struct Rows;
  Trace() = default;
  void keep_steps(Rows& rows, const std::string& path);
  void keep_times(Rows& rows, const std::string& path);

  Kind kind_ = Kind::kSteps;
  int ranks_ = 0;
  std::string digest_;
  double mean_ = 0, least_ = 0;
  std::vector<std::int64_t> numbers_;  // of the kept steps, ascending
  std::vector<double> values_;         // kSteps: seconds, rank by rank
  std::int64_t incomplete_ = 0;
  Duration length_{};
  std::vector<std::vector<std::pair<Duration, double>>> factors_;  // kTimes: of each rank, by time
};

/// How a trace is mapped onto the workers and iterations of a trial.
enum class TraceMap {
  kFixed,           // worker r replays rank r, iteration k step k
  kResampleRanks,   // each worker replays a rank that is drawn for it, in blocks that are drawn for it
  kBlockBootstrap,  // worker r replays rank r, in blocks of steps that are drawn for all workers together
};
/// The steps that follow the last one of a fixed map.
enum class TraceEnd { kWrap, kHold, kError };

/// A trace with its map. `at` are pure functions: equal arguments give equal values on every machine.
struct TraceReplay {
  std::shared_ptr<const Trace> trace;
  TraceMap map = TraceMap::kFixed;
  TraceEnd end = TraceEnd::kWrap;
  std::int64_t block = 1;              // kSteps: steps in a block
  Duration slot{};                     // kTimes: length of a block
  std::vector<std::int64_t> starts{};  // kSteps: the places where a block can begin

  /// Finds `starts`. Must be called once all other members are set.
  void prepare();

  /// Returns the seconds of worker `key.rank` in iteration k. `key` is that of the rule's draws, with the worker's
  /// number; `skipped` draws at the start of each stream belong to other rules.
  double seconds(RandomKey key, std::size_t skipped, std::int64_t k) const;
  /// Returns the factor of worker `key.rank` at `now`. Error(kUsage) after the end of a fixed map with kError.
  double factor(RandomKey key, std::size_t skipped, Time now) const;
};

}  // namespace hopbench
