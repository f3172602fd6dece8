#include <gtest/gtest.h>

#include <algorithm>

#include "tests/cluster.h"

namespace hopbench {
namespace {

Time at_ms(int ms) { return Time{} + std::chrono::milliseconds(ms); }

// Iterations of 10 ms, in parts of 1 ms.
Cluster four_workers() {
  Cluster cluster{.nodes = 4, .topology = "complete", .iterations = 60};
  cluster.workload.batch = 40;
  return cluster;
}

// Rank 1 is ten times slower for half a second.
Cluster transient() {
  Cluster cluster = four_workers();
  cluster.compute.push_back({.ranks = {1}, .factor = 10.0, .from = at_ms(103), .until = at_ms(603)});
  return cluster;
}

std::int64_t samples_for_others(const Cluster& cluster) {
  double sum = 0;
  for (const RankRecord& record : cluster.records) {
    const auto found = record.figures.find("samples for others");
    if (found != record.figures.end()) sum += found->second;
  }
  return std::int64_t(sum);
}

// Returns the duration of the run if all samples are shared out so that no worker ever waits: the sum of the speeds is
// 3 + 1/10 while rank 1 is slow, 4 otherwise.
Duration ideal() {
  const double work = 4 * 60 * 0.010, lost = 0.5 * (1 - 1.0 / 10);
  return seconds_to_duration((work + lost) / 4);
}

TEST(FlexRr, WithoutHelpersAndInOnePartIsSsp) {
  Cluster flexrr = transient(), ssp = transient();
  flexrr.run("flexrr", {{"helpers", 0}, {"parts", 1}, {"servers", 2}});
  ssp.run("ps_ssp", {{"servers", 2}, {"overlap", false}});
  EXPECT_EQ(flexrr.params_hash(), ssp.params_hash());
  EXPECT_EQ(flexrr.end, ssp.end);
}

TEST(FlexRr, CostsNothingAmongEquals) {
  Cluster flexrr = four_workers(), ssp = four_workers();
  flexrr.run("flexrr");
  ssp.run("ps_ssp", {{"overlap", false}});
  EXPECT_EQ(samples_for_others(flexrr), 0);
  EXPECT_EQ(flexrr.end, ssp.end);
  EXPECT_EQ(flexrr.broken(), "");
}

TEST(FlexRr, IsFasterThanSspWithATransientStraggler) {
  for (int staleness : {0, 3}) {
    Cluster flexrr = transient(), ssp = transient(), alone = transient();
    flexrr.run("flexrr", {{"staleness", staleness}});
    alone.run("flexrr", {{"staleness", staleness}, {"helpers", 0}});
    ssp.run("ps_ssp", {{"staleness", staleness}});
    EXPECT_LT(flexrr.end, ssp.end);
    EXPECT_LT(flexrr.end, alone.end);
    EXPECT_GE(flexrr.end - Time{}, ideal());
    EXPECT_GT(samples_for_others(flexrr), 0);
    EXPECT_LT(flexrr.records[1].samples, 60 * 40);
    EXPECT_EQ(flexrr.total(&RankRecord::samples), 4 * 60 * 40);
    EXPECT_EQ(flexrr.broken(), "");
  }
}

// The numbers of docs/protocols/server.md.
TEST(FlexRr, ComesNearTheIdealWithATransientStraggler) {
  const auto seconds = [](const char* protocol, int staleness) {
    Cluster cluster = transient();
    cluster.run(protocol, {{"staleness", staleness}});
    return to_seconds(cluster.end - Time{});
  };
  EXPECT_NEAR(to_seconds(ideal()), 0.712, 0.001);
  EXPECT_NEAR(seconds("flexrr", 3), 0.771, 0.001);
  EXPECT_NEAR(seconds("flexrr", 0), 0.928, 0.001);
  EXPECT_NEAR(seconds("ps_ssp", 3), 1.068, 0.001);
}

TEST(FlexRr, KeepsTheBoundOfSspWithAStalledWorker) {
  for (int s : {0, 1, 4}) {
    Cluster cluster{.nodes = 5, .slow = {{2, 1000.0}}, .topology = "complete", .iterations = 12};
    cluster.run("flexrr", {{"staleness", s}, {"servers", 1}});
    EXPECT_LE(cluster.lead_max(), s + 1);
    EXPECT_EQ(cluster.broken(), "");
  }
}

// In an iteration: what each helper of rank 1 was given, in order.
std::vector<std::int64_t> given(const Cluster& cluster, int helper, Iter k) {
  std::vector<std::int64_t> sizes;
  for (const Event& event : cluster.events) {
    const bool slice = event.what == EventKind::kSend && event.kind == std::uint16_t(kReply) && event.rank == 1;
    if (slice && event.peer == helper && event.iter == k && event.count > 0) sizes.push_back(event.count);
  }
  return sizes;
}

TEST(FlexRr, GivesSmallSlicesFirstThenTwiceAsMuch) {
  Cluster cluster{.nodes = 2, .slow = {{1, 50.0}}, .topology = "complete", .iterations = 3};
  cluster.workload.batch = 120;
  cluster.keep_events = true;
  cluster.run("flexrr", {{"staleness", 0}});
  EXPECT_EQ(cluster.broken(), "");
  const std::vector<std::int64_t> sizes = given(cluster, 0, 1);
  ASSERT_GE(sizes.size(), 4u);
  EXPECT_EQ(sizes[0], 3);  // 2.5 % of 120
  EXPECT_EQ(sizes[1], 6);
  EXPECT_EQ(sizes[2], 12);
  EXPECT_EQ(sizes[3], 24);
}

TEST(FlexRr, AsksOnlyTheHelpersOfTheStraggler) {
  Cluster cluster = transient();
  cluster.keep_events = true;
  cluster.run("flexrr", {{"helpers", 1}});
  EXPECT_EQ(cluster.broken(), "");
  EXPECT_GT(cluster.records[2].figures["samples for others"], 0);
  for (int w = 0; w < 4; ++w) {
    EXPECT_EQ(cluster.records[std::size_t(w)].gradients, cluster.iterations) << "whole batches, whoever computes them";
    EXPECT_EQ(cluster.records[std::size_t(w)].figures.count("samples for others"), 1u) << "0 too, for the mean";
  }
  for (const Event& event : cluster.events) {
    if (event.what == EventKind::kSend && event.kind == std::uint16_t(kRequest)) {
      EXPECT_EQ(event.rank, (event.peer + 1) % 4);
    }
  }
}

// Nothing is lost on the way to the servers: with equal weights the mean gradient is that of SSP.
TEST(FlexRr, AddsUpTheGradientOfTheWholeBatch) {
  Cluster parts = four_workers(), whole = four_workers();
  parts.run("flexrr", {{"staleness", 0}, {"servers", 1}});
  whole.run("ps_ssp", {{"staleness", 0}, {"servers", 1}});
  const std::vector<float> a = parts.mean_model(), b = whole.mean_model();
  for (std::size_t d = 0; d < a.size(); ++d) EXPECT_NEAR(a[d], b[d], 1e-5);
}

}  // namespace
}  // namespace hopbench
