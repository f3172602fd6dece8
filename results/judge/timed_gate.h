// Tier T2 of the gate: two programs in turns on one machine, and when their difference is a regression.
//
// A difference is a regression if it is beyond chance (the one-sided 95 % t-bound of log(head / base) is above 0),
// beyond the machine's noise and the threshold (the mean is above both), and there again in fresh pairs. The rule was
// chosen by simulation: false alarms of many rows are rare since both sets must show them (docs/gate.md).
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "results/judge/gate.h"

namespace hopbench {

struct TimedRule {
  int pairs = 9, most = 60;  // of a set; a set that decides nothing goes on to `most` once
  double threshold = 0.05;
};

/// The loudest noise, in thresholds. A row cannot pass on a machine so loud that only a larger change would show.
constexpr double kLoudest = 3;

/// The seconds that base and head took for one row when each had its turn.
struct TimedPair {
  double base = 0, head = 0;
};

/// A function that measures a pair for each row, in order. `base_twice`: base has both turns, which shows the noise.
using MeasurePair = std::function<std::vector<TimedPair>(bool base_twice)>;

/// A timed quantity: a trial, or a scenario and variant, and a clock ("time_s", "cpu_s").
struct TimedRow {
  std::string name, metric;
};

/// Measures and judges: a set of base twice (with more pairs if the machine is loud), a set of both, more pairs if some
/// row is undecided, and a fresh set if some row seems slower. Each row has its effective threshold: the rule's, or
/// noise_floor() if that is larger. Above kLoudest times the rule's, a row without a change is kInconclusive.
GateResult timed_gate(const std::vector<TimedRow>& rows, const TimedRule& rule, const MeasurePair& measure);

/// Returns the difference of base from itself: the end farther from 0 of the 95 % interval of log(second / first).
double noise_floor(std::span<const TimedPair> base_twice);
/// Returns the noise of one pair: the standard deviation of log(head / base).
double pair_noise(std::span<const TimedPair> pairs);

}  // namespace hopbench
