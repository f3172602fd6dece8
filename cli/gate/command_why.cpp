// `hopbench why`.
#include <fmt/format.h>

#include <regex>

#include "cli/gate/gate.h"
#include "cli/outputs.h"
#include "results/judge/why.h"
#include "suites/campaign/filter.h"

namespace hopbench {

int command_why(const WhyCommand& options) {
  const std::regex wanted = regular_expression(options.filter, "--filter");
  const RunFolder run = open_run(options.folder);
  std::string text;
  for (const Why& each : why(run.rows(), options.a, options.b)) {
    if (!std::regex_search(each.measure + "/" + each.scenario, wanted)) continue;
    text += why_text(each) + "\n";
  }
  if (text.empty())
    throw usage_error("--filter " + options.filter + " leaves nothing: it is matched with MEASURE/SCENARIO");
  put("-", text);
  return static_cast<int>(ExitCode::kOk);
}

}  // namespace hopbench
