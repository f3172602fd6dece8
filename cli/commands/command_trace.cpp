// `hopbench trace`.
#include <fmt/format.h>

#include <regex>

#include "backends/base/printable.h"
#include "backends/base/process/tell.h"
#include "cli/commands.h"
#include "cli/outputs.h"
#include "results/files/files.h"
#include "results/report/trace.h"
#include "suites/campaign/filter.h"

namespace hopbench {

int command_trace(const TraceCommand& options) {
  const std::regex wanted = regular_expression(options.filter, "--filter");
  const RunFolder run = open_run(options.folder);
  std::vector<const TrialRow*> rows;
  for (const TrialRow& row : run.rows()) {
    const bool matches = row.record.status == TrialStatus::kOk && std::regex_search(row.record.id, wanted);
    if (matches) rows.push_back(&row);
  }
  if (rows.empty()) throw usage_error(options.folder + " has no trial that ended well and matches --filter");
  const std::string name = options.output.empty() ? options.folder + "/trace.json" : options.output;
  const OutputFile output{options.output.empty() ? "" : "-o", name};
  check_output_files({&output, 1}, inputs_of({&options.folder, 1}));
  TraceWriter dry_run([](const std::string&) {});  // finds a damaged log before the file is opened
  for (const TrialRow* row : rows) dry_run.add(run, *row);
  NewFile file(behind_links(name));
  TraceWriter trace([&](const std::string& text) { file.out() << text; });
  for (const TrialRow* row : rows) {
    const std::string flaw = trace.add(run, *row);
    if (!flaw.empty()) tell(fmt::format("warning: trial {}: {}\n", row->record.id, flaw));
  }
  trace.finish();
  file.finish();
  if (name != "-")
    tell(fmt::format("{} trials: {}: open it in https://ui.perfetto.dev\n", rows.size(), printable(name)));
  return static_cast<int>(ExitCode::kOk);
}

}  // namespace hopbench
