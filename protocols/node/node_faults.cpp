// Node: the scenario's faults of this rank (Fault). A crash at a time, which needs no turn, is handled by the runtime.
#include <limits>

#include "backends/base/record/event.h"
#include "backends/base/record/rank_record.h"
#include "protocols/node/node.h"

namespace hopbench {
namespace {

/// Thrown out of the body of a worker that leaves while it stays to answer others. Only Node::live catches it.
struct Leaves {};

constexpr int kNoMessage = std::numeric_limits<int>::max();  // wakes a rank that waits for a time only
constexpr const char* kEndOfHang = "the end of its hang";

}  // namespace

std::string why_stopped(const Protocol& protocol) {
  return "as the scenario says: " + std::string(protocol.name) + " stops when a worker is lost";
}

void Node::give_up(std::span<const int> dead, const std::string& why) const {
  const auto crashes = [&](int r) {
    return std::any_of(options_.scenario.faults.begin(), options_.scenario.faults.end(),
                       [r](const Fault& fault) { return fault.what == FaultKind::kCrash && fault.is_of(r); });
  };
  const bool wanted = std::all_of(dead.begin(), dead.end(), crashes);
  throw trial_error("rank " + std::to_string(rank) + " cannot go on" + (wanted ? ", as the scenario says: " : ": ") +
                    why)
      .as(wanted ? FailureKind::kScenario : FailureKind::kError, rank);
}

void Node::live(const std::function<void()>& body) {
  for (const Fault& fault : faults_) {
    const bool hangs = fault.what == FaultKind::kHang || fault.what == FaultKind::kRestart;
    if (!hangs || fault.at == kNever) continue;
    runtime_.spawn([this, fault] {
      runtime_.await([] { return false; }, fault.at, "the time at which it hangs", kNoMessage);
      hang(fault.lasts, fault.what);
    });
  }
  for (const Fault& fault : faults_) {
    if (fault.what != FaultKind::kJoin) continue;
    wait([] { return false; }, fault.at, "its time to join", kNoMessage);
    emit_fault(FaultKind::kJoin, now());
  }
  try {
    body();
  } catch (const Leaves&) {
  }
  finish();
}

/// Returns true if the rank leaves instead of beginning iteration k.
bool Node::leaves(Iter k) {
  if (options_.stop.credits == nullptr && k >= options_.stop.iterations) return false;
  const bool due = std::any_of(faults_.begin(), faults_.end(), [&](const Fault& fault) {
    return fault.what == FaultKind::kLeave && !fault.returns() && fault.is_due(k, now());
  });
  if (!due) return false;
  if (options_.protocol != nullptr && !continues(*options_.protocol, options_.knobs))
    throw trial_error("rank " + std::to_string(rank) + " left in iteration " + std::to_string(k) + ", " +
                      why_stopped(*options_.protocol))
        .as(FailureKind::kScenario, rank);
  record_->lost = to_string(FaultKind::kLeave);
  emit_fault(FaultKind::kLeave, now());
  return true;
}

/// Carries out the faults that come at iteration k, before its gradient.
void Node::meet_faults(Iter k) {
  const auto due = [&](const Fault& fault) {
    const bool here = fault.what == FaultKind::kHang || fault.what == FaultKind::kCrash;
    return here && fault.at == kNever && fault.is_due(k, now());
  };
  for (auto at = faults_.begin(); (at = std::find_if(faults_.begin(), faults_.end(), due)) != faults_.end();) {
    const Fault fault = *at;
    faults_.erase(at);  // before the turn is given away
    if (fault.what == FaultKind::kCrash) options_.crash();
    const Time since = now();
    hang(fault.lasts);
    if (!background_) waited(since, kEndOfHang);
  }
}

void Node::hang(Duration lasts, FaultKind what) {
  const Time since = now();
  stand_still(lasts);
  emit_fault(what, since);
}

/// Nothing of the rank runs until that time is over.
void Node::stand_still(Duration lasts) {
  const Time since = now();
  Work work;
  work.cost = work.nominal = lasts;
  work.yields = false;
  work.hang = true;
  occupy(std::move(work));
  hangs_.push_back({since, now()});
}

/// Records that the body waited from `since` until now, for `why` or, while the rank hung, for the end of the hang.
void Node::waited(Time since, const char* why) {
  for (const Hang& hang : hangs_) {
    if (hang.until <= since) continue;
    waited(since, hang.since, why);
    waited(std::max(since, hang.since), hang.until, kEndOfHang);
    since = hang.until;
  }
  waited(since, now(), why);
}

/// Returns how long the rank hung from the end of a piece of work until now. For the body, records it as a wait.
Duration Node::hung_since(Time over, bool background) {
  Duration hung{};
  for (const Hang& hang : hangs_) {
    const Time since = std::max(over, hang.since);
    if (hang.until <= since) continue;
    hung += hang.until - since;
    if (!background) waited(since, hang.until, kEndOfHang);
  }
  return hung;
}

void Node::emit_fault(FaultKind what, Time since) const {
  emit({.what = EventKind::kFault, .iter = entered_, .since = since, .text = to_string(what)});
}

void Node::leave_body() const {
  if (!record_->lost.empty()) throw Leaves{};
}

}  // namespace hopbench
