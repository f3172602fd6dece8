// The command that continues a run that ended early. It is printed wherever a run ends early.
#pragma once

#include <functional>
#include <string>

#include "results/files/run_folder.h"
#include "suites/campaign/options.h"

namespace hopbench {

/// Returns words and the command that continues the run in `folder`: "go on with: hopbench run --resume out". The words
/// are `alone`, or, if a launcher started several processes, how to start those again.
std::string how_to_resume(const std::string& alone, const std::string& folder, const CampaignOptions& options,
                          bool retry_failed);

/// Reports the number of failed trials by remedy: nothing helps, since their scenario asks for it; a change of the
/// suite, since virtual time comes out the same each time; or to run them again.
void tell_failures(const RunFolder& folder, const CampaignOptions& options);

/// Calls `body`. If it lacks something (disk, memory, open files, another process) or is interrupted, and if there is a
/// run in `folder` (empty: none yet), prints the command that continues it. Throws what `body` throws.
void telling_how_to_go_on(const std::string& folder, const CampaignOptions& options, const std::function<void()>& body);

}  // namespace hopbench
