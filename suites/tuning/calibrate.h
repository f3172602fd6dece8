// The rank's side of a calibration (see Calibration in execute.h).
#pragma once

#include <string>

#include "backends/runtime/process/launch.h"
#include "suites/trial/child_task.h"

namespace hopbench {

/// Launches ranks and returns their results. Throws Error "WHAT failed: why" if one fails.
LaunchResult launch_or_throw(const LaunchOptions& options, const char* what);

/// Measures this rank's part while all others measure theirs; returns it as JSON text for the launcher.
std::string calibrate_rank(ChildChannel& channel, const ChildTask& job);

}  // namespace hopbench
