// Flags of `run` that apply to trials without being part of them.
#pragma once

#include <string>
#include <vector>

#include "suites/campaign/options.h"
#include "suites/trial/trial.h"

namespace hopbench {

/// Keeps the trials whose id the regular expression finds; all if it is empty.
void keep_matching(const std::string& filter, std::vector<TrialSpec>& trials);

/// Keeps the trials that --filter and --exclude leave, and sets limits and schedules.
void adjust(const CampaignOptions& options, std::vector<TrialSpec>& trials);

}  // namespace hopbench
