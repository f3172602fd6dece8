#include "suites/import/decompose.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "backends/base/error.h"
#include "results/arithmetic/statistics.h"

namespace hopbench {
namespace {

constexpr double kLeastDeviation = 0.01;  // of a logarithm: 1 %
constexpr double kRounding = 1e-24;       // squares of logarithms: up to here they are rounding errors

/// A number for each rank and step: that of rank r and the t-th step is values[r * steps.size() + t].
struct Table {
  std::vector<std::int32_t> steps;  // that every rank has
  std::vector<double> values;

  std::size_t size() const { return values.size(); }
  std::size_t step_of(std::size_t i) const { return i % steps.size(); }
  std::size_t rank_of(std::size_t i) const { return i / steps.size(); }
  /// Returns true if the next value is of the same rank and of the step after this one.
  bool consecutive(std::size_t i) const {
    const std::size_t step = step_of(i);
    return step + 1 < steps.size() && steps[step + 1] == steps[step] + 1;
  }
  std::vector<double> sorted() const {
    std::vector<double> all = values;
    std::sort(all.begin(), all.end());
    return all;
  }
};

/// Takes the seconds of the steps that every rank has out of the rows, which free their memory on the way.
Table take_seconds(TraceRows& rows) {
  Table table{.steps = steps_of(rows, true), .values = {}};
  table.values.reserve(rows.size());
  auto next = table.steps.begin();
  for (std::int32_t rank = -1; !rows.empty(); rows.pop_front()) {
    const TraceRow& row = rows.front();
    if (row.rank != rank) next = table.steps.begin();
    rank = row.rank;
    while (next != table.steps.end() && *next < row.step) ++next;
    if (next != table.steps.end() && *next == row.step) table.values.push_back(row.seconds);
  }
  return table;
}

std::int64_t longest_run(const Table& table) {
  std::int64_t run = 0, longest = 0;
  for (std::size_t t = 0; t < table.steps.size(); ++t) {
    run = t > 0 && table.consecutive(t - 1) ? run + 1 : 1;
    longest = std::max(longest, run);
  }
  return longest;
}

void compare_slowest(const Table& seconds, Decomposition& to) {
  const std::size_t steps = seconds.steps.size();
  for (std::size_t t = 0; t < steps; ++t) {
    double sum = 0, most = 0;
    for (std::size_t i = t; i < seconds.size(); i += steps) {
      sum += seconds.values[i];
      most = std::max(most, seconds.values[i]);
    }
    const double ratio = most / (sum / to.ranks);
    to.slowest_over_mean += ratio / double(steps);
    to.largest_slowest_over_mean = std::max(to.largest_slowest_over_mean, ratio);
  }
}

/// Returns the p-quantile of ascending values by linear interpolation.
double quantile_of_sorted(const std::vector<double>& sorted, double p) {
  const double at = p * double(sorted.size() - 1);
  const auto below = std::size_t(at);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - double(below)) * (sorted[above] - sorted[below]);
}

void set_quantiles(const std::vector<double>& sorted, Decomposition& to) {
  to.median = quantile_of_sorted(sorted, 0.5);
  to.q90 = quantile_of_sorted(sorted, 0.9);
  to.q99 = quantile_of_sorted(sorted, 0.99);
  to.largest = sorted.back();
}

/// The effects of ranks and of steps on logarithms.
struct Effects {
  double mean = 0;
  std::vector<double> ranks, steps;
};

Effects effects_in(const Table& logs) {
  Effects effects{.ranks = std::vector<double>(logs.size() / logs.steps.size()),
                  .steps = std::vector<double>(logs.steps.size())};
  for (const double value : logs.values) effects.mean += value / double(logs.size());
  for (std::size_t i = 0; i < logs.size(); ++i) {
    const double above = logs.values[i] - effects.mean;
    effects.ranks[logs.rank_of(i)] += above / double(effects.steps.size());
    effects.steps[logs.step_of(i)] += above / double(effects.ranks.size());
  }
  return effects;
}

double sum_of_squares(const std::vector<double>& values, double times) {
  double sum = 0;
  for (const double value : values) sum += times * value * value;
  return sum;
}

/// Returns true if a mean square is larger than that of the rest by more than chance.
bool is_more_than_chance(double squares, double freedom, double rest_squares, double rest_freedom) {
  if (freedom <= 0 || rest_freedom <= 0) return false;
  const double least = 1 + 3 * std::sqrt(2 / freedom + 2 / rest_freedom);
  return squares / freedom > least * (rest_squares / rest_freedom);
}

/// The products of consecutive values, and the squares that they would be if each value were as the one before.
struct Products {
  double products = 0, squares = 0;
  std::int64_t pairs = 0;

  /// Returns 0 if `count` values deviate by rounding errors only.
  double autocorrelation(double count) const { return squares > kRounding * count ? products / squares : 0; }
};

template <class ValueAt>
Products products_of(const Table& table, std::size_t count, const ValueAt& value_at) {
  Products sum;
  for (std::size_t i = 0; i < count; ++i) {
    if (!table.consecutive(i)) continue;
    const double here = value_at(i), next = value_at(i + 1);
    sum.products += here * next;
    sum.squares += (here * here + next * next) / 2;
    ++sum.pairs;
  }
  return sum;
}

/// Sets the shares of the variance, and if ranks and steps differ.
void compare_effects(const Table& logs, const Effects& effects, Decomposition& to) {
  const double ranks = double(effects.ranks.size()), steps = double(effects.steps.size());
  const auto rest_at = [&](std::size_t i) {
    return logs.values[i] - effects.mean - effects.ranks[logs.rank_of(i)] - effects.steps[logs.step_of(i)];
  };
  double of_ranks = sum_of_squares(effects.ranks, steps), of_steps = sum_of_squares(effects.steps, ranks), of_rest = 0;
  for (std::size_t i = 0; i < logs.size(); ++i) of_rest += rest_at(i) * rest_at(i);
  if (to.ranks == 1) std::swap(of_steps, of_rest);  // one rank does not tell steps from chance
  const double all = of_ranks + of_steps + of_rest;
  if (all > kRounding * double(logs.size())) {
    to.between_ranks = of_ranks / all;
    to.between_steps = of_steps / all;
    to.rest = of_rest / all;
  }
  const double rank_freedom = ranks - 1, step_freedom = steps - 1;
  const auto differ = [&](double squares, double freedom, double each, double rest) {
    return is_more_than_chance(squares, freedom, rest, rank_freedom * step_freedom) &&
           std::sqrt(squares / each / std::max(freedom, 1.0)) >= kLeastDeviation;
  };
  const double memory = products_of(logs, logs.size(), rest_at).autocorrelation(double(logs.size()));
  to.ranks_differ = differ(of_ranks, rank_freedom, steps, of_rest * inflation_by(memory));
  to.steps_differ = differ(of_steps, step_freedom, ranks, of_rest);
}

void set_factors(const Effects& effects, Decomposition& to) {
  std::vector<double> sorted = effects.ranks;
  std::sort(sorted.begin(), sorted.end());
  const double middle = sorted[(sorted.size() - 1) / 2];  // a rank's own, not between two
  to.typical = std::exp(effects.mean + middle);
  for (const double effect : effects.ranks) to.factors.push_back(std::exp(effect - middle));
}

/// Returns the logarithms without the effects.
Table rest_of(Table logs, const Effects& effects) {
  for (std::size_t i = 0; i < logs.size(); ++i) {
    double& rest = logs.values[i];
    rest -= effects.mean + effects.ranks[logs.rank_of(i)] + effects.steps[logs.step_of(i)];
    if (std::abs(rest) < 1e-12) rest = 0;  // rounding has no memory
  }
  return logs;
}

void autocorrelate(const Table& rest, const Effects& effects, Decomposition& to) {
  const Products ranks = products_of(rest, rest.size(), [&](std::size_t i) { return rest.values[i]; });
  const Products steps = products_of(rest, rest.steps.size(), [&](std::size_t t) { return effects.steps[t]; });
  to.pairs = ranks.pairs;
  to.autocorrelation = ranks.autocorrelation(double(ranks.pairs));
  to.step_autocorrelation = steps.autocorrelation(double(rest.steps.size()));
}

/// Returns the Kolmogorov-Smirnov distance of ascending values from a normal distribution around 0.
double distance_from_normal(const std::vector<double>& sorted, double deviation) {
  double distance = 0;
  const auto count = double(sorted.size());
  for (std::size_t i = 0; i < sorted.size() && deviation > 0; ++i) {
    const double expected = 0.5 * std::erfc(-sorted[i] / deviation / std::sqrt(2.0));
    distance = std::max({distance, expected - double(i) / count, double(i + 1) / count - expected});
  }
  return distance;
}

/// Returns the two levels that describe ascending values best, and the cut between them in `cut`.
TwoLevels levels_of(const std::vector<double>& sorted, double& cut) {
  TwoLevels levels;
  const double count = double(sorted.size());
  double sum = 0, squares = 0, below = 0, best = 0;
  for (const double value : sorted) {
    sum += value;
    squares += value * value;
  }
  for (std::size_t i = 0; i + 1 < sorted.size(); ++i) {
    below += sorted[i];
    if (sorted[i] == sorted[i + 1]) continue;
    const double normal = double(i + 1), slow = count - normal;
    const double low = below / normal, high = (sum - below) / slow;
    const double between = normal * slow / count * (high - low) * (high - low);
    if (between <= best) continue;
    best = between;
    cut = (sorted[i] + sorted[i + 1]) / 2;
    levels.factor = std::exp(high - low);
    levels.slow_share = slow / count;
    levels.normal_level = low;
  }
  if (squares > 0) levels.explained = best / squares;
  return levels;
}

/// Sets the mean lengths of phases above and below the cut.
void measure_phases(const Table& rest, double cut, TwoLevels& levels) {
  std::int64_t slow = 0, normal = 0, slow_ends = 0, normal_ends = 0;
  for (std::size_t i = 0; i < rest.size(); ++i) {
    if (!rest.consecutive(i)) continue;
    const bool here = rest.values[i] > cut, next = rest.values[i + 1] > cut;
    ++(here ? slow : normal);
    if (here != next) ++(here ? slow_ends : normal_ends);
  }
  if (slow_ends > 0) levels.slow_steps = double(slow) / double(slow_ends);
  if (normal_ends > 0) levels.normal_steps = double(normal) / double(normal_ends);
}

}  // namespace

double inflation_by(double autocorrelation) {
  const double memory = std::clamp(autocorrelation, 0.0, 0.99);
  return (1 + memory) / (1 - memory);
}

Decomposition decompose(TraceRows& rows) {
  const auto all = std::int64_t(rows.size());
  Decomposition to;
  to.ranks = rows.empty() ? 0 : rows.back().rank + 1;
  Table table = take_seconds(rows);
  to.steps = std::int64_t(table.steps.size());
  to.left_out = all - std::int64_t(table.size());
  if (table.values.empty()) return to;
  to.longest_run = longest_run(table);
  compare_slowest(table, to);
  set_quantiles(table.sorted(), to);

  for (double& value : table.values) value = std::log(value);
  Effects effects = effects_in(table);
  compare_effects(table, effects, to);
  if (!to.ranks_differ) effects.ranks.assign(effects.ranks.size(), 0);
  if (!to.steps_differ) effects.steps.assign(effects.steps.size(), 0);
  set_factors(effects, to);

  const Table rest = rest_of(std::move(table), effects);
  to.rest_deviation = std::sqrt(sum_of_squares(rest.values, 1) / double(std::max<std::size_t>(rest.size() - 1, 1)));
  autocorrelate(rest, effects, to);
  to.step_deviation = effects.steps.size() > 1 ? deviation(effects.steps) : 0;
  std::sort(effects.steps.begin(), effects.steps.end());
  to.step_distance = distance_from_normal(effects.steps, to.step_deviation);
  const std::vector<double> sorted = rest.sorted();
  to.rest_distance = distance_from_normal(sorted, to.rest_deviation);
  double cut = 0;
  to.levels = levels_of(sorted, cut);
  measure_phases(rest, cut, to.levels);
  return to;
}

}  // namespace hopbench
