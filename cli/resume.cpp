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
#include "cli/tell.h"

namespace hopbench {

// ci/hopbench says by the environment how it was called.
std::string resume_command(const std::string& folder, const RunOptions& options) {
  const char* called = std::getenv("HOPBENCH_COMMAND");
  std::string command = fmt::format("{} run --resume {}", called != nullptr ? called : "hopbench", shell_word(folder));
  if (!options.filter.empty()) command += " --filter " + shell_word(options.filter);
  if (!options.exclude.empty()) command += " --exclude " + shell_word(options.exclude);
  if (!options.hosts.empty()) command += " --hosts " + shell_word(options.hosts) + " --ssh " + shell_word(options.ssh);
  return command;
}

void telling_how_to_go_on(const std::string& folder, const RunOptions& options, const std::function<void()>& body) {
  try {
    body();
  } catch (const std::exception& error) {
    std::error_code unreadable;
    if (folder.empty() || !std::filesystem::exists(folder + "/trials.jsonl", unreadable)) throw;
    const std::string command = resume_command(folder, options);
    const auto* ours = dynamic_cast<const Error*>(&error);
    if (ours != nullptr && ours->code() == ExitCode::kInterrupted)
      tell("interrupted. Go on with:\n  " + command + "\n");
    const bool wanting = ours == nullptr ? ran_out(error).has_value() : ours->code() == ExitCode::kEnvironment;
    if (!wanting) throw;
    throw environment_error(
        fmt::format("{}; then go on with: {} --retry-failed", ran_out(error).value_or(error.what()), command));
  }
}

}  // namespace hopbench
