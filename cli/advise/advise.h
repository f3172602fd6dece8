// `hopbench record`, `hopbench advise` and `hopbench whatif`: which protocol to use on a cluster, and how much a
// worker or a link changes. docs/advice.md describes them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "suites/advice/whatif.h"
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

/// The flags that advise and whatif have in common.
struct ClusterCommand {
  std::string cluster, scenario, present;  // the last two as in ClusterOptions
  SuiteOptions suite_options;
  std::string resume;  // folder with the trials of an interrupted call; empty: none
  int jobs = 0;
  bool colour = false;
  std::optional<std::string> json;  // absent, "-" (standard output), or a file
  std::vector<std::string> command_line;
};

struct AdviseOptions : ClusterCommand {
  std::string candidates, errors;  // files; empty: those that come with the program
  std::string output;              // folder; empty: `resume`, or a new one in hopbench-results
  double target_loss = 0;          // 0: speed alone
  std::string stand_in;            // model that learns; empty: the job's own
  std::int64_t samples = 0;  // after which a variant has not reached the target; 0: as many as 200 iterations have
};
int command_advise(const AdviseOptions& options);

struct WhatifOptions : ClusterCommand {
  WhatifChanges changes;
};
int command_whatif(const WhatifOptions& options);

}  // namespace hopbench
