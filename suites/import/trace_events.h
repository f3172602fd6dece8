// Trace events in Chrome's JSON format, which the PyTorch profiler, Perfetto and chrome://tracing write and read. They
// are read one after the other; the document is never in memory.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "suites/import/imported.h"

namespace hopbench {

/// An event with a begin and a duration (phase X).
struct TraceEvent {
  std::string name, category;
  std::optional<std::int64_t> pid;          // absent if it is a text other than an integer
  std::uint64_t thread = 0;                 // a hash of pid and tid
  double begin = 0, end = 0;                // microseconds
  std::optional<std::int64_t> step;         // args.step
  std::optional<std::int64_t> correlation;  // args.correlation: a kernel has that of the call that launched it
};

/// Facts of a document beside its events.
struct TraceHead {
  std::optional<std::int64_t> rank;  // distributedInfo.rank
  std::int64_t base_ns = 0;          // baseTimeNanoseconds, to which the events' times are to be added
  std::size_t events = 0;            // of phase X
  std::size_t open = 0;              // events of phases B and E, which are left out
  std::size_t damaged = 0;           // events of phase X without usable ts and dur, which are left out
  bool cut = false;                  // the document ends after an event, without its last brackets
};

/// Reads a document: an array of events, or an object with the array `traceEvents`; plain or gzip. Calls `on_event` for
/// each event of phase X, whose texts are valid during the call. Values that are not needed may be anything; ts and dur
/// must be numbers of at most 3000 years and 28 hours. Error(kUsage) with the file and the byte if the structure is not
/// that of JSON. Memory: the longest text in it, at most 16 MiB.
TraceHead read_trace_events(const std::string& path, const std::function<void(const TraceEvent&)>& on_event);

/// Error(kUsage) if it is a pipe: the readers of events read a file twice.
void require_file_to_reread(const std::string& path);
/// Reports what is wrong with a document.
void report_head(const TraceHead& head, const std::string& path, Remarks& remarks);

}  // namespace hopbench
