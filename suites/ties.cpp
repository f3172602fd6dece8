#include "suites/ties.h"

#include <fmt/format.h>

#include <algorithm>

#include "protocols/protocol.h"
#include "suites/execute.h"

namespace hopbench {
namespace {

constexpr double kMostApart = 1.05;

bool follows_values(const TrialSpec& spec) {
  const Protocol& protocol = find_protocol(spec.protocol);
  if (protocol.control == nullptr) return false;
  const Control control = protocol.control(spec.knobs);
  return control == Control::kValues || control == Control::kLockstepByValues;
}

/// The trial as it is repeated: for its rate alone.
TrialSpec rate_alone(const TrialSpec& spec) {
  TrialSpec other = spec;
  other.shuffles = 0;
  other.events = EventDetail::kNone;
  other.workload.evaluation_samples = 0;
  other.workload.numbers = follows_values(spec);
  return other;
}

}  // namespace

void mark_ties(TrialRecord& record, const TrialSpec& spec, Board* board) {
  if (record.status != TrialStatus::kOk) return;
  double least = record.samples_per_s, most = least;
  TrialSpec other = rate_alone(spec);
  for (int i = 1; i <= spec.shuffles; ++i) {
    other.shuffle = spec.shuffle + static_cast<std::uint64_t>(i);
    const TrialRecord shuffled = simulate_trial(other, nullptr, board);
    if (shuffled.status != TrialStatus::kOk) continue;
    least = std::min(least, shuffled.samples_per_s);
    most = std::max(most, shuffled.samples_per_s);
  }
  if (most <= kMostApart * least) return;
  record.warnings.emplace_back(WarningKind::kDependsOnTies, fmt::format("{:.4g} to {:.4g} samples/s", least, most));
}

}  // namespace hopbench
