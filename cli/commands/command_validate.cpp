#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "backends/base/printable.h"
#include "backends/base/process/tell.h"
#include "cli/commands.h"
#include "cli/run.h"
#include "suites/campaign/install_paths.h"
#include "suites/campaign/preflight.h"

namespace hopbench {
namespace {

void complain(const std::string& file, const Error& error) {
  // A suite's mistakes have file, line and column in front of every line.
  const bool has_place = dynamic_cast<const SuiteError*>(&error) != nullptr;
  tell(fmt::format("{}{}\n", has_place ? "" : quotable(file) + ": ", error.what()));
}

ExitCode validate(const std::string& file, const SuiteOptions& options) {
  try {
    const Suite suite = load_suite(find_suite(file), options);
    check_available(suite.trials);
    fmt::print("{}: ok: {} trial{}\n", printable(file), suite.trials.size(), suite.trials.size() == 1 ? "" : "s");
    std::fflush(stdout);  // in step with what the next file says on standard error
    for (const std::string& note : suite.notes) tell(fmt::format("{}: note: {}\n", file, note));
    return ExitCode::kOk;
  } catch (const Error& error) {
    complain(file, error);
    return error.code();
  }
}

}  // namespace

int command_validate(const ValidateOptions& options) {
  ExitCode worst = ExitCode::kOk;
  for (const std::string& file : options.suites) {
    const ExitCode code = validate(file, options.suite);
    if (code != ExitCode::kOk && worst != ExitCode::kUsage) worst = code;
  }
  return static_cast<int>(worst);
}

}  // namespace hopbench
