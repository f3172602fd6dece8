// What the summary's tables are made of: the trials of one measure and scenario, by variant, and numbers as text.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "results/run_folder.h"
#include "results/statistics.h"
#include "results/table.h"

namespace hopbench {

struct Variant {
  std::string name;
  std::vector<const TrialRow*> trials;  // by seed and repeat
  std::vector<const TrialRow*> ok() const;
};

/// The trials of one grid. `reference` may name a variant that is not among them.
struct Group {
  std::string title, reference;
  std::vector<Variant> variants;  // in the order of the suite
  std::vector<const TrialRow*> trials() const;
  const Variant* find(const std::string& name) const;
  bool is_convergence() const;  // else of rates
};

/// One a suite, measure, kind and scenario, in the order of the run.
std::vector<Group> groups_of(std::span<const TrialRow> rows, const std::string& reference);

/// All of them in the order of the tables: by group, by the variant's place in its suite, by seed and repeat.
std::vector<const TrialRow*> in_table_order(std::span<const TrialRow> rows);

/// The grids without the notes that all grids have.
Grid rate_grid(const Group& group);
Grid convergence_grid(const Group& group);

/// Where the scenario has faults: how many ranks were lost, and what that cost against the same trials of the run
/// without them. The grid's first rows are the head and the variants.
void add_fault_columns(Grid& grid, const Group& group, std::span<const TrialRow> rows);

/// Trials of a and b of the same seed and repeat, both ok.
struct Pair {
  const TrialRow *a, *b;
};
std::vector<Pair> pairs_of(const Variant& a, const Variant& b);

/// What a speed-up is the ratio of: pair by pair the variant's (or for times the reference's) and the other's. Empty
/// where none may be shown.
struct SpeedUpPairs {
  std::vector<double> above, below;
};
/// Rates of most of its trials are over the whole trial, since there is no steady window.
bool mostly_without_window(const Variant& variant);
/// Both have a steady window, or neither: a rate over a whole trial, its start with it, beside one over a steady window
/// gives no ratio.
bool have_alike_windows(const TrialRow& a, const TrialRow& b);
SpeedUpPairs rate_pairs(const Group& group, const Variant& variant,
                        double TrialRecord::*rate = &TrialRecord::samples_per_s);
SpeedUpPairs target_pairs(const Group& group, const Variant& variant);

/// A trial's way to the target: where it got there, or how far it went without.
struct Reach {
  std::optional<double> at;
  double until = 0;
};
/// Median over all trials. One that did not reach the target counts as later than every other; if that makes the
/// median unknown, `at` is empty and `until` bounds it from below.
Reach median_reach(std::span<const Reach> trials);
/// The times to the target (fitted) of the trials that ended well.
std::vector<Reach> times_to_target(const Variant& variant);

/// Digits that carry something: 1235, 12.35, 0.01235; "-" for NaN.
std::string number_text(double value, int digits = 4);
std::string percent_text(double share);
/// A count: 512; like number_text where it is no whole number.
std::string whole_text(double value);
/// Median and spread: "812 (790 .. 830)" smallest and largest, "812 [800, 820]" 95 % interval of the median from 6.
/// `text`: how each number is written; number_text.
std::string median_text(std::span<const double> values, std::string (*text)(double) = nullptr);
/// "1.43x [1.38, 1.49]" from 3 pairs, "1.43x (1.40 .. 1.46)" of two, "1.43x" of one, "-" of none.
std::string ratio_text(std::span<const double> a, std::span<const double> b);
/// "3", or "2 of 3" where trials failed.
std::string count_text(const Variant& variant);
/// Status, the words of warnings' kinds, and what else a reader must know before comparing.
/// Whether a rate is steady is no matter to convergence.
std::vector<std::string> marks_of(const TrialRow& row);
/// What a mark stands for; empty for those that say it themselves.
std::string meaning_of(const std::string& mark);
/// "failed (1 of 3), overpaced": of a variant's trials.
std::string marks_text(const Variant& variant);
/// The last column, if any variant has marks. To be called when the rows are the head and the variants.
void add_marks_column(Grid& grid, const Group& group);

}  // namespace hopbench
