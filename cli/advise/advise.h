// `hopbench record`, `hopbench advise` and `hopbench whatif`: which protocol to use on a cluster, and how much a
// worker or a link changes. docs/advice.md describes them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backends/base/error.h"
#include "backends/base/record/trial_row.h"
#include "cli/commands/run.h"
#include "cli/tell.h"
#include "results/advice/advice.h"
#include "suites/advice/cluster.h"
#include "suites/advice/model_error.h"

namespace hopbench {

struct RecordOptions {
  std::string suite, filter;
  SuiteOptions suite_options;
  std::string output;                                     // folder, new or empty
  std::string hosts, ssh = "ssh", rendezvous, interface;  // as in RunOptions
  std::vector<std::string> command_line;
};
/// Runs a trial of the suite in real processes, measures costs and links beside it, and writes a run's folder with
/// cluster.toml and its trace. Returns the exit code.
int command_record(const RecordOptions& options);

struct AdviseOptions {
  std::string cluster, scenario, present;  // the last two as in ClusterOptions
  SuiteOptions suite_options;
  std::string candidates, errors;  // files; empty: those that come with the program
  std::string output;              // folder; empty: a new one in hopbench-results
  std::optional<std::string> json;
  double target_loss = 0;    // 0: speed alone
  std::string stand_in;      // model that learns; empty: the job's own
  std::int64_t samples = 0;  // after which a variant has not reached the target; 0: as many as 200 iterations have
  int jobs = 0;
  bool colour = false;
  std::vector<std::string> command_line;
};
int command_advise(const AdviseOptions& options);

struct WhatifOptions {
  std::string cluster, scenario, present;
  SuiteOptions suite_options;
  std::vector<int> without;         // workers
  std::vector<std::string> ranks;   // "3=1x"
  std::vector<std::string> links;   // "0-1=10Gbit/s"
  std::optional<std::string> json;  // absent, "-" (standard output), or a file
  int jobs = 0;
  bool colour = false;
};
int command_whatif(const WhatifOptions& options);

/// Reports on ^C, by Error(kInterrupted) of `work`, that nothing is written, and throws it on.
template <class Work>
auto writing_nothing_if_interrupted(const Work& work) {
  try {
    return work();
  } catch (const Error& error) {
    if (error.code() == ExitCode::kInterrupted) tell("interrupted: nothing is written\n");
    throw;
  }
}

/// Runs trials of virtual time, one on each core, and hands their rows on in the order of the trials.
/// Error(kInterrupted) after ^C, which is not reported. Of a trial that failed, the row says why.
std::vector<TrialRow> run_virtual(const std::vector<TrialSpec>& trials, int jobs);

/// Returns the path of a file that comes with the program, "suites/advice/candidates.toml". Error(kEnvironment) if it
/// is in none of data_roots().
std::string shipped_file(const std::string& name);

/// Returns the text of the candidates that come with the program.
std::string shipped_candidates();

/// Returns a variant's figures from its trials, which must be in the order of the repeats.
Candidate candidate_of(const std::vector<TrialSpec>& trials, const std::vector<const TrialRow*>& rows,
                       const ModelErrors& errors, const JobFacts& facts);

/// The question that a stand-in answers: how long a variant takes to a loss.
struct LearningQuestion {
  double target_loss = 0;
  std::string model;
  std::int64_t samples = 0;
  double model_bytes = 0;  // of the job's model
  int jobs = 0;
};
/// Returns the model that learns. Error(kUsage) if that one, or the job's own without a choice, does not learn or has
/// sparse gradients.
std::string stand_in_of(const std::string& chosen, const TrialSpec& spec);
/// Tries the same learning rates for each variant without slow workers, and takes the best to the scenario. The rows of
/// the trials in the scenario are added to `kept`.
std::vector<Learning> learn(const ClusterFile& cluster, const LearningQuestion& question, std::vector<TrialRow>& kept);

}  // namespace hopbench
