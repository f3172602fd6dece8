// Statistics of a recording: what ranks, steps and chance have to do with its times, and the simplest scenario that is
// like it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "suites/import/imported.h"

namespace hopbench {

/// How well two levels, normal and slow, describe the rest. Slow steps are those above the cut that explains most.
struct TwoLevels {
  double explained = 0;               // share of the variance of the rest
  double factor = 1, slow_share = 0;  // slow over normal; share of slow steps
  double normal_level = 0;            // mean log of the normal ones, relative to the mean of all
  double slow_steps = 0,
         normal_steps = 0;  // mean length of a slow and a normal phase; 0: no phase ends in the recording
};

/// The decomposition log(seconds) = mean + rank + step + rest, over the steps that every rank has.
struct Decomposition {
  int ranks = 0;
  std::int64_t steps = 0;                                 // that every rank has
  std::int64_t left_out = 0;                              // rows of other steps
  double between_ranks = 0, between_steps = 0, rest = 0;  // shares of the variance; sum 1, or 0 without any variance

  /// True if the effect is larger than chance (F above 1 + 3 x sqrt(2 / df1 + 2 / df2), of ranks times inflation_by())
  /// and its deviation at least 1 %.
  bool ranks_differ = false, steps_differ = false;
  /// The rest, without the effects of ranks and steps that differ by more than chance. Deviations are of the logarithm.
  double rest_deviation = 0, step_deviation = 0;
  double autocorrelation = 0;                   // of the rest of a rank from a step to the next; 0 without pairs
  std::int64_t pairs = 0;                       // of consecutive steps
  double step_autocorrelation = 0;              // of the steps' effect
  double rest_distance = 0, step_distance = 0;  // Kolmogorov-Smirnov distances from normal distributions
  TwoLevels levels;

  double median = 0, q90 = 0, q99 = 0, largest = 0;             // seconds
  double slowest_over_mean = 0, largest_slowest_over_mean = 0;  // of a step's ranks: mean and largest over steps
  double typical = 0;            // seconds: the geometric mean of a rank without an effect
  std::vector<double> factors;   // of the ranks, relative to their median
  std::int64_t longest_run = 0;  // steps in a row without a gap
};

/// Computes all of it. `rows` must be finished (finish_rows()); they are used up. Takes at most 16 bytes for each row,
/// those of `rows` included, and 20 for each step and each rank.
Decomposition decompose(TraceRows& rows);

/// Returns the factor by which autocorrelation from a step to the next increases the variance of a mean: (1 + r) / (1 -
/// r), with r from 0 to 0.99.
double inflation_by(double autocorrelation);

/// The simplest kind of scenario that fits.
struct Fit {
  std::string kind;                // "none", "constant", "log_normal", "constant and bernoulli", "trace", ...
  std::vector<std::string> why;    // how well it fits, a line each
  std::vector<std::string> rules;  // entries of `compute`, as TOML
  double pace = 0;                 // seconds, for [compute]; 0: the trace has them
};

/// Chooses by the rule in docs/import.md. `file` is the trace's name in the snippet.
Fit fit_scenario(const Decomposition& decomposition, const std::string& file);

/// Returns the trace itself as the scenario, in blocks of steps if they depend on those before.
Fit fit_trace(const Decomposition& decomposition, const std::string& file);

/// Returns the fit as a [[scenario]] with comments.
std::string to_snippet(const Fit& fit);

}  // namespace hopbench
