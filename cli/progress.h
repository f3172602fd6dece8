// What a run says while it runs, on stderr: one line that is rewritten on a terminal, one plain line a trial elsewhere.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include "backends/runtime/board.h"
#include "results/record.h"
#include "suites/trial.h"

namespace hopbench {

class Progress {
 public:
  /// `trials`: how many will run. `live`: stderr is a terminal and this is not CI.
  Progress(std::size_t trials, bool live);

  void begin(const TrialSpec& spec);
  void tick(const Board& board, const TrialSpec& spec);
  void end(const TrialSpec& spec, const TrialRecord& record);
  /// The trial that ended last is to run again.
  void again();
  /// Other lines go through here, so that they don't mix with the live one.
  void say(const std::string& line);

 private:
  void wipe();
  std::string time_left() const;

  std::size_t trials_, done_ = 0;
  bool live_, shown_ = false;
  std::chrono::steady_clock::time_point start_, drawn_;
};

}  // namespace hopbench
