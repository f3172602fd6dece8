// `hopbench record`, `hopbench advise` and `hopbench whatif`: which protocol to use on a cluster, and how much a
// worker or a link changes. docs/advice.md describes them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backends/base/error.h"
#include "backends/base/process/tell.h"
#include "suites/campaign/options.h"
#include "suites/language/suite.h"

namespace hopbench {

struct RecordOptions : GatheringOptions {
  std::string suite, filter;
  SuiteOptions suite_options;
  std::string output;  // folder, new or empty
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
  std::vector<int> without;        // workers
  std::vector<std::string> ranks;  // "3=1x"
  std::vector<std::string> links;  // "0-1=10Gbit/s"
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

}  // namespace hopbench
