// Checks what must be there before the first trial starts, so that nothing is written if it is missing.
#pragma once

#include <string>
#include <vector>

#include "suites/trial/trial.h"

namespace hopbench {

class RunFolder;

/// Throws Error(kEnvironment) if a backend, transport or network interface is missing, and Error(kUsage) if a data set
/// cannot be read.
void check_available(const std::vector<TrialSpec>& trials);

/// Throws Error(kUsage) if `run --dump` cannot dump a trial, or if all dumps exceed 1 GiB without being `agreed` to (by
/// --force, or when the run was started).
void check_dump(const std::vector<std::string>& what, const std::vector<TrialSpec>& trials, bool agreed);

/// Writes down in a run's folder what `run --dump` keeps. Throws Error(kEnvironment) if it cannot.
void begin_dump(const RunFolder& folder, const std::vector<std::string>& what);

/// Throws Error(kUsage) if a run that has dumps would go on without dumps or with others.
void check_dump_goes_on(const std::string& folder, const std::vector<std::string>& what);

/// Throws Error(kEnvironment) if that compute backend cannot be used here.
void check_backend(const std::string& name);

/// Throws Error(kEnvironment) if stacks of threads are too small for what runs on them: that fault prints no message.
void check_stack();

/// Throws Error(kEnvironment) if the interface does not exist or is down. Empty: the loopback interface.
void check_interface(const std::string& asked);

}  // namespace hopbench
