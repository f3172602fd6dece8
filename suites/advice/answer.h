// The answer of `hopbench advise`: which protocol to use on a cluster, from trials of all candidates in virtual time.
#pragma once

#include <cstdint>
#include <string>

#include "suites/advice/advice.h"
#include "suites/advice/cluster.h"
#include "suites/advice/model_error.h"
#include "suites/campaign/answer_trials.h"

namespace hopbench {

struct AdviceRequest {
  double target_loss = 0;    // 0: speed alone
  std::string stand_in;      // model that learns; empty: the job's own
  std::int64_t samples = 0;  // after which a variant has not reached the target; 0: as many as 200 iterations have
  std::string folder;        // of the answer, for the command that tests it
};

/// Runs the candidates, then those that matter most with each variation of the cluster, and, with a target loss, a
/// model that learns. Throws as advise() and AnswerTrials::rows_of() do.
AdviceReport answer(const AdviceRequest& request, const ClusterFile& cluster, const ModelErrors& errors,
                    AnswerTrials& trials);

}  // namespace hopbench
