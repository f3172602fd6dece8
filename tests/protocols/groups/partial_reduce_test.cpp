#include <gtest/gtest.h>

#include <algorithm>

#include "tests/cluster_models.h"

namespace hopbench {
namespace {

bool reduced(const Event& event) { return event.what == EventKind::kReduced; }

bool averaged_with(const Event& event, int rank, int other) {
  return reduced(event) && event.rank == rank &&
         std::find(event.senders.begin(), event.senders.end(), other) != event.senders.end();
}

TEST(PartialReduce, OfAllWorkersKeepsReplicasAlikeAsAllReduceDoes) {
  Cluster cluster{.nodes = 5, .slow = {{2, 3.0}}, .topology = "complete", .iterations = 30}, ring = cluster;
  cluster.run("partial_reduce", {{"group_size", 5}});
  ring.run("allreduce");
  EXPECT_EQ(cluster.broken(), "");
  for (int w = 1; w < 5; ++w) EXPECT_EQ(hash_bits(cluster.params(w)), hash_bits(cluster.params(0)));
  const std::vector<float> is = cluster.mean_model(), should = ring.mean_model();
  for (std::size_t d = 0; d < is.size(); ++d) EXPECT_NEAR(is[d], should[d], 1e-4);
}

TEST(PartialReduce, KeepsItsPromisesUnderBothStopRules) {
  std::int64_t windows = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const int size = 2 + int(seed % 4);
    Cluster cluster{.nodes = 5 + int(seed % 6), .slow = {{int(seed % 5), 5.0}}, .topology = "ring", .iterations = 25};
    cluster.seed = cluster.shuffle = seed;
    cluster.workload.size = 2;
    cluster.network.jitter = 1.0;
    cluster.compute.push_back({.what = SlowdownKind::kExponential, .scale = 0.5});
    if (seed % 2 == 0) cluster.credits = 150;
    Knobs knobs = {{"group_size", size}};
    if (seed % 3 == 0) knobs["weights"] = std::string("dynamic");
    if (seed % 5 != 0) knobs["window"] = std::int64_t{(cluster.nodes - 1 + size - 2) / (size - 1)};  // the least
    cluster.run("partial_reduce", knobs);
    ASSERT_EQ(cluster.broken(), "") << "seed " << seed;
    windows += cluster.checker("connected_windows")->looked();
  }
  EXPECT_GT(windows, 1000);
}

// Workers of one speed meet in the order of their ranks, the same ones each time.
TEST(PartialReduce, DoesNotLetGroupsFreeze) {
  Cluster frozen{.nodes = 4, .topology = "ring", .iterations = 60, .keep_events = true}, mixed = frozen;
  frozen.run("partial_reduce", {{"avoid_frozen", false}});
  mixed.run("partial_reduce");
  EXPECT_EQ(frozen.broken() + mixed.broken(), "");
  const auto with = [](int rank, int other) { return [=](const Event& e) { return averaged_with(e, rank, other); }; };
  EXPECT_TRUE(std::none_of(frozen.events.begin(), frozen.events.end(), with(0, 2)));
  EXPECT_TRUE(std::none_of(frozen.events.begin(), frozen.events.end(), with(0, 3)));
  EXPECT_TRUE(std::any_of(mixed.events.begin(), mixed.events.end(), with(0, 2)) ||
              std::any_of(mixed.events.begin(), mixed.events.end(), with(0, 3)));
}

// If fewer than P are left, these go on alone: a group always has P members.
TEST(PartialReduce, LetsTheLastOnesGoOnAlone) {
  Cluster cluster{.nodes = 5, .slow = {{4, 10.0}}, .topology = "ring", .iterations = 20, .keep_events = true};
  cluster.run("partial_reduce", {{"group_size", 3}});
  EXPECT_EQ(cluster.broken(), "");
  const auto averages = [&](int w) {
    return std::count_if(cluster.events.begin(), cluster.events.end(),
                         [&](const Event& e) { return reduced(e) && e.rank == w; });
  };
  EXPECT_EQ(cluster.reports[4].size(), 20u);
  EXPECT_GT(averages(4), 0);
  EXPECT_LT(averages(4), 20);
}

TEST(PartialReduce, DoesNotWaitForASlowWorker) {
  const double gossip = rate_of_the_fast("dpsgd", {});
  RecordProperty("dpsgd", std::to_string(gossip));
  for (int size : {2, 4, 8}) {
    const double rate = rate_of_the_fast("partial_reduce", {{"group_size", size}});
    RecordProperty("P" + std::to_string(size), std::to_string(rate));
    EXPECT_GT(rate, gossip);
  }
}

TEST(PartialReduce, GivesAModelThatIsBehindLessWeight) {
  Cluster cluster{.nodes = 6, .slow = {{2, 4.0}}, .topology = "ring", .iterations = 40, .keep_events = true};
  cluster.run("partial_reduce", {{"weights", "dynamic"}, {"decay", 0.5}});
  EXPECT_EQ(cluster.broken(), "");
  int behind = 0;
  for (const Event& event : cluster.events) {
    if (!averaged_with(event, 2, 2)) continue;
    const std::size_t own = event.senders[0] == 2 ? 0 : 1;
    if (event.tags[own] < event.tags[1 - own]) {
      ++behind;
      EXPECT_LT(event.weights[own], event.weights[1 - own]);
    }
  }
  EXPECT_GT(behind, 5);
}

TEST(PartialReduce, RefusesWhatCannotBe) {
  Cluster cluster{.nodes = 6, .topology = "ring"};
  EXPECT_THROW(cluster.run("partial_reduce", {{"group_size", 7}}), Error);
  EXPECT_THROW(cluster.run("partial_reduce", {{"window", 4}}), Error);  // 5 pairs connect 6 workers
  EXPECT_NO_THROW(cluster.run("partial_reduce", {{"window", 5}}));
}

}  // namespace
}  // namespace hopbench
