#include "results/arithmetic/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "backends/base/error.h"

namespace hopbench {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kPi = 3.14159265358979323846;

std::vector<double> sorted(std::span<const double> values) {
  std::vector<double> copy(values.begin(), values.end());
  std::sort(copy.begin(), copy.end());
  return copy;
}

/// Returns P(|T| < t) with theta = atan(t / sqrt(freedom)) by the finite series of Abramowitz & Stegun 26.7.3 and
/// 26.7.4, which is exact for whole degrees of freedom.
double central_share(double theta, int freedom) {
  const double sine = std::sin(theta), cosine = std::cos(theta);
  double sum = 0;
  if (freedom % 2 == 1) {
    double term = cosine;
    for (int k = 3; k <= freedom; k += 2) {
      sum += term;
      term *= cosine * cosine * (k - 1) / k;
    }
    return (theta + sine * sum) * 2 / kPi;
  }
  double term = 1;
  for (int k = 2; k <= freedom; k += 2) {
    sum += term;
    term *= cosine * cosine * (k - 1) / k;
  }
  return sine * sum;
}

std::vector<double> log_ratios(std::span<const double> a, std::span<const double> b) {
  HB_ASSERT(a.size() == b.size());
  std::vector<double> logs;
  for (std::size_t i = 0; i < a.size(); ++i) logs.push_back(std::log(a[i] / b[i]));
  return logs;
}

std::optional<Interval> range_of(std::span<const double> values) {
  if (values.size() < 2) return std::nullopt;
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  return Interval{*least, *most};
}

std::optional<double> fitted_crossing(std::span<const double> x, std::span<const double> loss, double target) {
  const auto finite_end = std::find_if(loss.begin(), loss.end(), [](double y) { return !std::isfinite(y); });
  const std::vector<double> fit = fit_falling(loss.first(std::size_t(finite_end - loss.begin())));
  const auto hit = std::find_if(fit.begin(), fit.end(), [&](double y) { return y <= target; });
  if (hit == fit.end()) return std::nullopt;
  const auto i = std::size_t(hit - fit.begin());
  if (i == 0) return x[0];
  const double share = (fit[i - 1] - target) / (fit[i - 1] - fit[i]);
  return x[i - 1] + share * (x[i] - x[i - 1]);
}

std::optional<double> held_crossing(std::span<const double> x, std::span<const double> loss, double target, int hold) {
  int in_a_row = 0;
  for (std::size_t i = 0; i < loss.size(); ++i) {
    in_a_row = loss[i] <= target ? in_a_row + 1 : 0;
    if (in_a_row == hold) return x[i + 1 - std::size_t(hold)];
  }
  return std::nullopt;
}

}  // namespace

double quantile(std::span<const double> values, double p) {
  if (values.empty()) return kNaN;
  const std::vector<double> v = sorted(values);
  const double place = std::clamp(p, 0.0, 1.0) * static_cast<double>(v.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const double share = place - static_cast<double>(below);
  if (share == 0 || v[below] == v[below + 1]) return v[below];  // infinite values must not turn it into NaN
  return v[below] + share * (v[below + 1] - v[below]);
}

double median(std::span<const double> values) { return quantile(values, 0.5); }

double mean_of(std::span<const double> values) {
  if (values.empty()) return kNaN;
  double sum = 0;
  for (double v : values) sum += v;
  return sum / static_cast<double>(values.size());
}

double deviation(std::span<const double> values) {
  if (values.size() < 2) return kNaN;
  const double mean = mean_of(values);
  double sum = 0;
  for (double v : values) sum += (v - mean) * (v - mean);
  return std::sqrt(sum / static_cast<double>(values.size() - 1));
}

double t_quantile(double p, int freedom) {
  HB_ASSERT(freedom >= 1 && p > 0 && p < 1);
  if (p < 0.5) return -t_quantile(1 - p, freedom);
  double low = 0, high = kPi / 2;  // of the angle, over which the distribution function is nowhere steep
  for (int step = 0; step < 80; ++step) {
    const double middle = (low + high) / 2;
    ((1 + central_share(middle, freedom)) / 2 < p ? low : high) = middle;
  }
  return std::tan(low) * std::sqrt(static_cast<double>(freedom));
}

std::optional<Interval> median_interval(std::span<const double> values) {
  const auto n = static_cast<int>(values.size());
  if (n < 6) return std::nullopt;
  // P(X < k) for X ~ Binomial(n, 1/2), X = values below the median. [v_k, v_(n+1-k)] misses it twice that often.
  int k = 0;
  double term = std::pow(0.5, n), below = 0;
  while (2 * (below + term) <= 0.05) {
    below += term;
    term *= static_cast<double>(n - k) / (k + 1);
    ++k;
  }
  if (k == 0) return std::nullopt;  // n beyond 1074, where 0.5^n is 0: not a number of repeats
  const std::vector<double> v = sorted(values);
  return Interval{v[std::size_t(k - 1)], v[std::size_t(n - k)]};
}

Number median_of(std::span<const double> values) {
  return {median(values), static_cast<int>(values.size()), median_interval(values), range_of(values)};
}

Number paired_ratio(std::span<const double> a, std::span<const double> b) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < a.size(); ++i) ratios.push_back(a[i] / b[i]);
  return {std::exp(mean_of(log_ratios(a, b))), static_cast<int>(a.size()), ratio_interval(a, b, 0.025),
          range_of(ratios)};
}

std::optional<Interval> ratio_interval(std::span<const double> a, std::span<const double> b, double tail) {
  const std::vector<double> logs = log_ratios(a, b);
  if (logs.size() < 3) return std::nullopt;
  const auto n = static_cast<int>(logs.size());
  const double centre = mean_of(logs), half = t_quantile(1 - tail, n - 1) * deviation(logs) / std::sqrt(n);
  return Interval{std::exp(centre - half), std::exp(centre + half)};
}

std::vector<double> fit_falling(std::span<const double> y) {
  struct Block {
    double sum = 0;
    std::size_t size = 0;
    double mean() const { return sum / static_cast<double>(size); }
  };
  std::vector<Block> blocks;
  for (double value : y) {
    blocks.push_back({value, 1});
    while (blocks.size() > 1 && blocks[blocks.size() - 2].mean() < blocks.back().mean()) {
      const Block last = blocks.back();
      blocks.pop_back();
      blocks.back().sum += last.sum;
      blocks.back().size += last.size;
    }
  }
  std::vector<double> fit;
  for (const Block& block : blocks) fit.insert(fit.end(), block.size, block.mean());
  return fit;
}

Crossing time_to_target(std::span<const double> x, std::span<const double> loss, double target, int hold) {
  HB_ASSERT(x.size() == loss.size() && hold >= 1);
  return {fitted_crossing(x, loss, target), held_crossing(x, loss, target, hold)};
}

}  // namespace hopbench
