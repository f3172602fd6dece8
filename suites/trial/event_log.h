// Collects the events of a trial and writes them to its event log.
#pragma once

#include <string>
#include <vector>

#include "backends/base/record/event.h"
#include "backends/base/record/trial_record.h"
#include "suites/trial/trial.h"

namespace hopbench {

/// A line of the event log.
struct EventLine {
  Time time{};
  std::string text;  // one JSON line, line break included
};

/// Collects what the event log shows: iterations, gradients, averages, losses, waits, departures; with kAll every
/// event.
class EventLog : public Observer {
 public:
  explicit EventLog(EventDetail detail) : detail_(detail) {}
  void on(const Event& event) override;
  std::vector<EventLine>& lines() { return lines_; }

 private:
  EventDetail detail_;
  std::vector<EventLine> lines_;
};

/// Writes an event log, sorted by time (equal times: in the order given). Error(kEnvironment) if it cannot be written.
void write_event_log(const std::string& path, const std::string& trial_id, std::vector<EventLine> lines);

/// Returns the text of such a log, and writes one. For a trial that another machine computes.
std::string event_log_text(const std::string& trial_id, std::vector<EventLine> lines);
void write_event_log_text(const std::string& path, const std::string& text);

}  // namespace hopbench
