// The few statistics that tables use, each with the rule for when it may be shown (fairness section 5).
#pragma once

#include <limits>
#include <optional>
#include <span>
#include <vector>

namespace hopbench {

double median(std::span<const double> values);              // NaN without values
double quantile(std::span<const double> values, double p);  // linear interpolation (type 7)
double mean_of(std::span<const double> values);
double deviation(std::span<const double> values);  // sample standard deviation; NaN below 2
/// Returns the p-quantile of Student's t with `freedom` degrees of freedom.
double t_quantile(double p, int freedom);

struct Interval {
  double low = 0, high = 0;
};

/// Returns the narrowest pair of order statistics that covers the median with at least 95 %; nothing below 6 values.
std::optional<Interval> median_interval(std::span<const double> values);

/// A number computed from several values, and how certain it is.
struct Number {
  double value = std::numeric_limits<double>::quiet_NaN();
  int n = 0;                                    // values, or pairs of them
  std::optional<Interval> interval{}, range{};  // 95 %; from the smallest to the largest of at least two
  bool beyond = false;                          // the value is a lower bound

  const std::optional<Interval>& spread() const { return interval ? interval : range; }
};

/// Returns the median, with its interval and range. NaN without values.
Number median_of(std::span<const double> values);

/// Returns the ratio of paired measurements: the geometric mean of a[i] / b[i], its two-sided 95 % t-interval (from 3
/// pairs), and its range. All measurements are positive. NaN without pairs.
Number paired_ratio(std::span<const double> a, std::span<const double> b);

/// Returns the t-interval of the geometric mean of a[i] / b[i] with `tail` beyond either end: 0.025 is the two-sided 95
/// % interval, 0.05 gives one-sided 95 % bounds. Nothing below 3 pairs.
std::optional<Interval> ratio_interval(std::span<const double> a, std::span<const double> b, double tail);

/// Returns the least-squares fit that never rises (pool adjacent violators), weights equal.
std::vector<double> fit_falling(std::span<const double> y);

/// The place where a curve of losses reaches the target. `fitted`: interpolated crossing of the fitted falling curve.
/// `held`: x of the first of `hold` points in a row at or below the target. Empty if it is not reached. The fit ends
/// before the first loss that is not finite (a run that diverged), so that what came before still counts.
struct Crossing {
  std::optional<double> fitted, held;
};
Crossing time_to_target(std::span<const double> x, std::span<const double> loss, double target, int hold);

}  // namespace hopbench
