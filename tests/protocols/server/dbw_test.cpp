#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "protocols/server/dbw_policy.h"
#include "tests/cluster.h"

namespace hopbench::server {
namespace {

Cluster six_equals() {
  return {.nodes = 6, .slow = {{2, 8.0}}, .topology = "complete", .iterations = 40, .keep_events = true};
}

// k_t as announced with version t, and how many gradients update t was made of.
struct Round {
  int announced = 0, made_of = 0;
};
std::map<Iter, Round> updates(const Cluster& cluster) {
  std::map<Iter, Round> all;
  all[0].announced = cluster.nodes;
  for (const Event& event : cluster.events) {
    if (event.rank < cluster.nodes) continue;
    if (event.what == EventKind::kReduced) all[event.iter].made_of = int(event.senders.size());
    if (event.what == EventKind::kSend && event.kind == std::uint16_t(kWeights))
      all[event.iter].announced = int(event.count);
  }
  return all;
}

int count(const Cluster& cluster, EventKind what) {
  return int(std::count_if(cluster.events.begin(), cluster.events.end(),
                           [&](const Event& event) { return event.what == what; }));
}

TEST(Dbw, IsBspWhileEstimatesAreMissing) {
  Cluster cluster = six_equals(), bsp = six_equals();
  cluster.run("dbw", {{"window", 1000}});
  bsp.run("ps_bsp", {{"servers", 1}});
  EXPECT_EQ(cluster.params_hash(), bsp.params_hash());
  EXPECT_EQ(cluster.total(&RankRecord::gradients_lost), 0);
  Cluster starts = six_equals();
  starts.run("dbw", {{"window", 5}});
  for (Iter t = 0; t < 6; ++t) EXPECT_EQ(updates(starts)[t].announced, 6) << t << ": V is there after 5, L after 6";
}

TEST(Dbw, MakesEachUpdateOfAsManyGradientsAsItChose) {
  Cluster cluster = six_equals();
  cluster.run("dbw", {{"window", 3}});
  EXPECT_EQ(cluster.broken(), "");
  int fewer = 0;
  for (const auto& [t, update] : updates(cluster)) {
    EXPECT_GE(update.announced, 1);
    EXPECT_LE(update.announced, 6);
    EXPECT_LE(update.made_of, update.announced);
    fewer += update.announced < 6 ? 1 : 0;
  }
  EXPECT_GT(fewer, 0);  // it did choose
}

TEST(Dbw, DiscardsLateGradientsAndSaysSo) {
  Cluster cluster = six_equals();
  cluster.run("dbw", {{"window", 3}});
  const int applied = count(cluster, EventKind::kApplied), lost = count(cluster, EventKind::kLost);
  EXPECT_EQ(applied + lost, cluster.total(&RankRecord::gradients));
  EXPECT_EQ(lost, cluster.total(&RankRecord::gradients_lost));
  EXPECT_GT(cluster.records[2].gradients_lost, 0);  // the slow one
}

TEST(Dbw, DoesNotWaitForAStragglerOnceItKnowsIt) {
  Cluster cluster = six_equals(), bsp = six_equals();
  cluster.slow = bsp.slow = {{2, 30.0}};
  cluster.run("dbw", {{"window", 3}});
  bsp.run("ps_bsp", {{"servers", 1}});
  EXPECT_LT(to_seconds(cluster.records[0].finished - Time{}), 0.6 * to_seconds(bsp.records[0].finished - Time{}));
}

TEST(Dbw, Converges) {
  Cluster cluster{.nodes = 6, .slow = {{2, 8.0}}, .topology = "complete", .iterations = 300};
  cluster.run("dbw");
  Cluster reference{.nodes = 6, .topology = "complete", .iterations = 300};
  reference.run("allreduce");
  const double initial = cluster.initial_loss(), there = reference.loss();
  EXPECT_LT(cluster.loss() - there, 0.02 * (initial - there));
}

// --- The policy

TEST(BestCount, IsTheBruteForceMaximumOfGainASecond) {
  Random random({.seed = 5, .purpose = Purpose::kTest});
  for (int trial = 0; trial < 1000; ++trial) {
    const Landscape at{.slope2 = random.uniform(), .variance = 20 * random.uniform(), .smoothness = random.uniform()};
    std::vector<double> times;
    for (int k = 0; k < 8; ++k) times.push_back((times.empty() ? 0.1 : times.back()) + random.uniform());
    const double lr = 0.5;
    int best = 8;
    double most = 0;
    for (int k = 1; k <= 8; ++k) {
      const double worth =
          ((lr - at.smoothness * lr * lr / 2) * at.slope2 - at.smoothness * lr * lr / 2 * at.variance / k) /
          times[std::size_t(k - 1)];
      if (worth <= most) continue;
      most = worth;
      best = k;
    }
    EXPECT_EQ(best_count(at, lr, times), best) << trial;
  }
}

TEST(BestCount, GrowsAsTheGradientShrinksRelativeToNoise) {
  const std::vector<double> times = {1, 1.2, 1.5, 2, 3, 5, 8, 13};
  int before = 0;
  std::vector<int> seen;
  for (double slope2 = 100; slope2 > 1e-4; slope2 *= 0.9) {
    const int k = best_count({.slope2 = slope2, .variance = 10, .smoothness = 1}, 0.1, times);
    EXPECT_GE(k, before) << slope2;
    if (k != before) seen.push_back(k);
    before = k;
  }
  EXPECT_EQ(seen.front(), 1);
  EXPECT_EQ(seen.back(), 8);
  EXPECT_GE(seen.size(), 4u);
}

TEST(BestCount, IsEverybodyWhereNothingIsGainedOrWaitingCostsNothing) {
  const std::vector<double> rising = {1, 2, 3};
  EXPECT_EQ(best_count({.slope2 = 0, .variance = 1, .smoothness = 1}, 0.1, rising), 3);
  EXPECT_EQ(best_count({.slope2 = 1, .variance = 0, .smoothness = 100}, 0.1, rising), 3);  // lr beyond 2 / L
  EXPECT_EQ(best_count({.slope2 = 1, .variance = 1, .smoothness = 1}, 0.1, std::vector<double>{2, 2, 2}), 3);
  EXPECT_EQ(best_count({.slope2 = 1, .variance = 1, .smoothness = 1}, 0.1, std::vector<double>{0, 0, 0}), 3);
  EXPECT_EQ(best_count({.slope2 = 1, .variance = 0, .smoothness = 1}, 0.1, rising), 1);
}

// One dimension: F(x) = L x^2 / 2, two gradients a step, one above and one below the true one by `off`.
TEST(LandscapeEstimate, FindsAQuadraticsOwnNumbers) {
  const double smoothness = 0.8, lr = 0.1, off = 0.25;
  LandscapeEstimate estimate(3);
  double x = 10;
  for (int t = 0; t < 6; ++t) {
    const double slope = smoothness * x;
    EXPECT_EQ(estimate.now().has_value(), t >= 4) << t << ": an update after the first V";
    estimate.add({.gradients = 2,
                  .lr = lr,
                  .loss = smoothness * x * x / 2,
                  .mean_norm2 = slope * slope,
                  .sum_of_norms2 = 2 * (slope * slope + off * off)});
    x -= lr * slope;
  }
  const Landscape found = estimate.now().value();
  EXPECT_NEAR(found.variance, 2 * off * off, 1e-9);  // unbiased: two gradients, one degree of freedom
  double slope2 = 0;
  for (int t = 3; t < 6; ++t) slope2 += std::pow(smoothness * 10 * std::pow(1 - lr * smoothness, t), 2) / 3;
  EXPECT_NEAR(found.slope2, slope2 - off * off, 1e-9);
  // The real drop is that of the mean, without the noise that the estimate takes off: hence almost L.
  EXPECT_NEAR(found.smoothness, smoothness, 0.2);
}

TEST(LandscapeEstimate, HasNoVarianceOfSingleGradients) {
  LandscapeEstimate estimate(2);
  for (int t = 0; t < 5; ++t) {
    estimate.add({.gradients = 1, .lr = 0.1, .loss = 1.0 / (t + 1), .mean_norm2 = 1, .sum_of_norms2 = 1});
    EXPECT_FALSE(estimate.now().has_value());
  }
}

TEST(ArrivalTimes, AreMeansByTheUpdateBeforeMadeMonotone) {
  const auto ms = [](int t) { return Time{} + std::chrono::milliseconds(t); };
  ArrivalTimes arrivals;
  arrivals.published(0, ms(0), 2);
  arrivals.arrived(0, ms(10));
  EXPECT_TRUE(arrivals.expected(2, 2).empty());  // the second was never seen
  arrivals.published(1, ms(15), 2);
  arrivals.arrived(0, ms(20));  // late, but a time all the same
  arrivals.arrived(1, ms(45));  // 30 ms
  EXPECT_TRUE(arrivals.expected(1, 1).empty());
  const std::vector<double> pooled = arrivals.expected(2, 2);  // means 20 (of two) and 20
  ASSERT_EQ(pooled.size(), 2u);
  EXPECT_NEAR(pooled[0], 0.020, 1e-12);
  EXPECT_NEAR(pooled[1], 0.020, 1e-12);
  EXPECT_EQ(arrivals.expected(2, 1).size(), 1u);
}

TEST(Monotone, PoolsWhatViolatesTheOrder) {
  const auto of = [](std::vector<double> values, std::vector<double> weights) { return monotone(values, weights); };
  EXPECT_EQ(of({1, 2, 3}, {1, 1, 1}), (std::vector<double>{1, 2, 3}));
  EXPECT_EQ(of({3, 1, 2}, {1, 1, 1}), (std::vector<double>{2, 2, 2}));
  EXPECT_EQ(of({1, 4, 2, 5}, {1, 1, 3, 1}), (std::vector<double>{1, 2.5, 2.5, 5}));
}

}  // namespace
}  // namespace hopbench::server
