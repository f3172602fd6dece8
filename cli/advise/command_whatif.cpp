// `hopbench whatif`: how much each worker slows a job, and the job without a worker or with other links.
#include "backends/base/process/signals.h"
#include "cli/advise/advise.h"
#include "cli/output_files.h"
#include "cli/outputs.h"
#include "suites/campaign/install_paths.h"
#include "suites/campaign/preflight.h"

namespace hopbench {

constexpr int kWhatifRepeats = 5;

int command_whatif(const WhatifOptions& options) {
  const OutputFile output{"--json", options.json};
  check_output_files({&output, 1}, inputs_of({&options.cluster, 1}));
  count_interrupts();
  ClusterOptions wanted{options.suite_options, options.scenario, options.present, shipped_candidates()};
  wanted.compares = false;
  if (!wanted.suite.repeats) wanted.suite.repeats = kWhatifRepeats;  // each worker is a case of its own
  const ClusterFile cluster = read_cluster(find_suite(options.cluster), wanted);
  check_available(cluster.trials_of(cluster.present));
  AnswerTrials run({cluster.suite, new_folder_name(), options.resume, options.command_line}, {.jobs = options.jobs});
  const WhatifAnswer answer = whatif(cluster, options.changes, run);
  std::string text = answer.text;
  for (const Table& table : answer.tables) text += "\n" + to_text(table, options.colour);
  if (options.json != "-") put("-", text);
  put(options.json, tables_document(answer.tables));
  return static_cast<int>(ExitCode::kOk);
}

}  // namespace hopbench
