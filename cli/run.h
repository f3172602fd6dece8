// `hopbench run`, `hopbench tune` and `hopbench calibrate`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "suites/campaign/options.h"
#include "suites/language/suite.h"

namespace hopbench {

struct RunOptions : CampaignOptions {
  std::vector<std::string> suites;  // paths; "-": standard input
  SuiteOptions suite;
  bool list = false, dry_run = false;
  std::string output;                            // folder; empty: hopbench-results/<utc>-<id>
  std::string save_baseline, baselines, reason;  // keep the results as this baseline; empty: no
  // Outputs in addition to the table: absent, "-" (standard output), or a file.
  std::optional<std::string> json, csv, markdown;
  std::string junit;            // a file; empty: none
  bool github_summary = false;  // the tables are added to $GITHUB_STEP_SUMMARY
  bool colour = false, wide = false;
  bool tables = true;  // on standard output
};

/// Returns the exit code. Throws Error for what stops the whole run.
int command_run(const RunOptions& options);

struct TuneOptions : GatheringOptions {
  std::string suite;  // path; "-": standard input
  SuiteOptions suite_options;
  std::string output;  // the tuned suite; empty: SUITE.tuned.toml. The table goes beside it, .csv for .toml
  bool force = false, dry_run = false, colour = false;
  int threads = 0;     // of a simulation; 0: all cores
  int jobs = 0;        // as in CampaignOptions
  std::string resume;  // folder with the trials of an interrupted call; empty: none
};
/// Returns the exit code. Writes both files, or none. If it is interrupted, it keeps the trials that are done.
int command_tune(const TuneOptions& options);

struct CalibrateOptions : GatheringOptions {
  std::string suite, filter;
  SuiteOptions suite_options;
  bool links = false;
};
int command_calibrate(const CalibrateOptions& options);

}  // namespace hopbench
