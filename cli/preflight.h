// What must be there before the first trial starts, so that nothing is written when it is not.
#pragma once

#include <string>
#include <vector>

#include "suites/trial.h"

namespace hopbench {

class RunFolder;

/// Error(kEnvironment) for a backend, transport or network interface that is missing, Error(kUsage) for a data set that
/// cannot be read.
void check_available(const std::vector<TrialSpec>& trials);

/// Error(kUsage) if `run --dump` cannot dump a trial, or if all dumps exceed 1 GiB and that is not `agreed` to: by
/// --force, or when the run was started.
void check_dump(const std::vector<std::string>& what, const std::vector<TrialSpec>& trials, bool agreed);

/// Writes down in a run's folder what `run --dump` keeps. Error(kEnvironment) if it cannot.
void begin_dump(const RunFolder& folder, const std::vector<std::string>& what);

/// Error(kUsage) if a run that has dumps would go on without any, or with other ones.
void check_dump_goes_on(const std::string& folder, const std::vector<std::string>& what);

/// Error(kEnvironment) if that compute backend cannot be used here.
void check_backend(const std::string& name);

/// Error(kEnvironment) if threads would have stacks too small for what runs on them: a fault there has no words.
void check_stack();

/// Error(kEnvironment) if it is not there or down. Empty: the loopback interface.
void check_interface(const std::string& asked);

}  // namespace hopbench
