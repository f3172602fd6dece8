// A trial's names and settings as the tables show them.
#pragma once

#include "results/files/run_folder.h"
#include "suites/trial/plan.h"
#include "suites/trial/trial.h"

namespace hopbench {

TrialLabels labels_of(const TrialSpec& spec);
/// Returns the split as a phrase: "iid", "dirichlet(0.5)", "2 shards a worker", "by feature 3".
std::string split_text(const SplitSpec& split);

/// Returns roughly how long a real trial takes, from its cost and slowdowns; 0 if that is not known beforehand.
double estimated_seconds(const TrialSpec& spec, const Plan& plan);

}  // namespace hopbench
