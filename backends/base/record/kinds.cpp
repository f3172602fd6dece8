#include "backends/base/record/kinds.h"

#include <algorithm>
#include <iterator>

namespace hopbench {
namespace {

constexpr const char* kFailureWords[] = {"none", "error",   "scenario", "environment", "killed",     "exited",
                                         "lost", "stopped", "stalled",  "not ready",   "time limit", "interrupted"};
static_assert(std::size(kFailureWords) == kFailureKinds);

struct WarningWords {
  const char *word, *meaning;
  bool text_is_enough = false;  // of such a warning: a table needs no note on it
};
constexpr WarningWords kWarningWords[] = {
    {"other", "a mark of a later version: only its text is known", true},
    {"not steady", "samples/s of the two halves of the window differ by more than 10 %"},
    {"no steady window", "too short to leave a warm-up out: rates are over the whole trial"},
    {"oversubscribed", "more than 5 % of the iterations did not fit their pace: the machine set the speed"},
    {"cpu-contended", "a rank waited for a core for more than 5 % of the trial"},
    {"overpaced", "the pace is above 3 x the p99 of a step"},
    {"above ideal",
     "the rate is over 1 % above what the devices could compute: the suite's cost is not what a gradient took", true},
    {"fault never came",
     "a fault or a slowdown of the scenario found nothing to do: a note below the table says which, and why", true},
    {"late links",
     "emulated messages of a rank were late by over 5 % of an iteration: links were slower than the suite says", true},
    {"diverged", "a training loss, an evaluated loss or the final model is not finite; it still counts in n"},
    {"measured again", "the machine disturbed the trial, so it ran again, whatever had come out; the last run counts",
     true},
    {"kept by --force", "measured before the settings of a resumed run were changed", true},
    {"short warm-up",
     "shorter than twice the iterations that a rank may be ahead of another, or fast workers ran ahead in the window, "
     "so "
     "rates may hold a start that does not last"},
    {"moves data",
     "workers compute on samples of other workers' parts, at no cost: the others see none of a skewed split's classes"},
    {"depends on ties", "samples/s change by more than 5 % where what happens at one instant happens in another order"},
    {"unchanged",
     "the final models are the initial one, so no update reached them: some knob waits for more than the trial has"},
};
static_assert(std::size(kWarningWords) == kWarningKinds);

const WarningWords& words_of(WarningKind kind) { return kWarningWords[static_cast<int>(kind)]; }

std::string up_to_break(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

const char* to_string(FailureKind kind) { return kFailureWords[static_cast<int>(kind)]; }

FailureKind failure_kind(std::string_view word) {
  const auto* const found = std::find(std::begin(kFailureWords), std::end(kFailureWords), word);
  if (found == std::end(kFailureWords)) return FailureKind::kError;
  return static_cast<FailureKind>(found - std::begin(kFailureWords));
}

const char* to_string(WarningKind kind) { return words_of(kind).word; }
const char* explanation_of(WarningKind kind) { return words_of(kind).meaning; }
const char* meaning_of(WarningKind kind) { return words_of(kind).text_is_enough ? "" : words_of(kind).meaning; }

WarningKind warning_kind(std::string_view word) {
  for (int k = 0; k < kWarningKinds; ++k) {
    if (word == kWarningWords[k].word) return static_cast<WarningKind>(k);
  }
  return WarningKind::kOther;
}

std::string in_words(const Warning& warning) {
  if (warning.kind == WarningKind::kOther) return warning.text;
  return to_string(warning.kind) + (warning.text.empty() ? "" : ": " + warning.text);
}

bool has(std::span<const Warning> warnings, WarningKind kind) {
  return std::any_of(warnings.begin(), warnings.end(), [&](const Warning& warning) { return warning.kind == kind; });
}

bool may_pass(FailureKind kind) {
  switch (kind) {
    case FailureKind::kEnvironment:
    case FailureKind::kKilled:
    case FailureKind::kLost:
    case FailureKind::kStopped:
    case FailureKind::kStalled:
    case FailureKind::kNotReady:
    case FailureKind::kTimeLimit:
    case FailureKind::kInterrupted:
      return true;
    case FailureKind::kNone:
    case FailureKind::kError:
    case FailureKind::kScenario:
    case FailureKind::kExited:
      return false;
  }
  return false;
}

std::string what_happened(const Failure& failure) {
  return failure.text.empty() ? "no reason is known" : up_to_break(failure.text);
}

}  // namespace hopbench
