// The findings of tuning: how much each variant depends on its learning rate, and which setting is best.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "backends/base/record/trial_row.h"
#include "results/tables/table.h"

namespace hopbench {

/// A setting that was tried, over its repeats. A repeat that failed, or whose loss was not finite at any evaluation,
/// has an infinite score: it diverged, which is worse than anything else.
struct Tried {
  std::string variant, knobs;
  double lr = 0;
  std::vector<double> samples;  // to the target, of each repeat; infinite: not reached
  std::vector<double> loss;     // of the mean model at the end
  double end = 0;               // samples that were done: "> end" if the target was not reached
  double interval = 0;          // samples between two evaluations
  std::size_t failed = 0;       // repeats that did not end well
  Failure failure;              // of the first of them

  /// Adds a repeat.
  void add(const TrialRow& row);
  double median_samples() const;
  double median_loss() const;
  bool diverged() const;
};

/// Returns true if a is better: fewer samples to the target, then lower loss at the end, then smaller learning rate.
bool better(const Tried& a, const Tried& b);

struct Sensitivity {
  std::string title;
  double target_loss = 0;    // 0: no target; the final loss counts and is shown
  std::vector<Tried> tried;  // variants, and their settings, in the order of the suite

  /// Returns the index of the variant's best setting; -1 if all its settings diverged.
  int best(const std::string& variant) const;
  /// Returns the failure of the variant's first trial if all of them failed: then no learning rate is to blame. nullptr
  /// if some trial ended well.
  const Failure* why_failed(const std::string& variant) const;
  /// Returns true if the setting at `index` has the smallest or the largest learning rate that its variant tried.
  bool on_edge(std::size_t index) const;
};

/// Returns a row for each variant (and setting of its knobs), a column for each learning rate, with the best marked.
Table sensitivity_table(const Sensitivity& sensitivity);
/// Returns warnings: a best on the edge of the grid, a target never reached, or reached before the first evaluation.
std::vector<std::string> sensitivity_warnings(const Sensitivity& sensitivity);
/// Columns: variant, lr, knobs, repeats, target_loss, samples_to_target, final_loss, best. A row for each setting.
std::string sensitivity_csv(const Sensitivity& sensitivity);

}  // namespace hopbench
