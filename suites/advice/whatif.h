// The answer of `hopbench whatif`: how much each worker slows a job, and the job without a worker or with other links.
#pragma once

#include <string>
#include <vector>

#include "results/tables/table.h"
#include "suites/advice/cluster.h"
#include "suites/campaign/answer_trials.h"

namespace hopbench {

/// Changes of a job's machines, as they are typed.
struct WhatifChanges {
  std::vector<int> without;        // workers
  std::vector<std::string> ranks;  // "3=1x"
  std::vector<std::string> links;  // "0-1=10Gbit/s"
};

struct WhatifAnswer {
  std::string text;           // what it is about, and the whole in one sentence
  std::vector<Table> tables;  // of the workers, and of the changes if there are any
};

/// Runs the present protocol as recorded, with ideal workers, with each worker alone as recorded, and with each change.
/// Error(kUsage) for changes that the cluster cannot have and for a scenario with faults; Error(kTrialsFailed) if a
/// trial failed; else throws as AnswerTrials::rows_of().
WhatifAnswer whatif(const ClusterFile& cluster, const WhatifChanges& changed, AnswerTrials& run);

}  // namespace hopbench
