// A recording of how long the gradients of real workers took, by how much they were slowed, or what a link was like,
// which a scenario replays. docs/suites.md describes the files and the ways of mapping a recording onto a trial.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backends/base/random.h"
#include "backends/base/time.h"

namespace hopbench {

/// The content of a trace file: CSV with a header, of one of three kinds. Lines that begin with # are comments.
///
///   rank,step,seconds    how long the gradient of a rank took in a step
///   rank,time,factor     by how much a rank is slowed from a time (seconds) on, until its next row
///   time and columns     what a link is like from a time (seconds) on, until the next row: bandwidth (bytes/s), or
///                        factor, by which its bandwidth is divided, and latency (seconds); not all are needed
class Trace {
 public:
  enum class Kind { kSteps, kTimes, kLink };
  enum class Column { kBandwidth, kFactor, kLatency };  // kLink

  /// Reads a file. Error(kUsage), "FILE:LINE: ...", if it is not such a file.
  static std::shared_ptr<const Trace> read(const std::string& path);

  Kind kind() const { return kind_; }
  int ranks() const { return ranks_; }
  /// Returns 16 hex digits, a hash of the lines of the file but for comments, empty lines and the kind of line ends.
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

  // --- kTimes, kLink
  /// Returns the time of the last row of any rank: the end of the recording.
  Duration length() const { return length_; }
  /// kTimes: returns the factor of a rank at `since_begin`; 1 before its first row. After the last row that row holds.
  double factor(int rank, Duration since_begin) const;
  /// kLink: returns true if the file has that column.
  bool has(Column column) const { return kind_ == Kind::kLink && !series_[std::size_t(column)].empty(); }
  /// kLink: returns the value of a column at `since_begin`; nothing before the first row or without such a column.
  std::optional<double> value(Column column, Duration since_begin) const;
  /// kLink: returns the time of the first row after `since_begin`; kLongestDuration if there is none.
  Duration next_row(Duration since_begin) const;

 private:
  struct Rows;
  using Series = std::vector<std::pair<Duration, double>>;  // by time
  Trace() = default;
  static Rows rows_of(const std::string& path, Kind& kind, std::string& digest);
  static void sort(Rows& rows, Kind kind, const std::string& path);
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
  std::vector<Series> series_;  // kTimes: factors of each rank;  kLink: of each column
};

/// How a trace is mapped onto the workers and iterations of a trial.
enum class TraceMap {
  kFixed,           // worker r replays rank r, iteration k step k
  kResampleRanks,   // each worker replays a rank that is drawn for it, in blocks that are drawn for it
  kBlockBootstrap,  // worker r replays rank r, in blocks of steps that are drawn for all workers together
};
/// The steps that follow the last one of a fixed map.
enum class TraceEnd { kWrap, kHold, kError };

/// A trace with its map. What it returns depends on the arguments alone, and is the same on every machine.
struct TraceReplay {
  std::shared_ptr<const Trace> trace;
  TraceMap map = TraceMap::kFixed;
  TraceEnd end = TraceEnd::kWrap;
  std::int64_t block = 1;              // kSteps: steps in a block
  Duration slot{};                     // kTimes, kLink: length of a block
  std::vector<std::int64_t> starts{};  // kSteps: the places where a block can begin

  /// Finds `starts`. Must be called once all other members are set.
  void prepare();

  /// Returns the seconds of worker `key.rank` in iteration k. `key` is that of the rule's draws, with the worker's
  /// number; `skipped` draws at the start of each stream belong to other rules.
  double seconds(RandomKey key, std::size_t skipped, std::int64_t k) const;
  /// Returns the factor of worker `key.rank` at `now`. Error(kUsage) after the end of a fixed map with kError.
  double factor(RandomKey key, std::size_t skipped, Time now) const;

  /// A place in the recording, and the time until which the replay goes on from there without a jump.
  struct Place {
    Duration at{};
    Time until = kNever;
  };
  /// kTimes, kLink: returns the place of `now`. Error(kUsage) after the end of a fixed map with kError.
  Place place(const RandomKey& key, std::size_t skipped, Time now) const;
};

}  // namespace hopbench
