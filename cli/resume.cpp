#include "cli/resume.h"

#include <fmt/format.h>

#include <cstdlib>
#include <exception>
#include <filesystem>
#include <optional>
#include <system_error>

#include "backends/base/error.h"
#include "backends/base/ran_out.h"
#include "backends/base/text.h"
#include "backends/fleet/standing.h"
#include "cli/tell.h"

namespace hopbench {

namespace {

// It means the same trials again. ci/hopbench says by the environment how it was called.
std::string resume_command(const std::string& folder, const RunOptions& options) {
  const char* called = std::getenv("HOPBENCH_COMMAND");
  std::string command = fmt::format("{} run --resume {}", called != nullptr ? called : "hopbench", shell_word(folder));
  if (!options.filter.empty()) command += " --filter " + shell_word(options.filter);
  if (!options.exclude.empty()) command += " --exclude " + shell_word(options.exclude);
  if (!options.hosts.empty()) command += " --hosts " + shell_word(options.hosts) + " --ssh " + shell_word(options.ssh);
  if (options.force) command += " --force";
  return command;
}

}  // namespace

std::string how_to_resume(const std::string& alone, const std::string& folder, const RunOptions& options,
                          bool retry_failed) {
  const int processes = standing_of([](const char* name) -> const char* { return std::getenv(name); }).size;
  const std::string how =
      processes == 1 ? alone : fmt::format("start its {} processes again in the same way, with", processes);
  return how + ": " + resume_command(folder, options) + (retry_failed ? " --retry-failed" : "");
}

void telling_how_to_go_on(const std::string& folder, const RunOptions& options, const std::function<void()>& body) {
  try {
    body();
  } catch (const std::exception& error) {
    std::error_code unreadable;
    if (folder.empty() || !std::filesystem::exists(folder + "/trials.jsonl", unreadable)) throw;
    const auto* ours = dynamic_cast<const Error*>(&error);
    if (ours != nullptr && ours->code() == ExitCode::kInterrupted)
      tell("interrupted; " + how_to_resume("go on with", folder, options, options.retry_failed) + "\n");
    const bool wanting = ours == nullptr ? ran_out(error).has_value() : ours->code() == ExitCode::kEnvironment;
    if (!wanting) throw;
    throw environment_error(ran_out(error).value_or(error.what()) + "; then " +
                            how_to_resume("go on with", folder, options, true));
  }
}

}  // namespace hopbench
