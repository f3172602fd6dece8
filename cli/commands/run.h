// `hopbench run`, `hopbench tune` and `hopbench calibrate`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/filter.h"
#include "suites/language/suite.h"

namespace hopbench {

class Fleet;
struct Calibration;

struct RunOptions {
  std::vector<std::string> suites;  // paths; "-": standard input
  SuiteOptions suite;
  std::string filter, exclude;  // regular expressions on trial ids
  bool list = false, dry_run = false;
  std::string output;  // folder; empty: hopbench-results/<utc>-<id>
  std::string resume;  // folder of an interrupted run
  std::string shard;   // "2/3": a part of the trials (cli/shards/shard.h); empty: all
  bool retry_failed = false, force = false;
  std::string save_baseline, baselines, reason;  // keep the results as this baseline; empty: no
  // Outputs in addition to the table: absent, "-" (standard output), or a file.
  std::optional<std::string> json, csv, markdown;
  std::string junit;            // a file; empty: none
  bool github_summary = false;  // the tables are added to $GITHUB_STEP_SUMMARY
  bool colour = false, wide = false;
  bool tables = true;  // on standard output
  std::string strands = "fibers";
  std::uint64_t shuffle = 0;
  int threads = 0;                                               // of a simulation; 0: all cores
  int jobs = 0;                                                  // trials of virtual time at once; 0: one per core
  std::vector<std::string> dump;                                 // params, gradients, samples
  std::string events = "brief";                                  // none | brief | all: of the event logs
  std::string trial_timeout, rendezvous_timeout, stall_timeout;  // empty: as in TrialSpec
  std::string rendezvous, interface;                             // where several processes meet, and over which network
  std::string hosts, ssh = "ssh";                                // a host file; how to reach its hosts
  std::vector<std::string> command_line;                         // for the context
};

/// Returns the exit code. Throws Error for what stops the whole run.
int command_run(const RunOptions& options);

struct TuneOptions {
  std::string suite;  // path; "-": standard input
  SuiteOptions suite_options;
  std::string output;  // the tuned suite; empty: SUITE.tuned.toml. The table goes beside it, .csv for .toml
  bool force = false, dry_run = false, colour = false;
  int threads = 0;  // of a simulation; 0: all cores
};
/// Returns the exit code. Writes both files, or none.
int command_tune(const TuneOptions& options);

struct CalibrateOptions {
  std::string suite, filter;
  SuiteOptions suite_options;
  bool links = false;
  std::string hosts, ssh = "ssh", interface;  // as in RunOptions
  std::vector<std::string> command_line;
};
int command_calibrate(const CalibrateOptions& options);

/// Keeps the trials whose id the regular expression finds; all if it is empty.
void keep_matching(const std::string& filter, std::vector<TrialSpec>& trials);

/// Sets the cost of every trial that is paced by calibration. Measures each combination of workload and ranks once.
/// `known` are earlier results by key (a resumed run must not measure again); new results are added to it.
struct Calibrated {
  std::string key;
  Duration cost{}, step_p99{};
  double vector_bytes_per_s = 0;
};
void calibrate_trials(std::vector<TrialSpec>& trials, std::vector<Calibrated>& known, Fleet* fleet = nullptr);
bool needs_calibration(const TrialSpec& spec);
/// Returns calibrate(), and tries once more if that fails, since no trial can run without a cost.
Calibration calibrate_twice(const TrialSpec& spec, Fleet* fleet);

}  // namespace hopbench
