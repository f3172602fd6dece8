// What can be set of Hop, what its settings mean, and which of them have no rule (protocols/hop.cpp).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "protocols/protocol.h"

namespace hopbench {

/// The knobs of a run, read once.
struct HopSettings {
  explicit HopSettings(const KnobValues& knobs);

  int max_ig;  // 0: there are no token queues
  int backup, staleness, max_jump, skip_trigger;
  bool parallel, keep_self, keeps_momentum, check_receiver, acknowledges, reuse;

  bool skips() const { return max_jump > 1; }
  /// Returns true if a jump is decided before the step, so that what it throws away is never stepped with. The serial
  /// form cannot: it has sent that step before it knows.
  bool drops() const { return skips() && parallel && !keep_self && !keeps_momentum; }
};

std::vector<Knob> hop_knobs();
/// The table of gaps (tests/checkers/gap_bound.cpp holds every run against it, pair by pair).
std::optional<std::int64_t> hop_gap_bound(const Setting& setting);
/// A default that changed, for a setting which relies on it; empty for all others.
std::string hop_note(const Setting& setting);
/// Why a setting has no rule; empty if it has one.
std::string hop_refuses(const Setting& setting);

}  // namespace hopbench
