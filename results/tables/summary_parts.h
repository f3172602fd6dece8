// Parts of the summary's tables: the trials of one measure and scenario, by variant, and numbers as text.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "results/arithmetic/statistics.h"
#include "results/files/run_folder.h"
#include "results/tables/table.h"

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

/// Returns a group for each suite, measure, kind and scenario, in the order of the run.
std::vector<Group> groups_of(std::span<const TrialRow> rows, const std::string& reference);

/// Returns all trials in the order of the tables: by group, by the variant's place in its suite, by seed and repeat.
std::vector<const TrialRow*> in_table_order(std::span<const TrialRow> rows);

/// Return the grids without the notes that all grids have.
Grid rate_grid(const Group& group);
Grid convergence_grid(const Group& group);

/// If the scenario has faults, adds columns with the number of lost ranks, and their cost against the same trials of
/// the run without faults. The grid's first rows are the head and the variants.
void add_fault_columns(Grid& grid, const Group& group, std::span<const TrialRow> rows);

/// Trials of two variants with the same seed and repeat, both ok.
struct Pair {
  const TrialRow *a, *b;
};
std::vector<Pair> pairs_of(const Variant& a, const Variant& b);

/// The numbers whose ratios give a speed-up, pair by pair: the variant's (or for times the reference's) and the
/// other's. Empty if no speed-up may be shown.
struct SpeedUpPairs {
  std::vector<double> above, below;
};
/// Returns true if the rates of most of its trials are over the whole trial, since there is no steady window.
bool mostly_without_window(const Variant& variant);
/// Returns true if both have a steady window, or neither. A rate over a whole trial, including its start, and one over
/// a steady window give no ratio.
bool have_alike_windows(const TrialRow& a, const TrialRow& b);
SpeedUpPairs rate_pairs(const Group& group, const Variant& variant,
                        double TrialRecord::*rate = &TrialRecord::samples_per_s);
SpeedUpPairs target_pairs(const Group& group, const Variant& variant);

/// A trial's way to the target: `at`, where it reached the target, if it did; `until`, how far it went.
struct Reach {
  std::optional<double> at;
  double until = 0;
};
/// Returns the median over all trials. One that did not reach the target counts as later than every other. If that
/// makes the median unknown, `at` is empty and `until` bounds it from below.
Reach median_reach(std::span<const Reach> trials);
/// Returns the times to the target (fitted) of the trials that ended well.
std::vector<Reach> times_to_target(const Variant& variant);

/// Returns a number with `digits` significant digits: 1235, 12.35, 0.01235; "-" for NaN.
std::string number_text(double value, int digits = 4);
std::string percent_text(double share);
/// Returns a count: 512; as number_text() does if it is not a whole number.
std::string whole_text(double value);
/// Returns median and spread: "812 (790 .. 830)" smallest and largest, from 6 values "812 [800, 820]" 95 % interval of
/// the median. `text` writes each number; the default is number_text().
std::string median_text(std::span<const double> values, std::string (*text)(double) = nullptr);
/// Returns "1.43x [1.38, 1.49]" from 3 pairs, "1.43x (1.40 .. 1.46)" of two, "1.43x" of one, "-" without pairs.
std::string ratio_text(std::span<const double> a, std::span<const double> b);
/// Returns "3", or "2 of 3" if trials failed.
std::string count_text(const Variant& variant);
/// Returns the status, the words of warnings' kinds, and other facts that a reader needs before comparing. Leaves out
/// marks about the steadiness of rates for trials of convergence.
std::vector<std::string> marks_of(const TrialRow& row);
/// Returns the meaning of a mark; "" for marks that explain themselves.
std::string meaning_of(const std::string& mark);
/// Returns the marks of a variant's trials: "failed (1 of 3), overpaced".
std::string marks_text(const Variant& variant);
/// Adds the last column if any variant has marks. Must be called when the rows are the head and the variants.
void add_marks_column(Grid& grid, const Group& group);

}  // namespace hopbench
