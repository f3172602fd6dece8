// Fragments of a model that are sent one after the other: Streaming and Decoupled DiLoCo.
#pragma once

#include <string>

#include "protocols/node/node.h"

namespace hopbench::outer {

/// The plan of the fragments that are sent, by the number of local steps. Fragment p of P is sent after steps H + p H /
/// P, 2 H + p H / P, ..., rounded down: each once in H steps, none with another.
struct FragmentPlan {
  Iter period;
  std::size_t fragments;

  explicit FragmentPlan(const KnobValues& knobs)
      : period(knobs.integer("period")), fragments(static_cast<std::size_t>(knobs.integer("fragments"))) {}

  /// Returns the fragment that is sent after this number of steps; `fragments` if none is.
  std::size_t sent_after(Iter steps) const {
    const auto offset = [&](std::size_t p) { return static_cast<Iter>(p) * period / static_cast<Iter>(fragments); };
    std::size_t p = 0;
    while (p < fragments && (steps < period || (steps - offset(p)) % period != 0)) ++p;
    return p;
  }
  /// Returns the fewest steps between two sends.
  Iter shortest() const { return period / static_cast<Iter>(fragments); }
};

/// Returns the knob `fragments`.
Knob fragments_knob();
/// Returns why there cannot be as many fragments as the knobs ask for; empty if there can.
std::string too_many_fragments(const Setting& setting);

}  // namespace hopbench::outer
