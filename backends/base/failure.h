// Reasons why a trial failed. The kind and the rank decide what the program does about it. The text is for people only.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

namespace hopbench {

enum class FailureKind : std::uint8_t {
  kNone,         // the trial ended well
  kError,        // the trial went wrong by itself: in virtual time it does so each time
  kScenario,     // the protocol stops because the scenario took a worker
  kEnvironment,  // the machine lacked something: memory, a process, a file, disk space
  kKilled,       // a signal killed a rank
  kExited,       // a rank ended without a result and without an error
  kLost,         // the machine of a rank cannot be reached
  kStopped,      // a rank was stopped (SIGSTOP) for longer than --stall-timeout
  kStalled,      // no rank made progress for --stall-timeout
  kNotReady,     // the ranks did not meet within --rendezvous-timeout
  kTimeLimit,    // the trial took longer than --trial-timeout
  kInterrupted,  // the user ended it
};
inline constexpr int kFailureKinds = 12;

/// Returns `text`. Each text of a failure, a warning and a suite's note passes through this function when it is made. A
/// test links another definition that replaces them all, and so shows that no decision depends on a text.
std::string message_text(std::string text);

struct Failure {
  Failure() = default;
  Failure(FailureKind its_kind, int its_rank, std::string its_text)
      : kind(its_kind), rank(its_rank), text(message_text(std::move(its_text))) {}

  FailureKind kind = FailureKind::kNone;
  int rank = -1;     // the rank that failed, which the text names; -1: unknown, or not one single rank
  std::string text;  // rank, signal or error, phase; the first line says what happened. Empty: unknown
};

}  // namespace hopbench
