// A variant's figures for the advice, from its trials.
#pragma once

#include <vector>

#include "results/files/run_folder.h"
#include "suites/advice/advice.h"
#include "suites/advice/cluster.h"
#include "suites/advice/model_error.h"

namespace hopbench {

/// Returns a variant's figures from its trials, which must be in the order of the repeats.
Candidate candidate_of(const std::vector<TrialSpec>& trials, const std::vector<const TrialRow*>& rows,
                       const ModelErrors& errors, const JobFacts& facts);

}  // namespace hopbench
