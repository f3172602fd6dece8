#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "tests/cluster.h"

namespace hopbench {
namespace {

using std::chrono::milliseconds;
using Batches = std::vector<int>;

Cluster three(double second, double third, int batch = 64) {
  Cluster cluster{.nodes = 3, .slow = {{1, second}, {2, third}}, .topology = "complete", .iterations = 40};
  cluster.workload.batch = batch;
  return cluster;
}

int adjustments(const Cluster& cluster) {
  int count = 0;
  for (std::size_t k = 1; k < std::size_t(cluster.iterations); ++k)
    count += cluster.batches(k) != cluster.batches(k - 1) ? 1 : 0;
  return count;
}

TEST(DynamicBatching, WithEqualSpeedsIsBspBitForBit) {
  for (const char* aggregation : {"allreduce", "servers"}) {
    Cluster dynamic{.nodes = 6, .topology = "complete", .iterations = 30}, bsp = dynamic;
    dynamic.run("dynamic_batching", {{"aggregation", aggregation}});
    bsp.run(aggregation == std::string("servers") ? "ps_bsp" : "allreduce");
    EXPECT_EQ(dynamic.params_hash(), bsp.params_hash());
  }
}

// Times 1, 2, 4: the printed rule gives 149, 75 and 37 samples, 261 in all. Rescaled to 192:
TEST(DynamicBatching, KeepsTheSumByRescaling) {
  Cluster cluster = three(2, 4);
  cluster.run("dynamic_batching");
  EXPECT_EQ(cluster.batches(4), (Batches{64, 64, 64}));
  EXPECT_EQ(cluster.batches(5), (Batches{110, 55, 27}));
  EXPECT_EQ(cluster.batches(39), (Batches{110, 55, 27}));
  EXPECT_EQ(cluster.broken(), "");
}

TEST(DynamicBatching, ChangesNothingInsideTheDeadBand) {
  Cluster inside = three(1.04, 1.08);  // within 4 % of the mean
  inside.run("dynamic_batching");
  EXPECT_EQ(adjustments(inside), 0);
  Cluster outside = inside;
  outside.run("dynamic_batching", {{"dead_band", 0.03}});
  EXPECT_EQ(adjustments(outside), 1);
}

// The paper's levels of heterogeneity, 39 cores on three workers.
TEST(DynamicBatching, ConvergesInTwoAdjustments) {
  for (const auto& cores : {std::vector<double>{9, 12, 18}, std::vector<double>{2, 17, 20}}) {
    Cluster cluster = three(cores[0] / cores[1], cores[0] / cores[2]);
    cluster.run("dynamic_batching");
    EXPECT_GE(adjustments(cluster), 1);
    EXPECT_LE(adjustments(cluster), 2);
    double mean = 0;
    for (int w = 0; w < 3; ++w) mean += to_seconds(cluster.records[std::size_t(w)].marks[39].compute) / 3;
    for (int w = 0; w < 3; ++w) {
      // Outside the dead band by rounding at most: half a sample and what rescaling adds to it.
      const double band = 0.05 + 1.0 / cluster.batches(39)[std::size_t(w)];
      EXPECT_NEAR(to_seconds(cluster.records[std::size_t(w)].marks[39].compute) / mean, 1, band);
    }
    EXPECT_EQ(cluster.broken(), "");
  }
}

TEST(DynamicBatching, KeepsToItsBounds) {
  Cluster cluster = three(2, 4);
  cluster.run("dynamic_batching", {{"min_batch", 0.75}, {"max_batch", 1.25}});
  EXPECT_EQ(cluster.batches(39), (Batches{80, 64, 48}));
  EXPECT_EQ(cluster.broken(), "");
}

// Worker 0 is twice as fast until its batch grows, and then, for a while, three times slower: it grew too far.
TEST(DynamicBatching, LowersTheUpperBoundOfWhoGotSlower) {
  Cluster cluster = three(2, 2);
  cluster.iterations = 80;
  cluster.instant_network = true;
  const Time grown = Time{} + milliseconds(100), over = Time{} + milliseconds(400);  // five iterations of 20 ms
  cluster.compute.push_back({.ranks = {0}, .factor = 3.0, .from = grown, .until = over});
  cluster.run("dynamic_batching");
  EXPECT_GT(cluster.batches(5)[0], 64);
  EXPECT_LE(cluster.batches(79)[0], 64) << "although it is the fastest again";
  EXPECT_GT(cluster.end, over);
  EXPECT_EQ(cluster.broken(), "");
}

TEST(DynamicBatching, AppliesTheGradientOfTheConcatenatedBatch) {
  for (const char* aggregation : {"allreduce", "servers"}) {
    Cluster dynamic = three(2, 4), bsp{.nodes = 3, .topology = "complete", .iterations = 40};
    bsp.workload.batch = 64;
    dynamic.run("dynamic_batching", {{"aggregation", aggregation}});
    bsp.run("allreduce");
    const std::vector<float> a = dynamic.mean_model(), b = bsp.mean_model();
    for (std::size_t d = 0; d < a.size(); ++d) EXPECT_NEAR(a[d], b[d], 1e-4);
  }
}

}  // namespace
}  // namespace hopbench
