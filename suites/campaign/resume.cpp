#include "suites/campaign/resume.h"

#include <fmt/format.h>

#include <exception>
#include <filesystem>
#include <optional>
#include <system_error>

#include "backends/base/error.h"
#include "backends/base/process/tell.h"
#include "backends/base/ran_out.h"
#include "backends/base/text.h"
#include "suites/campaign/join.h"
#include "suites/campaign/shard.h"

namespace hopbench {

namespace {

// Returns a command for the same trials, under the same limits, and for the same rendezvous unless that has a password.
// ci/hopbench says in an environment variable how it was called.
std::string resume_command(const std::string& folder, const CampaignOptions& options) {
  std::string command = fmt::format("{} run --resume {}", called_program(), shell_word(folder));
  const auto give = [&](const char* flag, const std::string& value) {
    if (!value.empty()) command += std::string(" ") + flag + " " + shell_word(value);
  };
  give("--shard", options.shard);
  give("--filter", options.filter);
  give("--exclude", options.exclude);
  give("--trial-timeout", options.trial_timeout);
  give("--stall-timeout", options.stall_timeout);
  if (options.events != CampaignOptions().events) give("--events", options.events);
  if (options.shuffle != 0) give("--shuffle", std::to_string(options.shuffle));
  give("--dump", fmt::format("{}", fmt::join(options.dump, ",")));
  if (without_password(options.rendezvous) == options.rendezvous) give("--rendezvous", options.rendezvous);
  give("--rendezvous-timeout", options.rendezvous_timeout);
  give("--iface", options.interface);
  give("--hosts", options.hosts);
  if (!options.hosts.empty()) give("--ssh", options.ssh);
  if (options.force) command += " --force";
  return command;
}

}  // namespace

std::string how_to_resume(const std::string& alone, const std::string& folder, const CampaignOptions& options,
                          bool retry_failed) {
  const int processes = place_in_run(options).size;
  const std::string how =
      processes == 1 ? alone : fmt::format("start its {} processes again in the same way, with", processes);
  return how + ": " + resume_command(folder, options) + (retry_failed ? " --retry-failed" : "");
}

void tell_failures(const RunFolder& folder, const CampaignOptions& options) {
  std::size_t wanted = 0, same = 0, others = 0;
  for (const TrialRow& row : folder.rows()) {
    if (row.record.status == TrialStatus::kOk) continue;
    ++(row.record.failure.kind == FailureKind::kScenario ? wanted : fails_again(row) ? same : others);
  }
  const std::size_t all = folder.rows().size();
  if (wanted > 0) {
    tell(fmt::format(
        "{} of {} trials ended as their scenario says: these protocols stop when a worker is lost, or too many are\n",
        wanted, all));
  }
  if (same > 0) {
    tell(fmt::format(
        "{} of {} trials failed in virtual time, where they fail in the same way each time: their reasons say what to "
        "change in the suite\n",
        same, all));
  }
  if (others > 0) {
    tell(fmt::format("{} of {} trials failed; {}\n", others, all,
                     how_to_resume("run them again with", folder.path(), options, true)));
  }
}

void telling_how_to_go_on(const std::string& folder, const CampaignOptions& options,
                          const std::function<void()>& body) {
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
