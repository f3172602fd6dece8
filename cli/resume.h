// How a run that ended early is gone on with: the command for it, told wherever one ends.
#pragma once

#include <functional>
#include <string>

#include "cli/run.h"

namespace hopbench {

/// `hopbench run --resume` for the same trials, as hopbench was called.
std::string resume_command(const std::string& folder, const RunOptions& options);

/// Calls `body`. What it lacks (disk, memory, open files, another process) ends with the command to go on by, and so
/// does an interruption, if there is a run in `folder`; empty: none yet. Throws what `body` throws.
void telling_how_to_go_on(const std::string& folder, const RunOptions& options, const std::function<void()>& body);

}  // namespace hopbench
