// `hopbench report`.
#include <fmt/format.h>

#include <regex>

#include "cli/gate.h"
#include "cli/outputs.h"
#include "cli/report_bounds.h"
#include "cli/run.h"
#include "cli/tell.h"
#include "results/report.h"

namespace hopbench {
namespace {

/// What the suite in the folder says: the reference, and each trial's bounds. A suite that this program cannot read (a
/// protocol that it lacks) is no reason to show nothing.
void add_suite(const RunFolder& run, ReportOptions& options) {
  try {
    const Suite suite = parse_suite(run.suite_toml(), run.path() + "/suite.toml", {});
    options.reference = suite.reference;
    for (const TrialSpec& spec : suite.trials) options.bounds[spec.id()] = bound_of(spec);
  } catch (const Error& error) {
    tell(fmt::format("no speed-ups and no bounds: {}\n", error.what()));
  }
}

}  // namespace

int command_report(const ReportCommand& command) {
  const std::regex wanted = regular_expression(command.filter, "--filter");
  const RunFolder run = RunFolder::open(command.folder);
  ReportOptions options;
  options.wanted = [&](const TrialRow& row) { return std::regex_search(row.record.id, wanted); };
  add_suite(run, options);
  const std::string name = command.output.empty() ? command.folder + "/report.html" : command.output;
  put(name, report_html(run, options));
  if (name != "-") tell(fmt::format("{}: open it in a browser\n", name));
  return static_cast<int>(ExitCode::kOk);
}

}  // namespace hopbench
