#include "backends/runtime/process/launch_text.h"

#include <sys/wait.h>

#include <cstring>

#include "backends/base/text.h"
#include "backends/runtime/process/spawn.h"

namespace hopbench {

std::string rank_name(int rank) { return "rank " + std::to_string(rank); }

std::string seconds_text(Duration duration) { return duration_text(duration.count()); }

std::string how_it_ended(int status) {
  if (!WIFSIGNALED(status)) {
    const int code = WEXITSTATUS(status);
    return code == kCannotExecute ? "could not be started (see ulimit -n and ulimit -u: open files and processes)"
                                  : "exited with code " + std::to_string(code);
  }
  const int signal = WTERMSIG(status);
  const char* name = sigabbrev_np(signal);
  return "was killed by signal " + std::to_string(signal) + (name != nullptr ? std::string(" (SIG") + name + ")" : "");
}

FailureKind kind_of_end(int status) {
  if (WIFSIGNALED(status)) return FailureKind::kKilled;
  return WEXITSTATUS(status) == kCannotExecute ? FailureKind::kEnvironment : FailureKind::kExited;
}

std::string doing(const RankSlot& slot) {
  const Phase phase = slot.phase;
  const std::int64_t iteration = slot.iteration;
  std::string text = to_string(phase);
  if (iteration >= 0)
    text += (phase == Phase::kComputing ? " iteration " : " in iteration ") + std::to_string(iteration);
  if (phase == Phase::kWaiting) {
    const std::size_t n = strnlen(slot.waiting_for, sizeof slot.waiting_for);
    if (n > 0) text += ": " + std::string(slot.waiting_for, n);
  }
  return text;
}

std::string what_it_did(const RankSlot& slot) { return "while " + doing(slot); }

std::string since(const RankSlot& slot, std::int64_t now) {
  const std::int64_t ms = slot.since > 0 ? (now - slot.since) / 1'000'000 : 0;
  const std::size_t n = slot.phase == Phase::kWaiting ? strnlen(slot.silent, sizeof slot.silent) : 0;
  return (ms > 0 ? ", for " + duration_text(ms * 1'000'000) : "") +
         (n > 0 ? "; nothing since then from " + std::string(slot.silent, n) : "");
}

}  // namespace hopbench
