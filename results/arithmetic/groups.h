// The trials of a run by measure, scenario and variant: a table has a group of them, a row of it a variant.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "backends/base/record/trial_row.h"

namespace hopbench {

struct Variant {
  std::string name;
  std::vector<const TrialRow*> trials;  // by seed and repeat
  std::vector<const TrialRow*> ok() const;
};

/// The trials of one measure and scenario. `reference` may name a variant that is not among them.
struct Group {
  std::string suite, measure, scenario, reference;
  std::vector<Variant> variants;  // in the order of the suite
  std::vector<const TrialRow*> trials() const;
  const Variant* find(const std::string& name) const;
  const TrialLabels& labels() const { return variants.front().trials.front()->labels; }  // of its first trial
  bool is_convergence() const { return labels().what == "convergence"; }                 // else of rates
  std::string title() const;                                                             // "small / rate / random"
  std::string in_words() const;  // "suite small, measure rate, scenario random", for pages and papers
};

/// Returns a group for each suite, measure, kind and scenario, in the order of the run.
std::vector<Group> groups_of(std::span<const TrialRow> rows, const std::string& reference);

/// Returns all trials in the order of the tables: by group, by the variant's place in its suite, by seed and repeat.
std::vector<const TrialRow*> in_table_order(std::span<const TrialRow> rows);

/// Returns true if the rates of most of the trials that ended well are over the whole trial, since there is no steady
/// window.
bool mostly_without_window(const std::vector<const TrialRow*>& trials);
/// Returns true if both have a steady window, or neither. A rate over a whole trial, including its start, and one over
/// a steady window give no ratio.
bool have_alike_windows(const TrialRow& a, const TrialRow& b);

}  // namespace hopbench
