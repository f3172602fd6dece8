// Slowness that lasts: a worker or a link is slow for a while, then normal for a while, each for an exponential time.
#pragma once

#include "backends/base/random.h"
#include "backends/base/time.h"

namespace hopbench {

/// A Markov chain in time with two states, in its stationary distribution from time 0 on. Its state is constant within
/// steps of 1/64 of the shorter mean, so a stay that is shorter than that may be missed.
struct SlowPhases {
  Duration slow{}, normal{};  // mean length of a stay

  /// Returns true if it is slow at `now`. A pure function: the state is drawn at the ends of long intervals and then,
  /// given these, in their middles, and so on (about 15 draws). `skipped` draws of each stream belong to other rules.
  bool slow_at(RandomKey key, std::size_t skipped, Time now) const;
  /// Returns the first instant after `now` at which slow_at() differs from its value at `now`. If there is none within
  /// a long interval (at most 8192 steps), returns the end of that interval, where nothing may change. A pure function.
  Time next_change(RandomKey key, std::size_t skipped, Time now) const;
};

}  // namespace hopbench
