// The progress of a run on stderr: one line that is rewritten on a terminal, one plain line per trial elsewhere. Trials
// of virtual time may run at once, each on a thread of its own, so all of this may be called from any of them.
#pragma once

#include <chrono>
#include <cstddef>
#include <mutex>
#include <string>
#include <vector>

#include "backends/base/record/trial_record.h"
#include "backends/runtime/process/board.h"
#include "suites/trial/trial.h"

namespace hopbench {

class Progress {
 public:
  /// `trials`: the number of trials that will run. `live`: stderr is a terminal and this is not CI.
  Progress(std::size_t trials, bool live);

  void begin(const TrialSpec& spec);
  void tick(const Board& board, const TrialSpec& spec);
  void end(const TrialSpec& spec, const TrialRecord& record);
  /// Notes that a trial is not under way any more: another process will begin it anew.
  void lost(const TrialSpec& spec);
  /// Notes that the trial that ended last will run again.
  void again();

 private:
  void wipe();
  void say(const std::string& line);
  void draw(const std::string& more);
  std::string time_left() const;

  std::mutex mutex_;
  struct Running {
    const TrialSpec* spec;
    std::chrono::steady_clock::time_point begun;
  };
  std::vector<Running> running_;  // oldest first: the live line is about the first
  std::size_t trials_, done_ = 0;
  bool live_, shown_ = false;
  std::chrono::steady_clock::time_point start_, drawn_;
};

}  // namespace hopbench
