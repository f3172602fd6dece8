#include "backends/runtime/markov.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>

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

/// The states of a chain at the steps of time, each drawn when it is asked for.
struct Steps {
  const SlowPhases& phases;
  RandomKey key;
  std::size_t skipped;
  Duration step = std::max(std::min(phases.slow, phases.normal) / kSteps, Duration{1});
  Chain chain = chain_of(to_seconds(phases.slow), to_seconds(phases.normal), to_seconds(step));

  bool draw(std::int64_t at, double probability) const {
    RandomKey own = key;
    own.iteration = at;
    Random random(own);
    random.skip(skipped);
    return random.chance(probability);
  }
  bool end(std::int64_t at) const { return draw(at, chain.slow); }
  /// Returns the state in the middle of an interval of 2^(level + 1) steps with these states at its ends.
  bool middle(std::int64_t at, bool before, bool after, int level) const {
    return draw(at, chain.slow_between(before, after, level));
  }
  std::int64_t number(Time now) const { return now.time_since_epoch() / step; }
};

/// The first step after `than` with another state than `state`.
struct Search {
  const Steps& steps;
  std::int64_t than;
  bool state;

  /// Searches the 2^level steps from `first` on. `before` and `after` are the states at `first` and after the last one.
  std::optional<std::int64_t> within(std::int64_t first, int level, bool before, bool after) const {
    if (first + (std::int64_t{1} << level) - 1 <= than) return std::nullopt;
    if (first > than && before != state) return first;
    if (level == 0) return std::nullopt;
    const std::int64_t middle = first + (std::int64_t{1} << (level - 1));
    const bool between = steps.middle(middle, before, after, level - 1);
    const auto found = within(first, level - 1, before, between);
    return found ? found : within(middle, level - 1, between, after);
  }
};

}  // namespace

bool SlowPhases::slow_at(RandomKey key, std::size_t skipped, Time now) const {
  const Steps steps{*this, key, skipped};
  const std::int64_t at = steps.number(now);
  std::int64_t first = at >> kLevels << kLevels, last = first + (std::int64_t{1} << kLevels);
  bool before = steps.end(first), after = steps.end(last);
  for (int level = kLevels - 1; level >= 0 && first != at; --level) {
    const std::int64_t middle = first + (std::int64_t{1} << level);
    const bool state = steps.middle(middle, before, after, level);
    (middle <= at ? first : last) = middle;
    (middle <= at ? before : after) = state;
  }
  return before;
}

Time SlowPhases::next_change(RandomKey key, std::size_t skipped, Time now) const {
  const Steps steps{*this, key, skipped};
  const std::int64_t at = steps.number(now), first = at >> kLevels << kLevels;
  const std::int64_t last = first + (std::int64_t{1} << kLevels);
  const Search search{steps, at, slow_at(key, skipped, now)};
  const std::int64_t change = search.within(first, kLevels, steps.end(first), steps.end(last)).value_or(last);
  return change < kLongestDuration / steps.step ? Time(change * steps.step) : Time(kLongestDuration);
}

}  // namespace hopbench
