// What must be there before the first trial starts, so that nothing is written when it is not.
#pragma once

#include <string>
#include <vector>

#include "suites/trial.h"

namespace hopbench {

/// Error(kEnvironment) for a backend, transport or network interface that is missing, Error(kUsage) for a data set that
/// cannot be read.
void check_available(const std::vector<TrialSpec>& trials);

/// Checks `run --dump`. Error(kUsage) if a trial cannot be dumped, or if all dumps exceed 1 GiB and not `forced`.
void check_dump(const std::vector<std::string>& what, const std::vector<TrialSpec>& trials, bool forced);

/// A run that was started with --dump goes on with it: its archives are of all trials or of none. Error(kUsage).
void check_dump_goes_on(const std::string& folder, const std::vector<std::string>& what);

/// Error(kEnvironment) if that compute backend cannot be used here.
void check_backend(const std::string& name);

/// Error(kEnvironment) if threads would have stacks too small for what runs on them: a fault there has no words.
void check_stack();

/// Error(kEnvironment) if it is not there or down. Empty: the loopback interface.
void check_interface(const std::string& asked);

}  // namespace hopbench
