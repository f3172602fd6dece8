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

/// Keeps the rows of these steps. The row of rank r and the t-th step is then rows[r * steps.size() + t].
void keep_steps_of_all(TraceRows& rows, const std::vector<std::int32_t>& steps) {
  auto next = steps.begin();
  std::int32_t rank = -1;
  const auto end = std::remove_if(rows.begin(), rows.end(), [&](const TraceRow& row) {
    if (row.rank != rank) rank = row.rank, next = steps.begin();
    while (next != steps.end() && *next < row.step) ++next;
    return next == steps.end() || *next != row.step;
  });
  rows.erase(end, rows.end());
}

/// The rows, their steps and what is computed of them on the way.
class Decomposer {
 public:
  Decomposer(TraceRows& rows, Decomposition& to) : rows_(rows), to_(to), steps_(steps_of(rows, true)) {
    const auto all = std::int64_t(rows.size());
    to_.ranks = rows.empty() ? 0 : rows.back().rank + 1;
    keep_steps_of_all(rows_, steps_);
    to_.steps = std::int64_t(steps_.size());
    to_.left_out = all - std::int64_t(rows_.size());
  }

  void run() {
    if (rows_.empty()) return;
    longest_run();
    slowest();
    quantiles();
    effects();
    subtract_effects();
    autocorrelate();
    distribution();
    phases();
  }

 private:
  std::size_t step_of(std::size_t row) const { return row % steps_.size(); }
  bool consecutive(std::size_t row) const {  // to the next row
    const std::size_t step = step_of(row);
    return step + 1 < steps_.size() && steps_[step + 1] == steps_[step] + 1;
  }
  void sort_by_value() {
    std::sort(rows_.begin(), rows_.end(), [](const TraceRow& a, const TraceRow& b) { return a.seconds < b.seconds; });
  }
  void sort_by_place() {
    std::sort(rows_.begin(), rows_.end(), [](const TraceRow& a, const TraceRow& b) {
      return std::pair(a.rank, a.step) < std::pair(b.rank, b.step);
    });
  }

  void longest_run() {
    std::int64_t run = 0;
    for (std::size_t t = 0; t < steps_.size(); ++t) {
      run = t > 0 && consecutive(t - 1) ? run + 1 : 1;
      to_.longest_run = std::max(to_.longest_run, run);
    }
  }

  void slowest() {
    for (std::size_t t = 0; t < steps_.size(); ++t) {
      double sum = 0, most = 0;
      for (std::size_t row = t; row < rows_.size(); row += steps_.size()) {
        sum += rows_[row].seconds;
        most = std::max(most, rows_[row].seconds);
      }
      const double ratio = most / (sum / to_.ranks);
      to_.slowest_over_mean += ratio / double(steps_.size());
      to_.largest_slowest_over_mean = std::max(to_.largest_slowest_over_mean, ratio);
    }
  }

  /// Returns the p-quantile of sorted rows by linear interpolation.
  double quantile_of_sorted(double p) const {
    const double at = p * double(rows_.size() - 1);
    const auto below = std::size_t(at);
    const std::size_t above = std::min(below + 1, rows_.size() - 1);
    return rows_[below].seconds + (at - double(below)) * (rows_[above].seconds - rows_[below].seconds);
  }
  void quantiles() {
    sort_by_value();
    to_.median = quantile_of_sorted(0.5);
    to_.q90 = quantile_of_sorted(0.9);
    to_.q99 = quantile_of_sorted(0.99);
    to_.largest = rows_.back().seconds;
    sort_by_place();
  }

  /// Replaces seconds by logarithms, and computes the effects and their shares.
  void effects();
  double inflation() const;
  void subtract_effects();
  void autocorrelate();
  void distribution();
  void phases();

  TraceRows& rows_;
  Decomposition& to_;
  std::vector<std::int32_t> steps_;  // that every rank has
  std::vector<double> rank_effects_, step_effects_;
  double mean_ = 0, cut_ = 0;
};

/// Returns true if a mean square is larger than that of the rest by more than chance.
bool is_more_than_chance(double squares, double freedom, double rest_squares, double rest_freedom) {
  if (freedom <= 0 || rest_freedom <= 0) return false;
  const double least = 1 + 3 * std::sqrt(2 / freedom + 2 / rest_freedom);
  return squares / freedom > least * (rest_squares / rest_freedom);
}

/// Returns by how much autocorrelation of the rest increases the variance of a rank's mean.
double Decomposer::inflation() const {
  const auto rest = [&](std::size_t i) {
    return rows_[i].seconds - mean_ - rank_effects_[i / steps_.size()] - step_effects_[step_of(i)];
  };
  double products = 0, squares = 0;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    if (!consecutive(i)) continue;
    const double here = rest(i), next = rest(i + 1);
    products += here * next;
    squares += (here * here + next * next) / 2;
  }
  return squares > kRounding * double(rows_.size()) ? inflation_by(products / squares) : 1;
}

void Decomposer::effects() {
  const std::size_t steps = steps_.size();
  const double ranks = to_.ranks, count = double(rows_.size());
  rank_effects_.assign(std::size_t(to_.ranks), 0);
  step_effects_.assign(steps, 0);
  for (TraceRow& row : rows_) row.seconds = std::log(row.seconds), mean_ += row.seconds / count;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const double above = rows_[i].seconds - mean_;
    rank_effects_[i / steps] += above / double(steps);
    step_effects_[step_of(i)] += above / ranks;
  }
  double of_ranks = 0, of_steps = 0, of_rest = 0;
  for (const double effect : rank_effects_) of_ranks += double(steps) * effect * effect;
  for (const double effect : step_effects_) of_steps += ranks * effect * effect;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const double rest = rows_[i].seconds - mean_ - rank_effects_[i / steps] - step_effects_[step_of(i)];
    of_rest += rest * rest;
  }
  if (to_.ranks == 1) std::swap(of_steps, of_rest);  // one rank does not tell steps from chance
  const double all = of_ranks + of_steps + of_rest;
  const double inflated = inflation();
  const bool any = all > kRounding * count;
  if (any) to_.between_ranks = of_ranks / all, to_.between_steps = of_steps / all, to_.rest = of_rest / all;
  const double rank_freedom = ranks - 1, step_freedom = double(steps) - 1;
  const auto differ = [&](double squares, double freedom, double each, double rest) {
    return is_more_than_chance(squares, freedom, rest, rank_freedom * step_freedom) &&
           std::sqrt(squares / each / std::max(freedom, 1.0)) >= kLeastDeviation;
  };
  to_.ranks_differ = differ(of_ranks, rank_freedom, double(steps), of_rest * inflated);
  to_.steps_differ = differ(of_steps, step_freedom, ranks, of_rest);
}

void Decomposer::subtract_effects() {
  if (!to_.ranks_differ) rank_effects_.assign(rank_effects_.size(), 0);
  if (!to_.steps_differ) step_effects_.assign(step_effects_.size(), 0);
  std::vector<double> sorted = rank_effects_;
  std::sort(sorted.begin(), sorted.end());
  const double middle = sorted[(sorted.size() - 1) / 2];  // a rank's own, not between two
  to_.typical = std::exp(mean_ + middle);
  for (const double effect : rank_effects_) to_.factors.push_back(std::exp(effect - middle));
  double squares = 0;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    double& rest = rows_[i].seconds;
    rest -= mean_ + rank_effects_[i / steps_.size()] + step_effects_[step_of(i)];
    if (std::abs(rest) < 1e-12) rest = 0;  // rounding has no memory
    squares += rest * rest;
  }
  to_.rest_deviation = std::sqrt(squares / double(std::max<std::size_t>(rows_.size() - 1, 1)));
}

void Decomposer::autocorrelate() {
  double products = 0, squares = 0;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    if (!consecutive(i)) continue;
    const double here = rows_[i].seconds, next = rows_[i + 1].seconds;
    products += here * next;
    squares += (here * here + next * next) / 2;
    ++to_.pairs;
  }
  if (squares > kRounding * double(to_.pairs)) to_.autocorrelation = products / squares;
  double step_products = 0, step_squares = 0;
  for (std::size_t t = 0; t + 1 < steps_.size(); ++t) {
    if (!consecutive(t)) continue;
    step_products += step_effects_[t] * step_effects_[t + 1];
    step_squares += (step_effects_[t] * step_effects_[t] + step_effects_[t + 1] * step_effects_[t + 1]) / 2;
  }
  if (step_squares > kRounding * double(steps_.size())) to_.step_autocorrelation = step_products / step_squares;
}

/// Returns the Kolmogorov-Smirnov distance of `count` ascending values from a normal distribution around 0.
template <class ValueAt>
double distance_from_normal(std::size_t count, double deviation, const ValueAt& value_at) {
  double distance = 0;
  for (std::size_t i = 0; i < count && deviation > 0; ++i) {
    const double expected = 0.5 * std::erfc(-value_at(i) / deviation / std::sqrt(2.0));
    distance = std::max({distance, expected - double(i) / double(count), double(i + 1) / double(count) - expected});
  }
  return distance;
}

void Decomposer::distribution() {
  std::vector<double> effects = step_effects_;
  to_.step_deviation = effects.size() > 1 ? deviation(effects) : 0;
  std::sort(effects.begin(), effects.end());
  to_.step_distance =
      distance_from_normal(effects.size(), to_.step_deviation, [&](std::size_t i) { return effects[i]; });
  sort_by_value();
  to_.rest_distance =
      distance_from_normal(rows_.size(), to_.rest_deviation, [&](std::size_t i) { return rows_[i].seconds; });
  const double count = double(rows_.size());
  double sum = 0, squares = 0, below = 0, best = 0;
  for (const TraceRow& row : rows_) sum += row.seconds, squares += row.seconds * row.seconds;
  TwoLevels& levels = to_.levels;
  for (std::size_t i = 0; i + 1 < rows_.size(); ++i) {
    below += rows_[i].seconds;
    if (rows_[i].seconds == rows_[i + 1].seconds) continue;
    const double normal = double(i + 1), slow = count - normal;
    const double low = below / normal, high = (sum - below) / slow;
    const double between = normal * slow / count * (high - low) * (high - low);
    if (between <= best) continue;
    best = between;
    cut_ = (rows_[i].seconds + rows_[i + 1].seconds) / 2;
    levels.factor = std::exp(high - low);
    levels.slow_share = slow / count;
    levels.normal_level = low;
  }
  if (squares > 0) levels.explained = best / squares;
  sort_by_place();
}

void Decomposer::phases() {
  std::int64_t slow = 0, normal = 0, slow_ends = 0, normal_ends = 0;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    if (!consecutive(i)) continue;
    const bool here = rows_[i].seconds > cut_, next = rows_[i + 1].seconds > cut_;
    ++(here ? slow : normal);
    if (here != next) ++(here ? slow_ends : normal_ends);
  }
  if (slow_ends > 0) to_.levels.slow_steps = double(slow) / double(slow_ends);
  if (normal_ends > 0) to_.levels.normal_steps = double(normal) / double(normal_ends);
}

}  // namespace

double inflation_by(double autocorrelation) {
  const double memory = std::clamp(autocorrelation, 0.0, 0.99);
  return (1 + memory) / (1 - memory);
}

Decomposition decompose(TraceRows& rows) {
  Decomposition decomposition;
  Decomposer(rows, decomposition).run();
  return decomposition;
}

}  // namespace hopbench
