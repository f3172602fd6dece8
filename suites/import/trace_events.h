// Trace events in Chrome's JSON format, which the PyTorch profiler, Perfetto and chrome://tracing write and read. They
// are read one after the other; the document is never in memory.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace hopbench {

/// An event with a begin and a duration (phase X).
struct TraceEvent {
  std::string name, category;
  std::optional<std::int64_t> pid;   // absent if it is a text other than an integer
  std::uint64_t thread = 0;          // a hash of pid and tid
  double begin = 0, end = 0;         // microseconds
  std::optional<std::int64_t> step;  // args.step
};

/// Facts of a document beside its events.
struct TraceHead {
  std::optional<std::int64_t> rank;  // distributedInfo.rank
  std::int64_t base_ns = 0;          // baseTimeNanoseconds, to which the events' times are to be added
  std::size_t events = 0;            // of phase X
  std::size_t open = 0;              // events of phases B and E, which are left out
  std::size_t damaged = 0;           // events of phase X without usable ts and dur, which are left out
};

/// Reads a document: an array of events, or an object with the array `traceEvents`; plain or gzip. Calls `on_event` for
/// each event of phase X, whose texts are valid during the call. Error(kUsage) with the file and the byte if it is not
/// valid JSON. Memory: the longest text in it, at most 16 MiB.
TraceHead read_trace_events(const std::string& path, const std::function<void(const TraceEvent&)>& on_event);

}  // namespace hopbench
