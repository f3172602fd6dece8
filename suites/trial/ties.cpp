#include "suites/trial/ties.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "backends/base/error.h"
#include "protocols/node/protocol.h"
#include "suites/trial/execute.h"

namespace hopbench {
namespace {

constexpr double kMostApart = 1.05;

bool follows_values(const TrialSpec& spec) {
  const Protocol& protocol = find_protocol(spec.protocol);
  if (protocol.control == nullptr) return false;
  const Control control = protocol.control(spec.knobs);
  return control == Control::kValues || control == Control::kLockstepByValues;
}

/// Returns why the trial fails in that order; "" if it does not fail.
std::string failure_in_order(const TrialSpec& spec, Board* board, double& samples_per_s) {
  try {
    const TrialRecord record = simulate_trial(spec, nullptr, board);
    samples_per_s = record.samples_per_s;
    return record.status == TrialStatus::kOk ? "" : record.failure.text;
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace

TrialSpec rate_alone(const TrialSpec& spec) {
  TrialSpec other = spec;
  other.shuffles = 0;
  other.events = EventDetail::kNone;
  other.workload.evaluation_samples = 0;
  other.workload.numbers = follows_values(spec);
  return other;
}

void mark_ties(TrialRecord& record, const TrialSpec& spec, Board* board) {
  if (record.status != TrialStatus::kOk) return;
  double least = record.samples_per_s, most = least;
  TrialSpec other = rate_alone(spec);
  other.ties_alone = true;
  for (int i = 1; i <= spec.shuffles; ++i) {
    other.shuffle = spec.shuffle + static_cast<std::uint64_t>(i);
    double rate = 0;
    if (const std::string why = failure_in_order(other, board, rate); !why.empty()) {
      record.warnings.emplace_back(WarningKind::kDependsOnTies, fmt::format("order {} fails: {}", other.shuffle, why));
      return;
    }
    least = std::min(least, rate);
    most = std::max(most, rate);
  }
  if (most <= kMostApart * least) return;
  record.warnings.emplace_back(WarningKind::kDependsOnTies, fmt::format("{:.4g} to {:.4g} samples/s", least, most));
}

}  // namespace hopbench
