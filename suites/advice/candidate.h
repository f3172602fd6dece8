// A variant's figures for the advice: its rates, and how long it takes to a target loss.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "results/files/run_folder.h"
#include "suites/advice/advice.h"
#include "suites/advice/cluster.h"
#include "suites/advice/model_error.h"
#include "suites/campaign/answer_trials.h"

namespace hopbench {

/// Returns a variant's figures from its trials, which must be in the order of the repeats.
Candidate candidate_of(const std::vector<TrialSpec>& trials, const std::vector<const TrialRow*>& rows,
                       const ModelErrors& errors, const JobFacts& facts);

/// The question that a stand-in answers: how long a variant takes to a loss.
struct LearningQuestion {
  double target_loss = 0;
  std::string model;
  std::int64_t samples = 0;
  double model_bytes = 0;  // of the job's model
};
/// Returns the model that learns. Error(kUsage) if that one, or the job's own without a choice, does not learn or has
/// sparse gradients.
std::string stand_in_of(const std::string& chosen, const TrialSpec& spec);
/// Tries the same learning rates for each variant without slow workers, and takes the best to the scenario. All
/// trials are run by `trials`.
std::vector<Learning> learn(const ClusterFile& cluster, const LearningQuestion& question, AnswerTrials& trials);

}  // namespace hopbench
