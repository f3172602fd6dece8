// Tuning: every variant of a suite, the reference too, gets the same number of settings to try, over one range of the
// learning rate. The settings found are written into the suite, with a record by which a later run can tell whether its
// settings are still the same. See docs/tuning.md.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "suites/language/suite.h"

namespace hopbench {

/// A learning rate, and values for the knobs that [tune] declares for its variant.
struct TuneSetting {
  double lr = 0;
  std::vector<std::pair<std::string, std::string>> knobs;  // name, value as TOML
  std::string knobs_text() const;                          // "backup=1 max_ig=4"; "" without any
};

struct TuneVariant {
  std::string label;
  std::vector<TuneSetting> settings;  // the same number for every variant
};

/// A setting on one repeat's draws.
struct TuneTrial {
  std::size_t variant = 0, setting = 0;  // indices
  TrialSpec spec;                        // in virtual time; its label names the setting
};

struct Tuning {
  Suite suite;  // as it stands, untuned
  std::string text;
  SuiteOptions options;
  std::string measure, scenario;
  double target_loss = 0;  // 0: none, the final loss decides
  double low = 0, high = 0;
  int repeats = 1;
  std::vector<TuneVariant> variants;
  std::vector<TuneTrial> trials;  // variants take turns
};

/// Returns the seed for the draws of tuning. Suites and --seed hold less than 2^63, so no run ever has the same draws.
std::uint64_t tuning_seed(std::uint64_t run_seed);

/// Returns `points` values from `low` to `high`, both included, with equal ratios between them, rounded.
std::vector<double> log_grid(double low, double high, int points, int digits = 3);

/// Reads a suite and multiplies its [tune] out. Throws SuiteError with every mistake; also if the suite leaves nothing
/// to tune (no measure of convergence in virtual time, a learning rate that the command line gives, a [matrix]), and if
/// its text has a form in which settings could not be written down.
Tuning plan_tuning(const std::string& text, const std::string& file, const SuiteOptions& options);

/// The result of tuning a variant.
struct TuneChoice {
  std::size_t setting = 0;
  double samples = 0;  // to the target; infinite: not reached
  double loss = 0;     // at the end
  bool edge = false;   // the learning rate is the first or the last of the grid
};

/// Returns the suite's text with `tuned = true`, every variant's choice, and the record [tuning]; comments stay. `by`:
/// version and commit. Throws Error unless, with the same options, the text is a right suite that counts as tuned.
std::string tuned_text(const Tuning& tuning, const std::vector<TuneChoice>& choices, const std::string& by);

}  // namespace hopbench
