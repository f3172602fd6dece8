// How long variants take to a target loss, with a small model that learns in place of the job's.
#pragma once

#include <string>
#include <vector>

#include "suites/advice/advice.h"
#include "suites/advice/cluster.h"
#include "suites/campaign/answer_trials.h"

namespace hopbench {

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
