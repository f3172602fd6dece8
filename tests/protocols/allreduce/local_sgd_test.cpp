#include <gtest/gtest.h>

#include "tests/cluster_models.h"

namespace hopbench {
namespace {

Cluster five(Iter iterations) {
  Cluster cluster{.nodes = 5, .slow = {{1, 3.0}}, .topology = "complete", .iterations = iterations};
  cluster.network.jitter = 0.5;
  return cluster;
}

TEST(LocalSgd, WithHOf1IsSynchronousSgd) {
  Cluster local = five(30), reference = five(30);
  local.run("local_sgd", {{"period", 1}});
  reference.run("allreduce");
  for (Iter k = 1; k <= 30; ++k) EXPECT_EQ(different_models(local, k).size(), 1u);
  expect_near(local.mean_model(), reference.mean_model(), 1e-4);
  EXPECT_LE(local.lead_max(), 1);
  EXPECT_EQ(local.broken(), "");
}

TEST(LocalSgd, IsTheMeanOfLocalStepsByHand) {
  Cluster cluster = five(6);
  cluster.run("local_sgd", {{"period", 3}});
  Vec x = cluster.work->initial();
  for (const Iter first : {0, 3}) {
    std::vector<Payload> models;
    for (int w = 0; w < 5; ++w) {
      Vec own = x;
      for (Iter k = first; k < first + 3; ++k) {
        own.axpy(-cluster.optimizer.lr, share(gradient_of(cluster, w, k, share(own))));
      }
      models.push_back(share(own));
    }
    x = mean(models);
  }
  expect_near(Vec::copy_of(cluster.params(2)).to_host(), x.to_host(), 1e-5);
}

TEST(LocalSgd, AveragesAfterEveryPeriodAndNotInBetween) {
  Cluster cluster = five(12);
  cluster.run("local_sgd");
  for (Iter k = 1; k <= 12; ++k) EXPECT_EQ(different_models(cluster, k).size(), k % 4 == 0 ? 1u : 5u) << k;
  EXPECT_EQ(cluster.total(&RankRecord::messages_sent), 3 * 5 * 2 * 4);  // 2 (n - 1) a worker
}

TEST(LocalSgd, NeedsNoNetworkBeforeItsFirstAverage) {
  Cluster cluster = five(11);
  cluster.run("local_sgd", {{"period", 12}});
  EXPECT_EQ(cluster.total(&RankRecord::messages_sent), 0);
  EXPECT_EQ(cluster.records[0].finished, Time{} + std::chrono::milliseconds(110));
}

TEST(LocalSgd, IsAtMostAPeriodAheadAndReachesIt) {
  Cluster stalled{.nodes = 4, .slow = {{2, 1000.0}}, .topology = "ring", .iterations = 12};
  stalled.run("local_sgd", {{"period", 3}});
  EXPECT_EQ(stalled.lead_over(0, 2), 2);
  // Worker 1 gets the end of the average late, over the slow link from 0; the others have done a period by then.
  Cluster cluster{.nodes = 4, .topology = "ring", .iterations = 12};
  cluster.costs.gradient = std::chrono::milliseconds(1);
  cluster.network.links = {{.a = 0, .b = 1, .latency = std::chrono::milliseconds(20)}};
  cluster.run("local_sgd", {{"period", 3}});
  EXPECT_EQ(cluster.lead_over(3, 1), 3);
  EXPECT_EQ(cluster.lead_max(), 3);
  EXPECT_EQ(cluster.broken(), "");
}

// Every gradient of every worker is in the end: averages and corrections keep the mean.
TEST(Lasgd, CorrectionsKeepTheMean) {
  for (const double slowdown : {1.0, 3.0, 40.0}) {
    Cluster cluster = five(25);
    cluster.slow = {{1, slowdown}, {3, 1.7}};
    cluster.network.bandwidth = 1e4;
    cluster.run("lasgd");
    Vec expected = cluster.work->initial();
    for (int w = 0; w < 5; ++w) {
      Payload x = cluster.work->initial().share();
      for (Iter k = 0; k < 25; ++k) {
        expected.axpy(-cluster.optimizer.lr / 5, share(gradient_of(cluster, w, k, x)));
        x = cluster.reports[std::size_t(w)][std::size_t(k)].x;
      }
    }
    expect_near(cluster.mean_model(), expected.to_host(), 1e-4);
    EXPECT_EQ(cluster.broken(), "");
  }
}

TEST(Lasgd, EndsWithOneModel) {
  Cluster cluster = five(25);
  cluster.run("lasgd");
  for (int w = 1; w < 5; ++w) EXPECT_EQ(hash_bits(cluster.params(w)), hash_bits(cluster.params(0)));
}

TEST(Lasgd, NeverWaitsForASlowWorker) {
  Cluster cluster{.nodes = 4, .slow = {{2, 50.0}}, .topology = "complete", .iterations = 20, .instant_network = true};
  cluster.run("lasgd");
  EXPECT_EQ(cluster.reports[0][19].when, Time{} + std::chrono::milliseconds(200));
  EXPECT_EQ(cluster.lead_over(0, 2), 19);
  EXPECT_EQ(cluster.broken(), "");
}

TEST(Lasgd, HidesTheNetworkBehindTheSteps) {
  Cluster cluster{.nodes = 4, .topology = "ring", .iterations = 20};
  cluster.workload.model = "timing_only";
  cluster.workload.size = 1'000'000;
  cluster.network.bandwidth = 40e6;  // a round: 6 latencies and 6/4 of 4 MB, 0.15 s, as long as 15 steps
  cluster.run("lasgd");
  const double round = 6 * 1e-4 + 6.0 / 4 * 4e6 / 40e6;
  EXPECT_EQ(cluster.reports[0][19].when, Time{} + std::chrono::milliseconds(200));
  // It ends with the rounds that were under way, and one that finds that all have finished.
  EXPECT_NEAR(to_seconds(cluster.end), 0.010 + 3 * round, 0.02);
}

TEST(Lasgd, SharesCreditsOutAsWorkersAreFast) {
  Cluster cluster = five(0);
  cluster.credits = 60;
  cluster.run("lasgd");
  EXPECT_EQ(cluster.total(&RankRecord::gradients), 60);
  EXPECT_LT(cluster.records[1].gradients, cluster.records[0].gradients);
  EXPECT_EQ(cluster.broken(), "");
}

}  // namespace
}  // namespace hopbench
