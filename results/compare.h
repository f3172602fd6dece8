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
  kChanged,       // virtual time: not equal, but by less than the threshold
  kInconclusive,  // neither: more repeats may tell
  kInsufficient,  // fewer than 3 pairs of real trials
  kIncomparable,  // measured under other settings, or on another machine
  kFailed,        // a trial of head did not end well that did in base
  kMissing,       // in base only
  kNew,           // in head only
};
const char* to_string(Verdict verdict);

struct CompareOptions {
  double threshold = 0.05;   // a smaller change is no regression and no improvement
  bool any_context = false;  // compares results of other machines or other settings too
  bool speed_only = false;   // compares samples/s instead of a final loss where there is no target
};

/// Quantities that a row may be compared by.
enum class Quantity { kRate, kTimeToTarget, kFinalLoss };

struct Comparison {
  std::string suite, measure, scenario, variant;
  std::string metric;  // "samples/s", "time to target, s", "final loss"
  Verdict verdict = Verdict::kInsufficient;
  int n = 0;                         // pairs that have both numbers
  double base = 0, head = 0;         // their medians; NaN: no pair
  double speed_up = 0;               // geometric mean over the pairs; NaN: no pair
  std::optional<Interval> interval;  // 95 %, from 3 pairs
  std::string note;                  // why there is no number, or what else a reader must know
  bool virtual_time = false;
  double least = 0, most = 0;        // speed-ups of single pairs; NaN: no pair
  int lost = 0, gained = 0;          // pairs of which base alone, head alone has the number: see why_slower()
  std::vector<std::string> missing;  // trials of base that ended well and that head lacks
  Quantity quantity = Quantity::kRate;
};

/// Returns by how much longer head takes for the same work, from 0; NaN: no pair. 0.09: 9 % longer, speed-up 0.917.
double slower_by(const Comparison& row);
/// True if the row is slower by more than `limit` beyond doubt, failed, lacks trials that base has, or no longer
/// reaches its target. In virtual time any difference is beyond doubt; in real time it needs three pairs and an
/// interval without 1.
bool slower_than(const Comparison& row, double limit);
/// Returns the reasons, a phrase each. Without a reason the row is not slower_than() the limit.
std::vector<std::string> why_slower(const Comparison& row, double limit);
/// True if both sides ran the row under the same settings, so that it has a verdict about speed.
bool compared(const Comparison& row);

/// A row of each that occurs in either, in the order of base's tables; those of head alone come last.
std::vector<Comparison> compare(const Results& base, const Results& head, const CompareOptions& options);

/// Of two contexts: what the time of a real trial depends on and is not alike, a phrase each ("cpu: A, B").
std::vector<std::string> context_differences(const std::string& base, const std::string& head);

/// A grid a measure and scenario; columns for each head. `heads` were all compared with the same base.
struct Compared {
  std::string name;
  std::vector<Comparison> rows;
};
/// A row that has no verdict about speed, and why.
struct NotCompared {
  std::string row, why;
};
/// "6 rows not compared, batch: 32; 64: s/rate/x/hop, s/rate/x/dpsgd and 4 more", a line for each reason.
std::string not_compared_text(std::span<const NotCompared> rows);
/// "compared 6 of 12 rows", and the lines of those that were not.
std::string coverage_text(std::span<const Compared> heads);

std::vector<Grid> comparison_grids(const std::string& base, std::span<const Compared> heads);
/// suite, measure, scenario, variant, head, metric, verdict, n, base, head_median, speed_up, low, high, note.
std::string comparison_csv(std::span<const Compared> heads);

}  // namespace hopbench
