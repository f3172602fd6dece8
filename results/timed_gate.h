// Tier T2 of the gate: two programs in turns on one machine, and when their difference is a regression.
//
// A regression is what is beyond chance (the one-sided 95 % t-bound of log(head / base) is above 0, Holm's correction
// over all rows and metrics), beyond the machine's own noise and the threshold (the median is above both), and there
// again in a fresh set of pairs. So it was chosen by simulation: with 9 pairs and noise of 8 % it cries wolf in 0.2 %
// of all gates, where a stored baseline and a fixed 10 % do so in 30 % (docs/gate.md has what was measured since).
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "results/gate.h"

namespace hopbench {

struct TimedRule {
  int pairs = 9, most = 60;  // of a set; a set that decides nothing goes on to `most` once
  double threshold = 0.05;
};

/// A row cannot pass on a machine so loud that only a change of more than this many thresholds would show.
constexpr double kLoudest = 3;

/// Of one row: what base took and what head took when each had its turn, in seconds.
struct TimedPair {
  double base = 0, head = 0;
};

/// A pair for each row, in their order. `base_twice`: base has both turns, which shows the machine's noise.
using MeasurePair = std::function<std::vector<TimedPair>(bool base_twice)>;

/// What is timed: a trial, or a scenario and variant, and a clock ("time_s", "cpu_s").
struct TimedRow {
  std::string name, metric;
};

/// Measures and judges: a set of base twice (with more pairs if the machine is loud), a set of both, more pairs if some
/// row is undecided, and a fresh set if some row seems slower. Each row says its effective threshold: the rule's, or
/// what base differs from itself by. Above kLoudest times the rule's, a row without a change is kInconclusive.
GateResult timed_gate(const std::vector<TimedRow>& rows, const TimedRule& rule, const MeasurePair& measure);

/// What base twice differs by: the end farther from 0 of the 95 % interval of log(second / first).
double noise_floor(std::span<const TimedPair> base_twice);
/// Standard deviation of log(head / base): the noise of one pair.
double pair_noise(std::span<const TimedPair> pairs);

/// By Holm: which hypotheses are rejected at the level, given how likely each is by chance.
std::vector<bool> holm(std::span<const double> p, double level);

}  // namespace hopbench
