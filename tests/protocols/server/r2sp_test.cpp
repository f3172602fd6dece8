#include <gtest/gtest.h>

#include "tests/cluster.h"

namespace hopbench {
namespace {

struct Update {
  int worker;
  Time when;
};

std::vector<Update> updates_of(const Cluster& cluster, int server) {
  std::vector<Update> all;
  for (const Event& event : cluster.events) {
    if (event.what == EventKind::kApplied && event.rank == server) all.push_back({event.peer, event.time});
  }
  return all;
}

Cluster five() {
  Cluster cluster{.nodes = 5, .topology = "complete", .iterations = 20, .instant_network = true, .keep_events = true};
  return cluster;
}

TEST(R2sp, UpdatesInAFixedCycleHoweverUnequalTheWorkersAre) {
  for (std::uint64_t shuffle = 0; shuffle <= 10; ++shuffle) {
    Cluster cluster = five();
    cluster.instant_network = false;
    cluster.network.jitter = 2.0;
    cluster.slow = {{1, 3.0}};
    cluster.compute.push_back({.what = SlowdownKind::kBernoulli, .factor = 4.0, .probability = 0.2});
    cluster.shuffle = shuffle;
    cluster.run("r2sp", {{"servers", 2}});
    EXPECT_EQ(cluster.broken(), "");
    for (const int server : {5, 6}) {
      const auto updates = updates_of(cluster, server);
      ASSERT_EQ(updates.size(), 100u);
      for (std::size_t i = 0; i < updates.size(); ++i) EXPECT_EQ(updates[i].worker, int(i % 5));
    }
  }
}

TEST(R2sp, SpreadsUpdatesOverTheIteration) {
  Cluster cluster = five();  // 10 ms a gradient
  cluster.run("r2sp", {{"servers", 1}});
  const auto updates = updates_of(cluster, 5);
  EXPECT_EQ(updates[0].when, Time{} + std::chrono::milliseconds(10));
  for (std::size_t i = 1; i < updates.size(); ++i) {
    // T is 10 ms at first and never less; r T / n = 1.6 ms.
    EXPECT_GE(updates[i].when - updates[i - 1].when, std::chrono::microseconds(1600)) << i;
  }
}

TEST(R2sp, HoldsEqualWorkersBackInTheFirstCycleOnly) {
  Cluster cluster = five();
  cluster.run("r2sp", {{"servers", 1}});
  const auto updates = updates_of(cluster, 5);
  // Spread once, worker i's gradients come one iteration after its last update, in its turn: nobody waits any more.
  for (std::size_t i = 50; i < updates.size(); ++i) {
    EXPECT_EQ(updates[i].when - updates[i - 5].when, std::chrono::milliseconds(10)) << i;
  }
}

TEST(R2sp, KeepsTheOrderWithoutAnySpacing) {
  Cluster cluster = five();
  cluster.run("r2sp", {{"r", 0.0}, {"servers", 1}});
  EXPECT_EQ(cluster.end, Time{} + std::chrono::milliseconds(200));
  EXPECT_EQ(cluster.broken(), "");
}

}  // namespace
}  // namespace hopbench
