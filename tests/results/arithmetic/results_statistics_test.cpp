// Statistics against published tables and values worked out by hand; and, of each that claims a level, whether ten
// thousand synthetic experiments keep it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <vector>

#include "results/arithmetic/statistics.h"

namespace hopbench {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using Values = std::vector<double>;
constexpr double kEndless = std::numeric_limits<double>::infinity();

TEST(Statistics, MedianAndQuantilesInterpolateBetweenOrderStatistics) {
  EXPECT_DOUBLE_EQ(median(Values{3, 1, 2}), 2);
  EXPECT_DOUBLE_EQ(median(Values{4, 1, 3, 2}), 2.5);
  EXPECT_DOUBLE_EQ(quantile(Values{1, 2, 3, 4}, 0.25), 1.75);
  EXPECT_DOUBLE_EQ(quantile(Values{1, 2, 3, 4}, 1.0), 4);
  EXPECT_TRUE(std::isnan(median(Values{})));
}

TEST(Statistics, MedianOfInfiniteValuesIsInfiniteAndNotANumber) {
  EXPECT_EQ(median(Values{kEndless, kEndless}), kEndless);
  EXPECT_EQ(median(Values{1, kEndless}), kEndless);
  EXPECT_EQ(median(Values{1, 2, kEndless}), 2);
}

TEST(Statistics, DeviationDividesByOneLessThanTheCount) {
  EXPECT_DOUBLE_EQ(mean_of(Values{2, 4, 9}), 5);
  EXPECT_DOUBLE_EQ(deviation(Values{2, 4, 9}), std::sqrt(13.0));
  EXPECT_TRUE(std::isnan(deviation(Values{1})));
}

TEST(Statistics, QuantilesOfStudentsTMatchThePublishedTables) {
  const struct {
    double p;
    int freedom;
    double t;
  } table[] = {{0.975, 1, 12.7062}, {0.975, 2, 4.30265}, {0.975, 3, 3.18245},  {0.975, 4, 2.77645},
               {0.975, 5, 2.57058}, {0.975, 8, 2.30600}, {0.975, 9, 2.26216},  {0.975, 29, 2.04523},
               {0.95, 8, 1.85955},  {0.95, 29, 1.69913}, {0.99, 4, 3.74695},   {0.995, 30, 2.75000},
               {0.75, 1, 1.00000},  {0.9, 2, 1.88562},   {0.975, 120, 1.97993}};
  for (const auto& row : table) {
    EXPECT_NEAR(t_quantile(row.p, row.freedom), row.t, 1e-4) << row.p << " " << row.freedom;
    EXPECT_NEAR(t_quantile(1 - row.p, row.freedom), -row.t, 1e-4) << row.p << " " << row.freedom;
  }
  EXPECT_NEAR(t_quantile(0.5, 7), 0, 1e-12);
  EXPECT_NEAR(t_quantile(0.975, 100000), 1.95996, 1e-4);
}

TEST(Statistics, MedianHasAnIntervalFromSixValues) {
  EXPECT_FALSE(median_interval(Values{1, 2, 3, 4, 5}));
  const auto six = median_interval(Values{6, 5, 4, 3, 2, 1});
  ASSERT_TRUE(six);  // 1 - 2/64 = 96.9 %
  EXPECT_DOUBLE_EQ(six->low, 1);
  EXPECT_DOUBLE_EQ(six->high, 6);
  const auto eight = median_interval(Values{1, 2, 3, 4, 5, 6, 7, 8});
  ASSERT_TRUE(eight);  // [2nd, 7th] would be 1 - 2 (1 + 8) / 256 = 93.0 %
  EXPECT_DOUBLE_EQ(eight->low, 1);
  EXPECT_DOUBLE_EQ(eight->high, 8);
  const auto nine = median_interval(Values{1, 2, 3, 4, 5, 6, 7, 8, 9});
  ASSERT_TRUE(nine);  // [2nd, 8th]: 1 - 2 (1 + 9) / 512 = 96.1 %
  EXPECT_DOUBLE_EQ(nine->low, 2);
  EXPECT_DOUBLE_EQ(nine->high, 8);
}

TEST(Statistics, PairedRatioIsTheGeometricMeanOfThePairs) {
  const auto ratio = paired_ratio(Values{2, 8}, Values{1, 1});
  EXPECT_EQ(ratio.n, 2);
  EXPECT_DOUBLE_EQ(ratio.value, 4);
  EXPECT_FALSE(ratio.interval);
  EXPECT_TRUE(std::isnan(paired_ratio(Values{}, Values{}).value));
}

TEST(Statistics, PairedRatioHasAnIntervalFromThreePairs) {
  // Logs -0.1, 0, 0.1: deviation 0.1, half width 4.30265 * 0.1 / sqrt(3) = 0.248414.
  const auto ratio = paired_ratio(Values{std::exp(-0.1), 1, std::exp(0.1)}, Values{1, 1, 1});
  ASSERT_TRUE(ratio.interval);
  EXPECT_NEAR(ratio.value, 1, 1e-12);
  EXPECT_NEAR(ratio.interval->low, std::exp(-0.248414), 1e-5);
  EXPECT_NEAR(ratio.interval->high, std::exp(0.248414), 1e-5);
}

TEST(Statistics, FallingFitPoolsWhatRises) {
  EXPECT_THAT(fit_falling(Values{5, 3, 4, 1}), ElementsAre(5, 3.5, 3.5, 1));
  EXPECT_THAT(fit_falling(Values{1, 2, 3}), ElementsAre(2, 2, 2));
  EXPECT_THAT(fit_falling(Values{3, 2, 1}), ElementsAre(3, 2, 1));
  EXPECT_THAT(fit_falling(Values{4, 1, 2, 6}), ElementsAre(4, 3, 3, 3));
  EXPECT_THAT(fit_falling(Values{}), IsEmpty());
}

TEST(Statistics, OneSidedBoundsAreNarrowerThanTheInterval) {
  const Values a{std::exp(-0.1), 1, std::exp(0.1)}, b{1, 1, 1};
  const auto bounds = ratio_interval(a, b, 0.05);
  ASSERT_TRUE(bounds);  // 2.91999 * 0.1 / sqrt(3)
  EXPECT_NEAR(bounds->low, std::exp(-0.168585), 1e-5);
  EXPECT_NEAR(bounds->high, std::exp(0.168585), 1e-5);
  EXPECT_FALSE(ratio_interval(Values{1, 2}, Values{1, 1}, 0.05));
}

// --- Levels: what they claim is what ten thousand experiments find

constexpr int kExperiments = 10'000;
// Three standard deviations of a share of about 5 % over so many experiments.
constexpr double kChance = 0.0066;

using DrawOne = std::function<double(std::mt19937_64&)>;

Values drawn(int n, const DrawOne& draw, std::mt19937_64& random) {
  Values values;
  for (int i = 0; i < n; ++i) values.push_back(draw(random));
  return values;
}

/// Returns the share of kExperiments calls in which `hit` is true.
double share_of(const std::function<bool(std::mt19937_64&)>& hit) {
  std::mt19937_64 random(20260131);
  int hits = 0;
  for (int i = 0; i < kExperiments; ++i) hits += hit(random) ? 1 : 0;
  return double(hits) / kExperiments;
}

const DrawOne kNoise = [](std::mt19937_64& random) { return std::lognormal_distribution<double>(0, 0.08)(random); };
const DrawOne kSkewed = [](std::mt19937_64& random) { return std::exponential_distribution<double>(1)(random); };

bool inside(const Interval& interval, double value) { return interval.low <= value && value <= interval.high; }

TEST(Levels, PairedRatiosCoverTheTrueRatioInNinetyFivePercent) {
  for (const int n : {3, 5, 9, 30}) {
    const double covered = share_of([&](auto& random) {
      Values a = drawn(n, kNoise, random), b = drawn(n, kNoise, random);
      for (double& value : a) value *= 1.3;
      return inside(*paired_ratio(a, b).interval, 1.3);
    });
    EXPECT_NEAR(covered, 0.95, kChance) << n;
  }
}

TEST(Levels, OneSidedBoundsFailInFivePercent) {
  for (const int n : {3, 9}) {
    const double above = share_of([&](auto& random) {
      return ratio_interval(drawn(n, kNoise, random), drawn(n, kNoise, random), 0.05)->low > 1;
    });
    EXPECT_NEAR(above, 0.05, kChance) << n;
  }
}

TEST(Levels, MedianIntervalsCoverTheMedianInAtLeastNinetyFivePercent) {
  const double true_median = std::log(2.0);
  for (const int n : {6, 9, 20}) {
    const double covered =
        share_of([&](auto& random) { return inside(*median_interval(drawn(n, kSkewed, random)), true_median); });
    EXPECT_GE(covered, 0.95 - kChance) << n;
    EXPECT_LE(covered, 0.99) << n << ": wider than it has to be";
  }
}

}  // namespace
}  // namespace hopbench
