// The verdict on a paper's claim, from the rows of a run.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "results/arithmetic/statistics.h"
#include "results/files/outcome.h"
#include "suites/claims/claim.h"

namespace hopbench {

/// The result of judging a claim. `number` is the ratio or the median; an order has no number. A side that never
/// reaches its target counts as infinitely late, so that the ratio is infinite or 0.
struct Finding {
  ClaimVerdict verdict = ClaimVerdict::kUndecided;
  std::optional<double> number;
  std::optional<Interval> interval;  // from 3 pairs; of 3 to 5 values: smallest to largest
  int n = 0;                         // pairs or values
  bool failed = false;               // a side has no trial that ended well, which no claim expects
  std::string text;                  // "1.84x [1.79, 1.90], n = 3"
  std::string reason;                // if the number alone does not say it: failures, targets never reached
};

/// Judges a claim. Only the rows that the claim selects count. Error(kUsage) if one of its selections is not there, or
/// if there is no such metric.
Finding judge(const Claim& claim, std::span<const Outcome> outcomes);

/// Returns a caption with the facts that a reader needs: repeats, seeds, clock, model, tuned or not, readings.
std::string caption_of(std::span<const Outcome> outcomes);

/// Gives each row the largest value of every column of ranks.csv over its ranks: "ranks.gap_max".
void add_largest_of_ranks(std::vector<Outcome>& outcomes, const std::string& ranks_csv);

}  // namespace hopbench
