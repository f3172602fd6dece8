// Trials as one trace in Chrome's format, which Perfetto (ui.perfetto.dev) and chrome://tracing open: a process a
// trial, a thread a rank.
//
// Slices: gradients, with what a slowdown added, and waits by their reason. Arrows: messages, if the log has them (run
// --events all). Instants: averages, lost gradients, departures. Counters of a rank: gap, staleness, messages in the
// mailbox (--events all), samples of a gradient.
#pragma once

#include <functional>
#include <string>

#include "results/files/run_folder.h"

namespace hopbench {

class TraceWriter {
 public:
  /// `put` takes the text piece by piece; the whole is one JSON document.
  explicit TraceWriter(std::function<void(const std::string&)> put);

  /// Adds a trial and returns LogEnds::flaw() of its event log. Error(kUsage) if the log is missing or damaged.
  std::string add(const RunFolder& run, const TrialRow& row);
  /// Ends the document. Must be called once, last.
  void finish();

 private:
  class Trial;
  void event(const std::string& fields);

  std::function<void(const std::string&)> put_;
  int trials_ = 0;
  bool first_ = true;
  std::int64_t flows_ = 0;
};

}  // namespace hopbench
