// `hopbench advise`: a cluster file -> trials of all candidates in virtual time -> which protocol to use.
#include <fmt/format.h>

#include <array>

#include "backends/base/printable.h"
#include "backends/base/process/signals.h"
#include "backends/base/process/tell.h"
#include "cli/advise/advise.h"
#include "cli/output_files.h"
#include "cli/outputs.h"
#include "results/files/context.h"
#include "suites/advice/answer.h"
#include "suites/advice/candidate.h"
#include "suites/campaign/install_paths.h"
#include "suites/campaign/preflight.h"
#include "suites/language/document.h"

namespace hopbench {
namespace {

ClusterOptions cluster_options(const AdviseOptions& options) {
  ClusterOptions wanted{options.suite_options, options.scenario, options.present, shipped_candidates()};
  if (options.candidates.empty()) return wanted;
  wanted.candidates = read_suite_file(options.candidates) + "\n";
  wanted.candidates_name = printable(options.candidates);
  return wanted;
}

ModelErrors model_errors(const AdviseOptions& options) {
  return ModelErrors::read(options.errors.empty() ? shipped_file("suites/advice/model_error.csv") : options.errors);
}

void write_report(const AdviceReport& report, const RunFolder& folder) {
  folder.write_text("advice.md", advice_markdown(report));
  folder.write_text("advice.json", advice_json(report));
  folder.write_text("advice.html", advice_html(report, "hopbench " + version_with_commit()));
}

}  // namespace

int command_advise(const AdviseOptions& options) {
  count_interrupts();
  const ClusterOptions wanted = cluster_options(options);
  const ModelErrors errors = model_errors(options);
  const ClusterFile cluster = read_cluster(find_suite(options.cluster), wanted);
  const std::string asked = options.output.empty() ? options.resume : options.output;
  const std::string path = asked.empty() ? new_folder_name() : without_detours(asked);
  std::vector<std::string> inputs = inputs_of(cluster.suite);
  for (std::string& name : inputs_of(std::array{options.candidates, options.errors})) inputs.push_back(std::move(name));
  if (path != options.resume) check_free(path, inputs);
  for (std::string& name : files_of_run(path)) inputs.push_back(std::move(name));
  const OutputFile outputs[] = {{"--json", options.json}};
  check_output_files(outputs, inputs);
  if (options.target_loss > 0) stand_in_of(options.stand_in, cluster.suite.trials.front());
  check_available(cluster.suite.trials);
  AnswerTrials trials({cluster.suite, path, options.resume, options.command_line}, {.jobs = options.jobs});
  const AdviceReport report =
      answer({options.target_loss, options.stand_in, options.samples, path}, cluster, errors, trials);
  trials.write(path, [&](const RunFolder& folder) { write_report(report, folder); });
  if (options.json) put(options.json, advice_json(report));
  if (!options.json || *options.json != "-") put("-", advice_text(report, options.colour));
  tell(fmt::format("results: {} (advice.html, advice.md, advice.json, and the trials)\n", printable(path)));
  return static_cast<int>(ExitCode::kOk);
}

}  // namespace hopbench
