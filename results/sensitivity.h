// What tuning found: how much each variant depends on its learning rate, and which setting is best.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "results/run_folder.h"
#include "results/table.h"

namespace hopbench {

/// A setting that was tried, over its repeats. A repeat that failed, or whose loss was not finite at any evaluation,
/// has an infinite score: it diverged, which is worse than anything else.
struct Tried {
  std::string variant, knobs;
  double lr = 0;
  std::vector<double> samples;  // to the target, of each repeat; infinite: not reached
  std::vector<double> loss;     // of the mean model at the end
  double end = 0;               // samples that were done: "> end" where the target was not reached
  double interval = 0;          // samples between two evaluations
  std::size_t failed = 0;       // repeats that did not end well
  Failure failure;              // of the first of them

  /// Adds a repeat.
  void add(const TrialRow& row);
  double median_samples() const;
  double median_loss() const;
  bool diverged() const;
};

/// Whether a is better: fewer samples to the target, then the lower loss at the end, then the smaller learning rate.
bool better(const Tried& a, const Tried& b);

struct Sensitivity {
  std::string title;
  double target_loss = 0;    // 0: none: the final loss is what counts and what is shown
  std::vector<Tried> tried;  // variants, and their settings, in the order of the suite

  /// Index of the variant's best; its settings that all diverged have none: -1.
  int best(const std::string& variant) const;
  /// Returns the failure of the variant's first trial if all of them failed: then no learning rate is to blame. nullptr
  /// if some trial ended well.
  const Failure* why_failed(const std::string& variant) const;
  /// Whether it is the smallest or the largest learning rate that the variant tried.
  bool on_edge(std::size_t index) const;
};

/// A row a variant (and setting of its knobs), a column a learning rate; the best marked. What warns is in the notes.
Grid sensitivity_grid(const Sensitivity& sensitivity);
/// What warns: a best on the edge of the grid, a target that was never reached, or reached before it could be seen.
std::vector<std::string> sensitivity_warnings(const Sensitivity& sensitivity);
/// variant, lr, knobs, repeats, target_loss, samples_to_target, final_loss, best: a row a setting.
std::string sensitivity_csv(const Sensitivity& sensitivity);

}  // namespace hopbench
