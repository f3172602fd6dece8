#include "suites/campaign/virtual_trials.h"

#include <unistd.h>

#include <algorithm>

#include "backends/base/process/cores.h"
#include "backends/base/process/signals.h"
#include "backends/base/process/tell.h"
#include "suites/campaign/at_once.h"
#include "suites/campaign/labels.h"
#include "suites/campaign/progress.h"
#include "suites/trial/execute.h"

namespace hopbench {

std::vector<TrialRow> run_virtual(const std::vector<TrialSpec>& trials, int jobs) {
  const int cores = usable_cores();
  const int at_a_time = std::max(1, std::min<int>(jobs > 0 ? jobs : cores, int(trials.size())));
  Progress progress(trials.size(), isatty(STDERR_FILENO) != 0 && !under_ci());
  std::vector<TrialRow> rows(trials.size());
  const auto over = [] { return count_interrupts().load() > 0; };
  at_once(
      trials.size(), at_a_time,
      [&](std::size_t i, int) {
        TrialSpec spec = trials[i];
        spec.sim_threads = 1;
        progress.begin(trials[i]);
        ExecuteOptions with;
        with.interrupts = &count_interrupts();
        with.progress = [&](const Board& board, const TrialSpec&) { progress.tick(board, trials[i]); };
        rows[i] = {labels_of(spec), execute_trial(spec, with)};
        progress.end(trials[i], rows[i].record);
      },
      [](std::size_t) {}, over);
  if (over()) throw Error(ExitCode::kInterrupted, "interrupted");
  return rows;
}

}  // namespace hopbench
