// Tuning: every variant of a suite, the reference too, gets the same number of settings to try, over one range of the
// learning rate. What was found is written into the suite, with a record by which a later run can tell whether its
// settings are still those. See docs/tuning.md.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "suites/suite.h"

namespace hopbench {

/// A learning rate, and values for the knobs that [tune] declares for its variant.
struct TuneSetting {
  double lr = 0;
  std::vector<std::pair<std::string, std::string>> knobs;  // name, value as TOML
  std::string knobs_text() const;                          // "backup=1 max_ig=4"; "" without any
};

struct TuneVariant {
  std::string label;
  std::vector<TuneSetting> settings;  // as many for every variant
};

/// A setting on one repeat's draws.
struct TuneTrial {
  std::size_t variant = 0, setting = 0;  // indices
  TrialSpec spec;                        // in virtual time; its label tells the setting
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

/// The draws of tuning are those of this seed. Suites and --seed hold less than 2^63, so no run ever meets them.
std::uint64_t tuning_seed(std::uint64_t run_seed);

/// Low and high are the first and the last; equal ratios between, to three digits.
std::vector<double> log_grid(double low, double high, int points);

/// Reads a suite and multiplies its [tune] out. SuiteError with every mistake; also where the suite leaves nothing to
/// tune (no measure of convergence in virtual time, a learning rate that the command line gives, a [matrix]) and where
/// its text has a form in which settings could not be written down.
Tuning plan_tuning(const std::string& text, const std::string& file, const SuiteOptions& options);

/// What was found for a variant.
struct TuneChoice {
  std::size_t setting = 0;
  double samples = 0;  // to the target; infinite: not reached
  double loss = 0;     // at the end
  bool edge = false;   // the learning rate is the first or the last of the grid
};

/// The suite's text with `tuned = true`, every variant's choice, and the record [tuning]; comments stay. `by`: version
/// and commit. With the same options it is a right suite, which counts as tuned: anything else is an Error.
std::string tuned_text(const Tuning& tuning, const std::vector<TuneChoice>& choices, const std::string& by);

}  // namespace hopbench
