// Hop's settings, what they mean, and which of them have no rule (protocols/hop/hop.cpp).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "protocols/node/protocol.h"

namespace hopbench::hop {

/// The knobs of a run, read once.
struct HopSettings {
  explicit HopSettings(const KnobValues& knobs);

  int max_ig;  // 0: there are no token queues
  int backup, staleness, max_jump, skip_trigger;
  bool parallel, keep_self, keeps_momentum, check_receiver, acknowledges, reuse;

  bool skips() const { return max_jump > 1; }
  /// Returns true if a jump is decided before the step, so that the gradient that it throws away never makes a step.
  /// The serial form cannot do this, because it has sent that step before it knows.
  bool drops() const { return skips() && parallel && !keep_self && !keeps_momentum; }
};

std::vector<Knob> hop_knobs();
/// Returns the bound by the table of gaps (tests/checkers/gap_bound.cpp checks every run against it, pair by pair).
std::optional<std::int64_t> hop_gap_bound(const Setting& setting);
/// Returns kWork with backup workers, whose updates may all come too late, and with jumps, which throw gradients away.
Changes hop_changes(const Setting& setting);
/// Returns a note about a default that changed, for a setting that relies on it; empty for all others.
std::string hop_note(const Setting& setting);
/// Returns why a setting has no rule; empty if it has one.
std::string hop_refuses(const Setting& setting);

}  // namespace hopbench::hop
