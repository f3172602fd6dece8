// The words for the kinds of failures and warnings in JSON and tables, and what follows from a kind.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "backends/base/record/trial_record.h"

namespace hopbench {

/// The rows of bounds below the variants of a table of rates.
inline constexpr std::string_view kIdealRow = "ideal", kSlowestRow = "slowest rank",
                                  kWithoutSlowestRow = "slowest left out";

/// Returns the word of a kind: "scenario", "time limit"; "not steady", "cpu-contended".
const char* to_string(FailureKind kind);
const char* to_string(WarningKind kind);
/// Returns the kind with this word; kError if there is none, as in a record of a later version.
FailureKind failure_kind(std::string_view word);
/// Returns the kind with this word; kOther if there is none.
WarningKind warning_kind(std::string_view word);
/// Returns a sentence about the kind.
const char* explanation_of(WarningKind kind);
/// Returns the same, or "" if the warning's text is enough.
const char* meaning_of(WarningKind kind);
/// Returns "overpaced: the pace is above ...", or the word alone if the warning has no text.
std::string in_words(const Warning& warning);
bool has(std::span<const Warning> warnings, WarningKind kind);

/// Returns true if a failed trial may end well when it is run again: a limit, a signal or the machine ended it.
bool may_pass(FailureKind kind);
/// Returns the first line of the failure's text. The further lines say what each rank did.
std::string what_happened(const Failure& failure);

}  // namespace hopbench
