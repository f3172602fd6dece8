// Trace events in Chrome's JSON format, which the PyTorch profiler, Perfetto and chrome://tracing write and read. They
// are read one after the other; the document is never in memory.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "suites/import/imported.h"

namespace hopbench {

/// An event with a begin and a duration (phase X).
struct TraceEvent {
  std::string name, category;
  std::optional<std::int64_t> pid;          // absent if it is a text other than an integer
  std::uint64_t thread = 0;                 // a hash of pid and tid
  double begin = 0, end = 0;                // microseconds; NaN if they are not usable
  std::optional<std::int64_t> step;         // args.step
  std::optional<std::int64_t> correlation;  // args.correlation: a kernel has that of the call that launched it

  bool is_damaged() const { return std::isnan(end); }
};

/// Facts of a document beside its events.
struct TraceHead {
  std::optional<std::int64_t> rank;  // distributedInfo.rank
  std::int64_t base_ns = 0;          // baseTimeNanoseconds, to which the events' times are to be added
  std::size_t events = 0;            // of phase X
  std::size_t open = 0;              // events of phases B and E, which are left out
  std::size_t damaged = 0;           // events of phase X without usable ts and dur
  bool cut = false;                  // the document ends after an event, without its last brackets
};

/// Reads a document: an array of events, or an object with the array `traceEvents`; plain or gzip. Calls `on_event` for
/// each event of phase X, whose texts are valid during the call. Values that are not needed may be anything; ts and dur
/// are not usable if they are not numbers of at most 3000 years and 28 hours. Error(kUsage) with the file and the byte
/// if the structure is not that of JSON, and if the file is a pipe, since all readers read it twice. Memory: the
/// longest text in it, at most 16 MiB.
TraceHead read_trace_events(const std::string& path, const std::function<void(const TraceEvent&)>& on_event);

/// Reports what is wrong with a document.
void report_head(const TraceHead& head, const std::string& path, Remarks& remarks);

/// Where the events of a recording lie, apart from the first and the last of them, either of which may be damaged.
class Extent {
 public:
  void note(double begin, double end) {
    first_ = {std::min(first_[0], begin), std::min(first_[1], std::max(first_[0], begin))};
    last_ = {std::max(last_[0], end), std::max(last_[1], std::min(last_[0], end))};
  }
  /// Returns true for NaN, and for a time that is apart from all other events by a quarter of the time that they take.
  bool is_far(double time) const {
    const double gap = (last_[1] - first_[1]) / 4;
    return std::isnan(time) || (gap > 0 && (time > last_[1] + gap || time < first_[1] - gap));
  }

 private:
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();
  std::array<double, 2> first_{kInfinity, kInfinity}, last_{-kInfinity, -kInfinity};
};

/// Clocks of a processor and a GPU, and of the threads of a processor, agree up to some microseconds.
inline constexpr double kClockError = 50;

/// The time of an event of a thread or stream, and a number that rises with it.
struct Ordered {
  std::uint64_t thread = 0;
  std::int64_t number = 0;
  double time = 0;
  bool operator<(const Ordered& other) const {
    return std::tie(thread, number, time) < std::tie(other.thread, other.number, other.time);
  }
};

/// Takes out and returns the events that are wrong by themselves, and as few others as possible, so that the times of
/// each thread rise with the numbers, or fall by at most kClockError. If a rule would take more than two and more than
/// a tenth, it does not hold for the recording (clocks may differ), and takes none. Sorts both. No time may be NaN.
std::vector<Ordered> take_misplaced(std::vector<Ordered>& events, const std::function<bool(const Ordered&)>& is_wrong);

/// The last begin of each thread and of all of a profile, which a first reading notes with what tells the step (`id`).
class LastBegins {
 public:
  using Last = std::pair<double, std::int64_t>;  // begin, id
  void note(std::uint64_t thread, const Last& begin) {
    Last& last = last_.try_emplace(thread, begin).first->second;
    last = std::max(last, begin);
  }
  /// Returns true for an event of `step` that lasts beyond the last begin of its thread although that is of a later
  /// step: it has never ended, as in the files of a profiler that was stopped too early.
  template <class StepOf>
  bool never_ended(std::uint64_t thread, const TraceEvent& event, std::int64_t step, const StepOf& step_of) const {
    const auto at = last_.find(thread);
    return at != last_.end() && event.begin < at->second.first && event.end > at->second.first &&
           step < step_of(at->second);
  }
  std::size_t threads() const { return last_.size(); }

 private:
  std::unordered_map<std::uint64_t, Last> last_;
};

}  // namespace hopbench
