#include "results/files/older_rows.h"

#include <charconv>
#include <string_view>

#include "backends/base/record/kinds.h"

namespace hopbench {
namespace {

struct Words {
  const char* text;
  FailureKind kind;
};

/// The first entry that the first line contains decides.
constexpr Words kWords[] = {
    {"as the scenario says: ", FailureKind::kScenario},
    {"stalled: ", FailureKind::kStalled},
    {"has been stopped", FailureKind::kStopped},
    {"not ready within", FailureKind::kNotReady},
    {"-timeout", FailureKind::kTimeLimit},
    {"killed by signal", FailureKind::kKilled},
    {"cannot write ", FailureKind::kEnvironment},
    {"cannot open ", FailureKind::kEnvironment},
    {"cannot start a thread", FailureKind::kEnvironment},
    {"out of memory", FailureKind::kEnvironment},
    {"ulimit", FailureKind::kEnvironment},
    {"was lost: ", FailureKind::kLost},
    {"exited with code", FailureKind::kExited},
};

FailureKind kind_of(std::string_view text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  for (const Words& words : kWords) {
    if (line.find(words.text) != std::string_view::npos) return words.kind;
  }
  return FailureKind::kError;
}

/// Returns 3 for "rank 3 ..."; -1 if the text does not begin with a rank.
int rank_of(std::string_view text) {
  constexpr std::string_view kRank = "rank ";
  int rank = -1;
  if (text.starts_with(kRank)) std::from_chars(text.data() + kRank.size(), text.data() + text.size(), rank);
  return rank;
}

}  // namespace

void recall_failure(TrialRecord& record) {
  Failure& failure = record.failure;
  failure.rank = record.status == TrialStatus::kFailed ? rank_of(failure.text) : -1;
  switch (record.status) {
    case TrialStatus::kOk:
      failure.kind = FailureKind::kNone;
      break;
    case TrialStatus::kInterrupted:
      failure.kind = FailureKind::kInterrupted;
      break;
    case TrialStatus::kFailed:
      failure.kind = kind_of(failure.text);
      break;
  }
}

std::string text_without_kind(WarningKind kind, const std::string& words) {
  if (kind == WarningKind::kOther) return words;
  const std::string word = to_string(kind);
  if (words == word) return "";
  return words.starts_with(word + ": ") ? words.substr(word.size() + 2) : words;
}

void recall_kind(Warning& warning) {
  warning.kind = warning_kind(warning.text.substr(0, warning.text.find(':')));
  warning.text = text_without_kind(warning.kind, warning.text);
}

}  // namespace hopbench
