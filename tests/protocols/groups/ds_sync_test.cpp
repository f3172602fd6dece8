#include <gtest/gtest.h>

#include <set>

#include "tests/cluster_models.h"

namespace hopbench {
namespace {

Cluster of(int nodes, Iter iterations) {
  Cluster cluster{.nodes = nodes, .slow = {{1, 3.0}}, .topology = "complete", .iterations = iterations};
  cluster.network.jitter = 0.5;
  return cluster;
}

// Which workers averaged with worker 0, and so on, in that round.
std::set<std::set<int>> groups_of(const Cluster& cluster, Iter round) {
  std::set<std::set<int>> groups;
  for (const Event& event : cluster.events) {
    if (event.what != EventKind::kReduced || event.iter != round || event.rank >= cluster.nodes) continue;
    groups.insert({event.senders.begin(), event.senders.end()});
  }
  return groups;
}

TEST(DsSync, HasTheGroupsOfTheAuthorsScriptsForFourWorkers) {
  for (const char* inner : {"allreduce", "ps"}) {
    Cluster cluster = of(4, 4);
    cluster.keep_events = true;
    cluster.run("ds_sync", {{"inner", inner}});
    EXPECT_EQ(cluster.servers, inner == std::string("ps") ? 2 : 0);
    for (const Iter even : {0, 2}) EXPECT_EQ(groups_of(cluster, even), (std::set<std::set<int>>{{0, 1}, {2, 3}}));
    for (const Iter odd : {1, 3}) EXPECT_EQ(groups_of(cluster, odd), (std::set<std::set<int>>{{0, 3}, {1, 2}}));
    EXPECT_EQ(cluster.broken(), "");
  }
}

TEST(DsSync, TakesTheDivisorNearestTheRoot) {
  for (const auto& [n, size] : std::map<int, std::size_t>{{16, 4}, {12, 3}, {6, 2}, {8, 2}, {14, 2}, {15, 3}}) {
    Cluster cluster = of(n, 2);
    cluster.keep_events = true;
    cluster.run("ds_sync");
    for (const auto& group : groups_of(cluster, 0)) EXPECT_EQ(group.size(), size) << n;
    for (const auto& group : groups_of(cluster, 1)) EXPECT_EQ(group.size(), std::size_t(n) / size) << n;
  }
}

// The first step parts the models; from then on the learning rate is 0.
TEST(DsSync, ReachesExactConsensusInTwoRoundsWithoutGradients) {
  for (const int n : {4, 9, 16, 6, 12}) {
    for (const char* inner : {"allreduce", "ps"}) {
      Cluster cluster = of(n, 3);
      cluster.optimizer.steps = {{1, 0.0f}};
      cluster.run("ds_sync", {{"inner", inner}});
      Vec expected = cluster.work->initial();
      for (int w = 0; w < n; ++w) {
        expected.axpy(-cluster.optimizer.lr / float(n),
                      share(gradient_of(cluster, w, 0, share(cluster.work->initial()))));
      }
      EXPECT_GT(different_models(cluster, 1).size(), 1u);
      for (int w = 0; w < n; ++w) expect_near(cluster.reports[std::size_t(w)][1].x, share(expected), 1e-5);
      if (inner == std::string("allreduce")) {
        EXPECT_EQ(different_models(cluster, 2).size(), 1u);
      }
    }
  }
}

TEST(DsSync, MovesTheMeanByTheMeanGradient) {
  for (const int n : {6, 7}) {
    Cluster cluster = of(n, 8);
    cluster.run("ds_sync");
    std::vector<Payload> models(std::size_t(n), cluster.work->initial().share());
    for (Iter k = 0; k < cluster.iterations; ++k) {
      Vec expected = mean(models);
      for (int w = 0; w < n; ++w) {
        expected.axpy(-cluster.optimizer.lr / float(n), share(gradient_of(cluster, w, k, models[std::size_t(w)])));
      }
      for (int w = 0; w < n; ++w) models[std::size_t(w)] = cluster.reports[std::size_t(w)][std::size_t(k)].x;
      expect_near(share(mean(models)), share(expected), 1e-5);
    }
  }
}

TEST(DsSync, GivesAGroupOneModelAndOtherGroupsOthers) {
  Cluster cluster = of(9, 4);
  cluster.run("ds_sync");
  for (Iter k = 1; k <= 4; ++k) EXPECT_EQ(different_models(cluster, k).size(), 3u);
}

std::vector<double> losses(const Cluster& cluster, int worker) {
  std::vector<double> all;
  for (const Event& event : cluster.events) {
    if (event.what == EventKind::kGradient && event.rank == worker) all.push_back(event.value);
  }
  return all;
}

// All gradients are the same bits; only where iterations are cut differs.
TEST(DsSync, AveragesBeforeTheForwardPassToTheSameEffect) {
  for (const char* inner : {"allreduce", "ps"}) {
    Cluster after = of(9, 10), before = of(9, 10);
    after.keep_events = before.keep_events = true;
    after.run("ds_sync", {{"inner", inner}});
    before.run("ds_sync", {{"inner", inner}, {"average_at", "before_forward"}});
    for (int w = 0; w < 9; ++w) EXPECT_EQ(losses(after, w), losses(before, w));
    EXPECT_EQ(different_models(before, 10).size(), 9u) << "the last average is left out";
    EXPECT_EQ(before.broken(), "");
  }
}

TEST(DsSync, ServersAndRingsDifferInRoundingOnly) {
  Cluster ring = of(12, 20), server = of(12, 20);
  ring.run("ds_sync");
  server.run("ds_sync", {{"inner", "ps"}});
  EXPECT_EQ(server.servers, 4);
  for (int w = 0; w < 12; ++w) expect_near(ring.params(w), server.params(w), 1e-4);
}

TEST(DsSync, KeepsMomentumWhereItIs) {
  Cluster plain = of(4, 10), heavy = of(4, 10);
  heavy.optimizer.momentum = 0.9f;
  plain.run("ds_sync");
  heavy.run("ds_sync");
  EXPECT_EQ(plain.total(&RankRecord::bytes_sent), heavy.total(&RankRecord::bytes_sent));
  EXPECT_NE(plain.params_hash(), heavy.params_hash());
  // By hand: momentum is each worker's own, whatever becomes of the models.
  Cluster one = of(4, 2);
  one.optimizer.momentum = 0.9f;
  one.run("ds_sync");
  std::vector<Payload> second;
  for (const int w : {0, 3}) {
    const Payload x0 = one.work->initial().share(), x1 = one.reports[std::size_t(w)][0].x;
    Vec m = gradient_of(one, w, 0, x0), x = Vec::copy_of(x1);
    m.scale(0.9f);
    m.add(share(gradient_of(one, w, 1, x1)));
    x.axpy(-one.optimizer.lr, share(m));
    second.push_back(share(x));
  }
  expect_near(one.params(0), share(mean(second)), 1e-5);
}

// Worker 1 gets the end of its group's average late, over the slow link from 0. Worker 2 has it then, and meets others.
TEST(DsSync, IsAtMostTwoIterationsAheadInACompleteGridAndReachesIt) {
  for (const char* when : {"after_step", "before_forward"}) {
    Cluster cluster{.nodes = 9, .topology = "ring", .iterations = 8};
    cluster.costs.gradient = std::chrono::milliseconds(1);
    cluster.network.links = {{.a = 0, .b = 1, .latency = std::chrono::milliseconds(20)}};
    cluster.run("ds_sync", {{"average_at", when}});
    EXPECT_EQ(cluster.lead_over(2, 1), 2);
    EXPECT_EQ(cluster.lead_max(), 2);
    EXPECT_EQ(cluster.broken(), "");
  }
}

TEST(DsSync, TakesTheTimeOfARingOfTheGroup) {
  Cluster cluster{.nodes = 16, .topology = "ring", .iterations = 10};
  cluster.workload.model = "timing_only";
  cluster.workload.size = 1'000'000;
  cluster.run("ds_sync");
  const double iteration = 0.010 + 6 * 1e-4 + 6.0 / 4 * 4e6 / cluster.network.bandwidth;
  EXPECT_NEAR(to_seconds(cluster.end), 10 * iteration, 0.02 * 10 * iteration);
}

// Two hosts, their workers alternating, a thin link between them.
Cluster groups_on_two_hosts() {
  Cluster cluster{.nodes = 8, .topology = "complete", .iterations = 10};
  cluster.network.host_of = {0, 1, 0, 1, 0, 1, 0, 1};
  cluster.network.bandwidth = 1e6;
  cluster.workload.size = 2000;
  cluster.keep_events = true;
  return cluster;
}

TEST(DsSync, LeavesHostsInEveryOtherRoundOnly) {
  Cluster cluster = groups_on_two_hosts();
  cluster.run("ds_sync", {{"division", "hosts"}});
  EXPECT_EQ(groups_of(cluster, 0), (std::set<std::set<int>>{{0, 2, 4, 6}, {1, 3, 5, 7}}));
  EXPECT_EQ(groups_of(cluster, 1), (std::set<std::set<int>>{{0, 1}, {2, 3}, {4, 5}, {6, 7}}));
  const auto leaves = [&](const Event& event) {
    return event.what == EventKind::kSend && event.rank % 2 != event.peer % 2;
  };
  for (const Event& event : cluster.events) {
    if (leaves(event)) {
      EXPECT_EQ(event.iter % 2, 1) << "round " << event.iter;
    }
  }
  EXPECT_EQ(cluster.broken(), "");
  Cluster blind = groups_on_two_hosts();
  blind.run("ds_sync");
  EXPECT_LT(cluster.end, blind.end);
}

TEST(DsSync, TakesHostsOfAnySizes) {
  Cluster cluster = of(7, 12);
  cluster.network.host_of = {0, 0, 0, 0, 1, 1, 2};
  cluster.run("ds_sync", {{"division", "hosts"}});
  EXPECT_EQ(cluster.broken(), "");
}

TEST(DsSync, RefusesWhatIsNoDivision) {
  Cluster cluster = of(4, 2);
  for (const int none : {3, 5}) EXPECT_THROW(cluster.run("ds_sync", {{"group_size", none}}), Error) << none;
  for (const int divisor : {1, 2, 4}) EXPECT_NO_THROW(cluster.run("ds_sync", {{"group_size", divisor}})) << divisor;
  EXPECT_THROW(cluster.run("ds_sync", {{"division", "hosts"}}), Error) << "each worker on a host of its own";
  cluster.network.host_of = {0, 0, 0, 0};
  EXPECT_THROW(cluster.run("ds_sync", {{"division", "hosts"}}), Error) << "one host";
  cluster.network.host_of = {0, 0, 1, 1};
  EXPECT_THROW(cluster.run("ds_sync", {{"division", "hosts"}, {"group_size", 2}}), Error);
}

}  // namespace
}  // namespace hopbench
