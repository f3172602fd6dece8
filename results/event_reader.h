// Event logs read back.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "results/record.h"
#include "results/run_folder.h"

namespace hopbench {

/// Lines of a log, plain or gzip, as they are.
class EventLines {
 public:
  explicit EventLines(const std::string& path);
  ~EventLines();
  bool there() const;  // the file could be opened
  /// Error(kUsage) naming the file where its gzip data are damaged or end early.
  std::optional<std::string> next();

 private:
  struct File;
  std::unique_ptr<File> file_;
};

/// An event with text of its own, since no static string has it any more.
struct LoggedEvent {
  Event event;  // event.text is empty
  std::string text;
};

/// The events of a trial's log in their order, its head left out. Error(kUsage) naming file and line if one is damaged
/// or impossible (a time before the start, a rank that the trial does not have), or the log is of another trial.
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

/// Tells a whole log from one that was cut between two lines: a whole one has the end of every rank that finished.
class LogEnds {
 public:
  explicit LogEnds(const TrialRecord& record);
  void on(const Event& event) {
    if (event.what == EventKind::kFinished) open_.erase(event.rank);
  }
  /// "the log ends early: the end of rank 0, 3 is not in it"; "" if none is missing among the events so far.
  std::string flaw() const;

 private:
  std::set<int> open_;
};

/// Error(kUsage) if the log has no head, or the head of another trial's log. A log that is not there has no flaw.
void check_log_head(const std::string& path, const std::string& trial_id);

/// Error(kUsage) if the event log of a trial is missing, is damaged, is of another trial or ends early. A trial of
/// virtual time that was run without events has no log; neither is its critical path recorded.
void check_event_log(const RunFolder& folder, const TrialRow& row);

/// Where a run keeps the log of a trial: compressed, in a baseline. The file need not be there.
std::string find_event_log(const RunFolder& folder, const std::string& trial_id);

}  // namespace hopbench
