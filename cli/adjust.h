// What the command line of `run` says about trials without being part of them.
#pragma once

#include <vector>

#include "cli/run.h"
#include "suites/trial.h"

namespace hopbench {

/// Keeps those that --filter and --exclude leave, and sets limits and schedules.
void adjust(const RunOptions& options, std::vector<TrialSpec>& trials);

}  // namespace hopbench
