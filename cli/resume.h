// How a run that ended early is gone on with: the command for it, told wherever one ends.
#pragma once

#include <functional>
#include <string>

#include "cli/run.h"
#include "results/run_folder.h"

namespace hopbench {

/// The first words and the command that goes on with the run in `folder`: "go on with: hopbench run --resume out".
/// `alone` is what comes first; where a launcher started several processes, it is how those are started again.
std::string how_to_resume(const std::string& alone, const std::string& folder, const RunOptions& options,
                          bool retry_failed);

/// Says how many trials failed, by what helps: nothing, since their scenario asks for it; a change of the suite, since
/// virtual time comes out the same each time; or to run them again.
void tell_failures(const RunFolder& folder, const RunOptions& options);

/// Calls `body`. What it lacks (disk, memory, open files, another process) ends with the command to go on by, and so
/// does an interruption, if there is a run in `folder`; empty: none yet. Throws what `body` throws.
void telling_how_to_go_on(const std::string& folder, const RunOptions& options, const std::function<void()>& body);

}  // namespace hopbench
