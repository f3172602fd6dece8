#include "backends/runtime/markov.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

namespace hopbench {
namespace {

constexpr std::int64_t kSteps = 64;  // in the shorter mean
/// Intervals of 2^kLevels steps, 128 times the shorter mean, have independent ends: their correlation is below e^-128.
constexpr int kLevels = 13;

/// The probability of slow, and the correlation of two states 2^level steps apart.
struct Chain {
  double slow;
  std::array<double, kLevels + 1> correlation;

  /// Returns the probability that the chain is slow some steps after a state.
  double slow_after(bool state, int level) const {
    return slow + ((state ? 1.0 : 0.0) - slow) * correlation[std::size_t(level)];
  }
  double probability(bool from, bool to, int level) const {
    const double p = slow_after(from, level);
    return to ? p : 1 - p;
  }
  /// Returns the probability of slow in the middle between two states that are 2^(level + 1) steps apart.
  double slow_between(bool before, bool after, int level) const {
    const double yes = probability(before, true, level) * probability(true, after, level);
    const double no = probability(before, false, level) * probability(false, after, level);
    return yes / (yes + no);
  }
};

Chain chain_of(double slow_s, double normal_s, double step_s) {
  Chain chain{slow_s / (slow_s + normal_s), {}};
  double correlation = std::exp(-step_s * (1 / slow_s + 1 / normal_s));
  for (double& each : chain.correlation) {
    each = correlation;
    correlation *= correlation;
  }
  return chain;
}

}  // namespace

bool SlowPhases::slow_at(RandomKey key, std::size_t skipped, Time now) const {
  const Duration step = std::max(std::min(slow, normal) / kSteps, Duration{1});
  const Chain chain = chain_of(to_seconds(slow), to_seconds(normal), to_seconds(step));
  const auto draw = [&](std::int64_t at, double probability) {
    key.iteration = at;
    Random random(key);
    for (std::size_t other = 0; other < skipped; ++other) random.next_u32();
    return random.chance(probability);
  };
  const std::int64_t at = now.time_since_epoch() / step;
  std::int64_t first = at >> kLevels << kLevels, last = first + (std::int64_t{1} << kLevels);
  bool before = draw(first, chain.slow), after = draw(last, chain.slow);
  for (int level = kLevels - 1; level >= 0 && first != at; --level) {
    const std::int64_t middle = first + (std::int64_t{1} << level);
    const bool state = draw(middle, chain.slow_between(before, after, level));
    (middle <= at ? first : last) = middle;
    (middle <= at ? before : after) = state;
  }
  return before;
}

}  // namespace hopbench
