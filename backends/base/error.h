// Two kinds of failure, never mixed.
//
// Error: the environment or the user failed. It is thrown, gets context added on the way up, and is printed once in
// main as "what failed: why: what to do". It carries the process's exit code.
// HB_ASSERT: hopbench itself failed. Always on; prints the expression and its place in the source, then aborts.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "backends/base/failure.h"

namespace hopbench {

/// The process's exit codes. They are part of the interface and stay stable, because scripts and CI read them.
enum class ExitCode : int {
  kOk = 0,
  kRegression = 1,
  kUsage = 2,         // usage, suite or data file
  kTrialsFailed = 3,  // some trials failed, the others are recorded
  kInconclusive = 4,
  kNoBaseline = 5,
  kEnvironment = 6,  // a backend, transport, device or resource is missing
  kInterrupted = 130,
};

class Error : public std::runtime_error {
 public:
  Error(ExitCode code, const std::string& message)
      : std::runtime_error(message),
        code_(code),
        kind_(code == ExitCode::kEnvironment ? FailureKind::kEnvironment : FailureKind::kError) {}

  ExitCode code() const { return code_; }
  /// Returns the kind of failure if it ends a trial. rank(): the rank that failed (-1: unknown).
  FailureKind kind() const { return kind_; }
  int rank() const { return rank_; }

  /// Returns the same failure as seen from one level up: "while reading suites/a.toml: <message>".
  Error in(std::string_view context) const {
    return Error(code_, std::string(context) + ": " + what()).as(kind_, rank_);
  }
  /// Returns the same failure, with another kind.
  Error as(FailureKind kind, int rank = -1) const {
    Error error = *this;
    error.kind_ = kind;
    error.rank_ = rank;
    return error;
  }

 private:
  ExitCode code_;
  FailureKind kind_;
  int rank_ = -1;
};

inline Error usage_error(const std::string& message) { return Error(ExitCode::kUsage, message); }
inline Error environment_error(const std::string& message) { return Error(ExitCode::kEnvironment, message); }
inline Error trial_error(const std::string& message) { return Error(ExitCode::kTrialsFailed, message); }

/// Prints one line to stderr and aborts. The line includes the text that describe_process was given beforehand, which
/// says what is known about the process (rank, seed, how to repeat).
[[noreturn]] void assertion_failed(const char* expression, const char* file, int line, const std::string& detail);
void describe_process(const std::string& who_and_how_to_repeat);

}  // namespace hopbench

#define HB_ASSERT(expression)                                                             \
  do {                                                                                    \
    if (!(expression)) ::hopbench::assertion_failed(#expression, __FILE__, __LINE__, ""); \
  } while (false)

#define HB_ASSERT_MSG(expression, detail)                                                     \
  do {                                                                                        \
    if (!(expression)) ::hopbench::assertion_failed(#expression, __FILE__, __LINE__, detail); \
  } while (false)
