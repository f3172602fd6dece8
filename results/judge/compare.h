// Two results side by side: the changes from base to head, and whether they are more than chance.
//
// Rows are paired by suite, measure, scenario and variant, their trials by seed and repeat. Every number is computed
// over such pairs. A speed-up above 1 is an improvement: more samples a second, or less time to the target.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "results/arithmetic/statistics.h"
#include "results/files/outcome.h"
#include "results/tables/table.h"

namespace hopbench {

enum class Verdict {
  kRegression,
  kImprovement,
  kNoChange,      // every pair is equal to the last bit
  kWithin,        // not equal, but neither slower nor faster by more than the threshold
  kNotSlower,     // not slower by more than the threshold; that it is faster by more cannot be excluded
  kInconclusive,  // none of these; more repeats may decide
  kInsufficient,  // fewer than 3 pairs of real trials
  kIncomparable,  // measured under other settings, or on another machine
  kFailed,        // a trial of head did not end well that did in base
  kMissing,       // in base only
  kNew,           // in head only
};
const char* to_string(Verdict verdict);  // for programs: "within_threshold"
/// Returns the verdict for people: "within 5 %".
std::string verdict_text(Verdict verdict, std::optional<double> threshold);

/// Judges a change that is not none, for every comparison and gate. `interval`: of the speed-up, absent if nothing in
/// it is chance. A regression or improvement is beyond the threshold, with an interval that does not contain 1. A row
/// is within the threshold, or not slower, if no part of the interval is beyond it.
Verdict judged_change(double speed_up, const std::optional<Interval>& interval, double threshold);

struct CompareOptions {
  double threshold = 0.05;   // a smaller change is neither a regression nor an improvement
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
  std::optional<Interval> interval;  // 95 %, from 3 pairs, if the change may be chance and each pair has both numbers
  std::string note;                  // the reason why there is no number, or other facts to know
  bool virtual_time = false;
  bool by_chance = true;             // false: a rate of virtual time, which follows from the draws
  double threshold = 0;              // that it was judged by, as a share
  bool equal = false;                // each pair, to the last bit
  double least = 0, most = 0;        // speed-ups of single pairs; NaN: no pair
  int lost = 0, gained = 0;          // pairs in which only base, only head has the number: see why_slower()
  std::vector<std::string> missing;  // trials of base that ended well and that head lacks
  Quantity quantity = Quantity::kRate;
};

/// Returns the share by which head takes longer for the same work, from 0 (0.09: 9 %, speed-up 0.917); NaN: no pair.
double slower_by(const Comparison& row);
/// Returns true if the row would be a regression with `limit` as its threshold, failed, lacks trials that base has, or
/// no longer reaches its target.
bool slower_than(const Comparison& row, double limit);
/// Returns the reasons, a phrase each. Without a reason the row is not slower_than() the limit.
std::vector<std::string> why_slower(const Comparison& row, double limit);
/// Returns true if both sides ran the row under the same settings, so that it has a verdict about speed.
bool compared(const Comparison& row);

/// Returns a comparison for each row in either result, in the order of base's tables; rows of head alone come last.
std::vector<Comparison> compare(const Results& base, const Results& head, const CompareOptions& options);

/// Returns the differences of two contexts that the time of a real trial depends on, a phrase each ("cpu: A; B").
std::vector<std::string> context_differences(const std::string& base, const std::string& head);

/// The comparisons of one head. Tables and CSV may have several heads, all compared with the same base.
struct Compared {
  std::string name;
  std::vector<Comparison> rows;
};
/// A row that has no verdict about speed, and the reason.
struct NotCompared {
  std::string row, why;
};
/// Returns "6 rows not compared, batch: 32; 64: s/rate/x/hop, s/rate/x/dpsgd and 4 more", a line for each reason.
std::string not_compared_text(std::span<const NotCompared> rows);
/// Returns "compared 6 of 12 rows", and not_compared_text() of the others.
std::string coverage_text(std::span<const Compared> heads);

std::vector<Table> comparison_tables(const std::string& base, std::span<const Compared> heads);
/// Columns: suite, measure, scenario, variant, head, metric, verdict, n, base, head_median, speed_up, low, high, note.
std::string comparison_csv(std::span<const Compared> heads);

}  // namespace hopbench
