// Two results side by side: what changed from base to head, and whether it is more than chance.
//
// Rows meet by suite, measure, scenario and variant, their trials by seed and repeat; every number is one of such
// pairs. A speed-up above 1 is an improvement: more samples a second, or less time to the target.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "results/outcome.h"
#include "results/statistics.h"
#include "results/table.h"

namespace hopbench {

enum class Verdict {
  kRegression,
  kImprovement,
  kNoChange,      // virtual time: every pair is equal; real time: the change is within the threshold, at 95 %
  kInconclusive,  // neither: more repeats may tell
  kInsufficient,  // fewer than 3 pairs of real trials
  kIncomparable,  // measured under other settings, or on another machine
  kFailed,        // a trial of head did not end well that did in base
  kMissing,       // in base only
  kNew,           // in head only
};
const char* to_string(Verdict verdict);

struct CompareOptions {
  double threshold = 0.05;   // of real time: a smaller change is none
  bool any_context = false;  // compares what was measured on other machines, or otherwise set, all the same
};

struct Comparison {
  std::string suite, measure, scenario, variant;
  std::string metric;  // "samples/s", "time to target, s", "final loss"
  Verdict verdict = Verdict::kInsufficient;
  int n = 0;                         // pairs that have both numbers
  double base = 0, head = 0;         // their medians; NaN: no pair
  double speed_up = 0;               // geometric mean over the pairs; NaN: no pair
  std::optional<Interval> interval;  // 95 %, from 3 pairs
  std::string note;                  // why there is no number, or what else a reader must know
};

/// A row of each that occurs in either, in base's order; those of head alone come last.
std::vector<Comparison> compare(const Results& base, const Results& head, const CompareOptions& options);

/// Of two contexts: what the time of a real trial depends on and is not alike, a phrase each ("cpu: A, B").
std::vector<std::string> context_differences(const std::string& base, const std::string& head);

/// A grid a measure and scenario; columns for each head. `heads` were all compared with the same base.
struct Compared {
  std::string name;
  std::vector<Comparison> rows;
};
std::vector<Grid> comparison_grids(const std::string& base, std::span<const Compared> heads);
/// suite, measure, scenario, variant, head, metric, verdict, n, base, head_median, speed_up, low, high, note.
std::string comparison_csv(std::span<const Compared> heads);

}  // namespace hopbench
