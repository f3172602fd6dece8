// Notes on what the replay of a recording leaves out, for answers that rest on it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backends/runtime/trace.h"
#include "suites/trial/trial.h"

namespace hopbench {

/// Returns the correlation between a rank's log seconds and those `lag` steps later, over the steps that follow each
/// other without a gap: that of all ranks, or that of the rank that varies most, if it is larger. What a step has in
/// common for all ranks counts, too; the means of the ranks do not. 0 if there are fewer than ten such pairs of steps.
/// `trace`: of steps.
double correlation_after(const Trace& trace, std::int64_t lag);

/// Returns a line for each thing that trials of `iterations` iterations miss of the recordings that the scenario
/// replays: ranks, steps, slow phases that outlast blocks, and chance where few blocks are possible.
std::vector<std::string> missed_of_recordings(const TrialSpec& spec, double iterations);

}  // namespace hopbench
