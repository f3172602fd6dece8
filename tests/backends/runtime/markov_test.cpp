// Slow phases: their share of the time, their lengths and their memory.
#include "backends/runtime/markov.h"

#include <gtest/gtest.h>

#include <cmath>

#include "backends/runtime/scenario.h"

namespace hopbench {
namespace {

const SlowPhases kPhases{.slow = std::chrono::seconds(2), .normal = std::chrono::seconds(6)};

bool slow(int rank, Time now, std::uint64_t seed = 1) {
  return kPhases.slow_at({.seed = seed, .purpose = Purpose::kSlowdown, .rank = rank}, 0, now);
}

TEST(Markov, IsSlowForItsShareOfTheTimeFromTheStartOn) {
  // At 2000 ranks the standard deviation of a share of 1/4 is 0.0097.
  for (const Time now : {Time{}, Time{} + std::chrono::seconds(1), Time{} + std::chrono::seconds(1000),
                         Time{} + std::chrono::seconds(3'000'000)}) {
    int count = 0;
    for (int rank = 0; rank < 2000; ++rank) count += slow(rank, now);
    EXPECT_NEAR(count / 2000.0, 0.25, 0.04) << to_seconds(now - Time{});
  }
}

TEST(Markov, StaysSlowAndNormalForTheirMeanTimes) {
  const Duration step = Duration(std::chrono::seconds(2)) / 64;
  int stays = 0, slow_steps = 0, normal_steps = 0;
  bool before = slow(0, Time{});
  const int steps = 200'000;
  for (int i = 1; i < steps; ++i) {
    const bool now = slow(0, Time{} + i * step);
    stays += now && !before;
    (now ? slow_steps : normal_steps) += 1;
    before = now;
  }
  // About 780 stays, whose means have a standard error of 3.6 %. Stays below a step are missed: 0.8 %.
  EXPECT_NEAR(slow_steps * to_seconds(step) / stays, 2.0, 0.3);
  EXPECT_NEAR(normal_steps * to_seconds(step) / stays, 6.0, 0.9);
}

TEST(Markov, ForgetsAsAChainInTimeDoes) {
  // The correlation after t is exp(-t (1/2 + 1/6)). 20 000 pairs: standard error below 0.01.
  for (const int ms : {200, 1000, 3000}) {
    double both = 0, one = 0;
    for (int rank = 0; rank < 20'000; ++rank) {
      const Time begin = Time{} + std::chrono::milliseconds(12'345);
      const bool a = slow(rank, begin), b = slow(rank, begin + std::chrono::milliseconds(ms));
      both += a && b;
      one += a + b;
    }
    const double mean = one / 40'000, covariance = both / 20'000 - mean * mean;
    EXPECT_NEAR(covariance / (mean * (1 - mean)), std::exp(-ms * 1e-3 * (1.0 / 2 + 1.0 / 6)), 0.035) << ms;
  }
}

// Compared with the state at every step: no change is missed, and what is no change is the end of a long interval.
TEST(Markov, ChangesWhenItSaysSo) {
  const Duration step = Duration(std::chrono::seconds(2)) / 64;
  for (int rank = 0; rank < 5; ++rank) {
    const RandomKey key{.purpose = Purpose::kLinkRule, .rank = rank};
    int changes = 0, others = 0;
    const Time end = Time{} + std::chrono::seconds(1000);
    for (Time now = Time{} + step / 3; now < end;) {
      const Time next = kPhases.next_change(key, 0, now);
      ASSERT_GT(next, now);
      const bool state = kPhases.slow_at(key, 0, now);
      for (Time at = now; at < next; at += step) ASSERT_EQ(kPhases.slow_at(key, 0, at), state) << to_seconds(at);
      ASSERT_EQ(kPhases.slow_at(key, 0, next - Duration{1}), state);
      (kPhases.slow_at(key, 0, next) != state ? changes : others) += 1;
      now = next;
    }
    EXPECT_NEAR(changes, 250, 75) << "two in 8 s";
    EXPECT_LE(others, 4) << "one in 256 s";
  }
}

TEST(Markov, FindsAChangeOfRarePhasesOrTheEndOfAnInterval) {
  const SlowPhases rare{.slow = std::chrono::milliseconds(1), .normal = std::chrono::hours(24'000)};
  for (const Time now : {Time{}, kClockEnd - std::chrono::hours(1)}) {
    const Time next = rare.next_change({.purpose = Purpose::kLinkRule}, 0, now);
    EXPECT_GT(next, now);
    EXPECT_LE(next, now + std::chrono::milliseconds(128));
  }
  const SlowPhases long_ones{.slow = std::chrono::hours(24'000), .normal = std::chrono::hours(24'000)};
  EXPECT_GT(long_ones.next_change({.purpose = Purpose::kLinkRule}, 0, kClockEnd), kClockEnd)
      << "within the clock's range";
}

TEST(Markov, IsAPureFunctionOfItsKey) {
  int by_seed = 0, by_rank = 0, by_rule = 0;
  for (int s = 0; s < 300; ++s) {
    const Time now = Time{} + std::chrono::seconds(10 * s);
    const bool x = slow(3, now);
    EXPECT_EQ(slow(3, now), x);
    by_seed += slow(3, now, 2) != x;
    by_rank += slow(4, now) != x;
    by_rule += kPhases.slow_at({.seed = 1, .purpose = Purpose::kSlowdown, .rank = 3}, 8, now) != x;
  }
  for (const int differing : {by_seed, by_rank, by_rule}) EXPECT_NEAR(differing, 300 * 2 * 0.25 * 0.75, 45);
}

TEST(Markov, IsARuleOfAScenarioForARankAHostOrAll) {
  ComputeRule rule{
      .what = SlowdownKind::kMarkov, .factor = 3, .slow = std::chrono::seconds(2), .normal = std::chrono::seconds(2)};
  const auto at = [&](int rank, int host, int s) {
    return Scenario{.compute = {rule}}.slowdown({.rank = rank, .host = host}, 0, Time{} + std::chrono::seconds(s));
  };
  int rank_differs = 0, slow_seconds = 0;
  for (int s = 0; s < 200; ++s) {
    rule.correlated = ComputeRule::Correlated::kRank;
    const double x = at(0, 0, s);
    EXPECT_TRUE(x == 1 || x == 3);
    slow_seconds += x == 3;
    rank_differs += at(1, 0, s) != x;
    rule.correlated = ComputeRule::Correlated::kHost;
    EXPECT_EQ(at(0, 5, s), at(1, 5, s));
    rule.correlated = ComputeRule::Correlated::kAll;
    EXPECT_EQ(at(0, 5, s), at(1, 6, s));
  }
  EXPECT_GT(rank_differs, 50);
  EXPECT_NEAR(slow_seconds, 100, 50);
}

}  // namespace
}  // namespace hopbench
