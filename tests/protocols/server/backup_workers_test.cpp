#include <gtest/gtest.h>

#include <utility>

#include "tests/cluster.h"

namespace hopbench {
namespace {

Cluster six_with_backups() {
  Cluster cluster{.nodes = 6, .slow = {{2, 3.0}}, .topology = "complete", .iterations = 20};
  cluster.compute.push_back({.what = SlowdownKind::kBernoulli, .factor = 4.0, .probability = 0.2});
  cluster.keep_events = true;
  return cluster;
}

// Whose gradients of which iteration a server applied, in this order.
std::vector<std::pair<int, Iter>> applied_by(const Cluster& cluster, int server) {
  std::vector<std::pair<int, Iter>> all;
  for (const Event& event : cluster.events) {
    if (event.what == EventKind::kApplied && event.rank == server) all.emplace_back(event.peer, event.iter);
  }
  return all;
}

TEST(PsBackup, WithoutBackupWorkersIsBspBitForBit) {
  for (const int servers : {1, 3}) {
    Cluster backup = six_with_backups(), bsp = six_with_backups();
    backup.run("ps_backup", {{"backup", 0}, {"servers", servers}});
    bsp.run("ps_bsp", {{"servers", servers}});
    EXPECT_EQ(backup.params_hash(), bsp.params_hash());
    EXPECT_EQ(backup.total(&RankRecord::gradients_lost), 0);
    EXPECT_EQ(backup.broken(), "");
  }
}

TEST(PsBackup, MakesEachUpdateOfAllButBGradients) {
  Cluster cluster{.nodes = 5, .topology = "complete", .iterations = 20, .instant_network = true};
  cluster.slow = {{1, 1.5}, {3, 1000.0}};
  cluster.keep_events = true;
  cluster.run("ps_backup", {{"backup", 2}, {"servers", 1}});
  EXPECT_EQ(cluster.broken(), "");
  // Workers 0, 2 and 4 are always first. While they run, each update is theirs and nobody else's.
  const auto applied = applied_by(cluster, 5);
  for (std::size_t i = 0; i < 60; ++i) {
    EXPECT_EQ(applied[i], (std::pair<int, Iter>(int(2 * (i % 3)), Iter(i / 3))));
  }
  EXPECT_EQ(cluster.records[0].finished, Time{} + std::chrono::milliseconds(200));
  EXPECT_EQ(cluster.records[0].gradients_lost, 0);
}

TEST(PsBackup, CountsWhatItDropsAndAppliesTheRest) {
  for (const int servers : {1, 3}) {
    Cluster cluster = six_with_backups();
    cluster.network.jitter = 2.0;
    cluster.run("ps_backup", {{"backup", 2}, {"servers", servers}});
    EXPECT_EQ(cluster.broken(), "");
    EXPECT_GT(cluster.records[2].gradients_lost, 0);
    for (int w = 0; w < 6; ++w) {
      std::int64_t applied = 0;
      for (const auto& [worker, k] : applied_by(cluster, 6)) applied += worker == w ? 1 : 0;
      EXPECT_EQ(applied + cluster.records[std::size_t(w)].gradients_lost, cluster.iterations) << "worker " << w;
    }
  }
}

TEST(PsBackup, ServersMakeTheSameUpdates) {
  for (std::uint64_t shuffle = 1; shuffle <= 20; ++shuffle) {
    Cluster cluster = six_with_backups();
    cluster.shuffle = shuffle;
    cluster.network.jitter = 3.0;
    cluster.run("ps_backup", {{"backup", 1}, {"servers", 3}});
    EXPECT_EQ(cluster.broken(), "");
    EXPECT_EQ(applied_by(cluster, 6), applied_by(cluster, 7));
    EXPECT_EQ(applied_by(cluster, 6), applied_by(cluster, 8));
  }
}

TEST(PsBackup, RefusesToWaitForNobody) {
  Cluster cluster{.nodes = 4, .topology = "complete", .iterations = 3};
  EXPECT_THROW(cluster.run("ps_backup", {{"backup", 4}}), Error);
  cluster.run("ps_backup", {{"backup", 3}});
  EXPECT_EQ(cluster.broken(), "");
}

}  // namespace
}  // namespace hopbench
