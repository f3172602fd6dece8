// Event logs read back.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "backends/base/record/event.h"
#include "backends/base/record/trial_record.h"
#include "results/files/run_folder.h"

namespace hopbench {

/// Lines of a log, plain or gzip, as they are.
class EventLines {
 public:
  explicit EventLines(const std::string& path);
  ~EventLines();
  bool there() const;  // the file could be opened
  /// Returns the next line, or nothing at the end. Error(kUsage) names the file if its gzip data are damaged or cut.
  std::optional<std::string> next();

 private:
  struct File;
  std::unique_ptr<File> file_;
};

/// An event that owns its text, since no static string has it any more.
struct LoggedEvent {
  Event event;  // event.text is empty
  std::string text;
};

/// The events of a trial's log in their order, without its head. Error(kUsage) naming file and line if one is damaged
/// or impossible (a time before the start, a rank that the trial does not have), or if the log is of another trial.
class EventReader {
 public:
  EventReader(const std::string& path, const TrialRow& row);
  std::optional<LoggedEvent> next();

 private:
  std::string path_, trial_;
  std::int64_t ranks_;  // 0: not known
  EventLines lines_;
  int line_ = 0;
};

/// A test for logs that were cut between two lines. A whole log has the end of every rank that finished.
class LogEnds {
 public:
  explicit LogEnds(const TrialRecord& record);
  void on(const Event& event) {
    if (event.what == EventKind::kFinished) open_.erase(event.rank);
  }
  /// Returns "the log ends early: the end of rank 0, 3 is not in it", or "" if the events so far lack no end.
  std::string flaw() const;

 private:
  std::set<int> open_;
};

/// Checks a log's head, if the log exists. Error(kUsage) if it has no head, or the head of another trial's log.
void check_log_head(const std::string& path, const std::string& trial_id);

/// Checks the event log of a trial. Error(kUsage) if it is missing, is damaged, is of another trial or ends early. A
/// trial of virtual time that was run without events has no log; its critical path is not recorded either.
void check_event_log(const RunFolder& folder, const TrialRow& row);

/// Returns the path of a trial's log, which is compressed in a baseline. The file need not exist.
std::string find_event_log(const RunFolder& folder, const std::string& trial_id);

}  // namespace hopbench
