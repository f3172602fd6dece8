// Runs one trial: builds workload, runtime and nodes from its spec, and turns what the ranks leave behind into a
// record.
#pragma once

#include <atomic>
#include <functional>
#include <string>

#include "backends/runtime/board.h"
#include "results/record.h"
#include "suites/trial.h"

namespace hopbench {

struct ExecuteOptions {
  const std::atomic<int>* interrupts = nullptr;
  std::function<void(const Board&, const TrialSpec&)> progress;
  std::string event_log;  // file for the JSON lines; empty: none
};

/// In a child process of its own (virtual time) or in one child a rank (real processes), supervised. Never throws for
/// what happens inside the trial: the record says it failed, and why.
TrialRecord execute_trial(const TrialSpec& spec, const ExecuteOptions& options);

/// The same virtual-time trial in this process: tests, `bench sim`. Throws.
TrialRecord simulate_trial(const TrialSpec& spec, Observer* observer = nullptr);

/// The body of a child process that execute_trial started (the hidden command `rank`); returns its exit code.
int rank_main();

/// p99 of a step with all ranks of the spec stepping together, and vector bytes/s under that load: what `calibrate`
/// measures.
struct Calibration {
  Duration step_median{}, step_p99{};
  Duration cost{};  // 1.25 x p99, rounded up to 5 ms
  double vector_bytes_per_s = 0;
  Duration latency{};    // of a small message between two ranks of the transport, one way, median
  double bandwidth = 0;  // bytes/s of a large one
};
Calibration calibrate(const TrialSpec& spec, const std::atomic<int>* interrupts);

}  // namespace hopbench
