// Flags of `run` that apply to trials without being part of them.
#pragma once

#include <vector>

#include "cli/commands/run.h"
#include "suites/trial/trial.h"

namespace hopbench {

/// Keeps the trials that --filter and --exclude leave, and sets limits and schedules.
void adjust(const RunOptions& options, std::vector<TrialSpec>& trials);

}  // namespace hopbench
