// Runs one trial: builds workload, runtime and nodes from its spec, and turns what the ranks leave behind into a
// record.
//
//   execute_trial (launcher)  --launch-->  rank_main (child)  --> real processes: one rank over a Wire (rank.cpp)
//                                                             --> virtual time: simulate_trial, all ranks
//                                                             (simulate.cpp)
//                                                             --> calibration: one rank stepping (calibrate.cpp)
#pragma once

#include <atomic>
#include <functional>
#include <string>

#include "backends/base/record/trial_record.h"
#include "backends/fleet/errand.h"
#include "backends/runtime/process/board.h"
#include "suites/trial/dump.h"
#include "suites/trial/plan.h"
#include "suites/trial/trial.h"

namespace hopbench {

class Fleet;
class Observer;

struct ExecuteOptions {
  const std::atomic<int>* interrupts = nullptr;  // rises with every ^C
  std::function<void(const Board&, const TrialSpec&)> progress;
  std::string event_log;   // file for the JSON lines; empty: none
  Fleet* fleet = nullptr;  // the machines that ranks run on; nullptr: this one
  Dump dump = {};
  LocalPlace at_once = {};  // place among the trials under way; in virtual time each takes another GPU
};

/// Runs the trial in a child process of its own (virtual time) or in one child per rank (real processes), supervised.
/// Never throws for what happens inside the trial: the record says that it failed, and why.
TrialRecord execute_trial(const TrialSpec& spec, const ExecuteOptions& options);

/// Returns the errand that runs a trial in virtual time through an agent. The agent writes nothing: the event log comes
/// with the result if options.event_log names a file.
Errand errand_of(const TrialSpec& spec, const ExecuteOptions& options);
/// Returns the record of such an errand's result, as execute_trial() does, and writes the event log. `machine`: the
/// name of the machine that the agent is on.
TrialRecord record_of_errand(const TrialSpec& spec, const LaunchResult& launched, const ExecuteOptions& options,
                             const std::string& machine);

/// Runs the same virtual-time trial in this process (tests, `bench sim`). `board` shows progress; may be null. Throws.
TrialRecord simulate_trial(const TrialSpec& spec, Observer* observer = nullptr, Board* board = nullptr,
                           const Dump& dump = {});

/// Costs of a step, a vector operation and a message while all ranks of the trial work.
struct Calibration {
  Duration step_median{}, step_p99{};
  Duration cost{};                // 1.25 x p99, rounded up to 5 ms: what `pace = "auto"` becomes
  double vector_bytes_per_s = 0;  // of mean and step
  Duration latency{};             // of a message to one rank while every rank sends, without its overhead
  Duration overhead{};            // of a message at each end, on one of the processors that all ranks share
  double overhead_rate = 0;       // bytes/s that such a processor handles besides; 0: bytes cost nothing
  int processors = 1;             // of this machine
};
/// Measures in real processes, with all workers of the spec. Throws Error naming the rank if one fails.
Calibration calibrate(const TrialSpec& spec, const std::atomic<int>* interrupts, Fleet* fleet = nullptr);

}  // namespace hopbench
