#include "backends/runtime/scenario.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace hopbench {
namespace {

using std::chrono::milliseconds;

Scenario of(std::vector<ComputeRule> rules) { return {.compute = std::move(rules)}; }
Time at_ms(int ms) { return Time{} + milliseconds(ms); }

TEST(Scenario, IsOneWithoutRules) { EXPECT_EQ(Scenario{}.slowdown({}, 0, Time{}), 1.0); }

TEST(Scenario, SlowsTheNamedRanksByAConstant) {
  const Scenario s = of({{.ranks = {3, 5}, .factor = 4.0}});
  EXPECT_EQ(s.slowdown({.rank = 3}, 7, Time{}), 4.0);
  EXPECT_EQ(s.slowdown({.rank = 4}, 7, Time{}), 1.0);
}

TEST(Scenario, MultipliesTheRulesThatApply) {
  const Scenario s = of({{.factor = 2.0}, {.ranks = {1}, .factor = 3.0}});
  EXPECT_EQ(s.slowdown({.rank = 0}, 0, Time{}), 2.0);
  EXPECT_EQ(s.slowdown({.rank = 1}, 0, Time{}), 6.0);
}

TEST(Scenario, HoldsFromAndUntil) {
  const Scenario s = of({{.factor = 2.0, .from = at_ms(10), .until = at_ms(20)}});
  EXPECT_EQ(s.slowdown({}, 0, at_ms(9)), 1.0);
  EXPECT_EQ(s.slowdown({}, 0, at_ms(10)), 2.0);
  EXPECT_EQ(s.slowdown({}, 0, at_ms(19)), 2.0);
  EXPECT_EQ(s.slowdown({}, 0, at_ms(20)), 1.0);
}

TEST(Scenario, IsAPureFunctionOfSeedRepeatRankAndIteration) {
  const Scenario s = of({{.what = SlowdownKind::kExponential, .scale = 1.0}});
  const double x = s.slowdown({.seed = 5, .repeat = 1, .rank = 2}, 9, at_ms(3));
  EXPECT_EQ(x, s.slowdown({.seed = 5, .repeat = 1, .rank = 2, .host = 8}, 9, at_ms(77)));
  EXPECT_NE(x, s.slowdown({.seed = 6, .repeat = 1, .rank = 2}, 9, at_ms(3)));
  EXPECT_NE(x, s.slowdown({.seed = 5, .repeat = 2, .rank = 2}, 9, at_ms(3)));
  EXPECT_NE(x, s.slowdown({.seed = 5, .repeat = 1, .rank = 3}, 9, at_ms(3)));
  EXPECT_NE(x, s.slowdown({.seed = 5, .repeat = 1, .rank = 2}, 10, at_ms(3)));
}

TEST(Scenario, DrawsOncePerSlotOfTimeWhateverTheIteration) {
  const Scenario s = of(
      {{.what = SlowdownKind::kExponential, .scale = 1.0, .per = ComputeRule::Per::kTime, .slot = milliseconds(100)}});
  const double x = s.slowdown({}, 0, at_ms(110));
  EXPECT_EQ(x, s.slowdown({}, 6, at_ms(199)));
  EXPECT_NE(x, s.slowdown({}, 0, at_ms(200)));
}

TEST(Scenario, IsSharedByTheRanksOfAHostOrByAll) {
  ComputeRule rule{.what = SlowdownKind::kExponential, .scale = 1.0, .correlated = ComputeRule::Correlated::kHost};
  EXPECT_EQ(of({rule}).slowdown({.rank = 1, .host = 4}, 0, {}), of({rule}).slowdown({.rank = 2, .host = 4}, 0, {}));
  EXPECT_NE(of({rule}).slowdown({.rank = 1, .host = 4}, 0, {}), of({rule}).slowdown({.rank = 1, .host = 5}, 0, {}));
  rule.correlated = ComputeRule::Correlated::kAll;
  EXPECT_EQ(of({rule}).slowdown({.rank = 1, .host = 4}, 0, {}), of({rule}).slowdown({.rank = 2, .host = 5}, 0, {}));
}

TEST(Scenario, GivesTwoRulesOfOneKindDrawsOfTheirOwnAndALaterOneMovesNone) {
  const ComputeRule rule{.what = SlowdownKind::kExponential, .scale = 1.0};
  const double alone = of({rule}).slowdown({}, 3, {});
  const double both = of({rule, rule}).slowdown({}, 3, {});
  EXPECT_GT(std::abs(both - alone * alone), 1e-6);
}

TEST(Scenario, SlowsAShareOfTheIterationsUnderBernoulli) {
  const Scenario s = of({{.what = SlowdownKind::kBernoulli, .factor = 6.0, .probability = 0.25}});
  int slow = 0;
  for (Iter k = 0; k < 10'000; ++k) {
    const double x = s.slowdown({}, k, {});
    ASSERT_TRUE(x == 1.0 || x == 6.0);
    slow += x == 6.0;
  }
  EXPECT_NEAR(slow, 2500, 200);  // 4.6 standard deviations
}

TEST(Scenario, HasTheMeanOrMedianOfItsDistribution) {
  const auto sample = [](const ComputeRule& rule) {
    std::vector<double> xs;
    for (Iter k = 0; k < 20'001; ++k) xs.push_back(of({rule}).slowdown({}, k, {}));
    std::sort(xs.begin(), xs.end());
    return xs;
  };
  const auto exponential = sample({.what = SlowdownKind::kExponential, .scale = 2.0});
  EXPECT_GE(exponential.front(), 1.0);
  EXPECT_NEAR(exponential[10'000], 1.0 + 2.0 * std::log(2.0), 0.06);
  const auto log_normal = sample({.what = SlowdownKind::kLogNormal, .shape = 0.5});
  EXPECT_NEAR(log_normal[10'000], 1.0, 0.02);
  EXPECT_NEAR(std::log(log_normal[16'827]), 0.5, 0.03);  // one sigma up: 84.13 %
  const auto pareto = sample({.what = SlowdownKind::kPareto, .shape = 3.0});
  EXPECT_GE(pareto.front(), 1.0);
  EXPECT_NEAR(pareto[10'000], std::pow(2.0, 1.0 / 3.0), 0.02);
}

TEST(Noise, HasItsMeanDeviationAndLimits) {
  const double noise = 0.05;
  double sum = 0, squares = 0;
  constexpr int kDraws = 20'000;
  for (Iter k = 0; k < kDraws; ++k) {
    const double z = (noise_factor(noise, {.rank = 3}, k) - 1) / noise;
    ASSERT_LE(std::abs(z), kMostNoise);
    sum += z;
    squares += z * z;
  }
  EXPECT_NEAR(sum / kDraws, 0, 0.03);
  EXPECT_NEAR(squares / kDraws, 1, 0.04);
}

TEST(Noise, IsAPureFunctionOfSeedRepeatRankAndIteration) {
  const double x = noise_factor(0.05, {.seed = 5, .repeat = 1, .rank = 2}, 9);
  EXPECT_EQ(x, noise_factor(0.05, {.seed = 5, .repeat = 1, .rank = 2, .host = 8}, 9));
  EXPECT_NE(x, noise_factor(0.05, {.seed = 6, .repeat = 1, .rank = 2}, 9));
  EXPECT_NE(x, noise_factor(0.05, {.seed = 5, .repeat = 2, .rank = 2}, 9));
  EXPECT_NE(x, noise_factor(0.05, {.seed = 5, .repeat = 1, .rank = 3}, 9));
  EXPECT_NE(x, noise_factor(0.05, {.seed = 5, .repeat = 1, .rank = 2}, 10));
  EXPECT_EQ(noise_factor(0, {.seed = 5}, 9), 1.0);
}

// The same bits on every machine: no function of libm is among what makes them. The numbers come from a few lines of
// Python after the paper on Philox and the header.
TEST(Noise, IsTheSameOnEveryMachine) {
  EXPECT_EQ(noise_factor(0.003, {.seed = 1}, 0), 0x1.fcfa8652e4c82p-1);
  EXPECT_EQ(noise_factor(0.003, {.seed = 1, .repeat = 2, .rank = 5}, 1234), 0x1.ff20b95c9fe88p-1);
}

}  // namespace
}  // namespace hopbench
