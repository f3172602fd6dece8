#include <gtest/gtest.h>

#include <algorithm>

#include "tests/cluster_models.h"

namespace hopbench {
namespace {

const Knobs kStatic = {{"groups", "static"}};

// Two hosts of four workers.
Cluster two_hosts() {
  Cluster cluster{.nodes = 8, .iterations = 20};
  cluster.network.host_of = {0, 0, 0, 0, 1, 1, 1, 1, 2};  // and the generator
  return cluster;
}

double loss_left(Cluster& cluster) {
  Cluster reference{.nodes = cluster.nodes, .iterations = cluster.iterations};
  reference.run("allreduce");
  return (cluster.loss() - reference.loss()) / (reference.initial_loss() - reference.loss());
}

TEST(Prague, GivesAllMembersOfAGroupTheSameModel) {
  Cluster cluster{.nodes = 9, .topology = "ring", .iterations = 10, .keep_events = true};
  cluster.run("prague");
  std::map<Iter, std::vector<std::pair<int, Iter>>> groups;  // number -> member, its iteration
  std::vector<Iter> group(9, -1), at(9, -1);
  int compared = 0;
  for (const Event& event : cluster.events) {
    if (event.rank >= 9) continue;
    const auto w = std::size_t(event.rank);
    if (event.what == EventKind::kEnter) at[w] = event.iter;
    if (event.what == EventKind::kSend && event.kind == std::uint16_t(kReduceScatter)) group[w] = event.iter;
    if (event.what != EventKind::kReport || event.iter != at[w] + 1 || group[w] < 0) continue;
    auto& members = groups[group[w]];
    members.emplace_back(event.rank, at[w]);
    const auto model = [&](const auto& m) {
      const auto& reports = cluster.reports[std::size_t(m.first)];
      return hash_bits(
          std::find_if(reports.begin(), reports.end(), [&](const Snapshot& s) { return s.k == m.second + 1; })->x);
    };
    EXPECT_EQ(model(members.front()), model(members.back()));
    compared += members.size() > 1 ? 1 : 0;
    group[w] = -1;
  }
  EXPECT_GT(compared, 9 * 5);
}

TEST(Prague, ServesEveryRequestUnderBothStopRules) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Cluster cluster = two_hosts();
    cluster.seed = cluster.shuffle = seed;
    cluster.workload.size = 2;
    cluster.slow[int(seed % 8)] = 5.0;
    cluster.network.jitter = 1.0;
    cluster.compute.push_back({.what = SlowdownKind::kExponential, .scale = 0.5});
    if (seed % 2 == 0) cluster.credits = 100;
    cluster.run("prague", {{"inter_intra", seed % 3 != 0}, {"slow_threshold", std::int64_t(seed % 5)}});
    ASSERT_EQ(cluster.broken(), "") << "seed " << seed;
    EXPECT_EQ(cluster.total(&RankRecord::gradients), seed % 2 == 0 ? 100 : 8 * 20);
  }
}

TEST(Prague, DoesNotWaitForASlowWorker) {
  const double filtered = rate_of_the_fast("prague", {}),
               unfiltered = rate_of_the_fast("prague", {{"slow_threshold", 0}}), gossip = rate_of_the_fast("dpsgd", {});
  RecordProperty("filtered", std::to_string(filtered));
  RecordProperty("unfiltered", std::to_string(unfiltered));
  RecordProperty("dpsgd", std::to_string(gossip));
  EXPECT_GT(filtered, unfiltered);
  EXPECT_GT(unfiltered, gossip);
}

TEST(PragueStatic, NeedsNoGenerator) {
  Cluster cluster = two_hosts();
  cluster.keep_events = true;
  cluster.run("prague", kStatic);
  EXPECT_EQ(cluster.servers, 0);
  EXPECT_EQ(cluster.broken(), "");
  // Every second step all of a host have averaged; between hosts four do, in two groups.
  for (std::size_t k : {1, 3, 5}) {
    for (int w = 1; w < 4; ++w) {
      EXPECT_EQ(hash_bits(cluster.reports[std::size_t(w)][k].x), hash_bits(cluster.reports[0][k].x));
      EXPECT_EQ(hash_bits(cluster.reports[std::size_t(w + 4)][k].x), hash_bits(cluster.reports[4][k].x));
    }
    EXPECT_NE(hash_bits(cluster.reports[0][k].x), hash_bits(cluster.reports[4][k].x));
  }
  const auto across = [&](const Event& e) {
    return e.what == EventKind::kReduced && e.senders.front() / 4 != e.senders.back() / 4;
  };
  EXPECT_EQ(std::count_if(cluster.events.begin(), cluster.events.end(), across), 20 / 4 * 4);
}

// While one worker stands still its host stops at the next step of all; the other host at the second one from there,
// for its leader of the step between needs the same rank of the first host. The rest of it has gone on.
TEST(PragueStatic, IsAtMostThreeAheadOfAWorkerThatStandsStill) {
  Cluster cluster = two_hosts();
  cluster.slow[7] = 1000.0;
  cluster.run("prague", kStatic);
  EXPECT_EQ(cluster.broken(), "");
  for (int w : {4, 5, 6}) EXPECT_EQ(cluster.lead_over(w, 7), 1) << w;
  for (int w : {0, 1, 2, 3}) EXPECT_EQ(cluster.lead_over(w, 7), 3) << w;
}

TEST(PragueStatic, EndsAlikeAtAnySpeeds) {
  Cluster even = two_hosts(), uneven = two_hosts();
  uneven.slow = {{1, 5.0}, {6, 2.0}};
  uneven.network.jitter = 2.0;
  even.run("prague", kStatic);
  uneven.run("prague", kStatic);
  EXPECT_EQ(even.params_hash(), uneven.params_hash());
}

TEST(PragueStatic, IsForFourWorkersOnEachHost) {
  Cluster spread{.nodes = 8}, three = two_hosts();
  EXPECT_THROW(spread.run("prague", kStatic), Error);
  three.network.host_of = {0, 0, 0, 1, 1, 1, 2, 2};
  try {
    three.run("prague", kStatic);
    FAIL() << "ran";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("4 workers on each host"), std::string::npos) << error.what();
  }
}

TEST(Prague, ConvergesInAllForms) {
  for (const Knobs& knobs : {kStatic, Knobs{}, Knobs{{"inter_intra", false}}, Knobs{{"group_size", 8}}}) {
    Cluster cluster = two_hosts();
    cluster.iterations = 300;
    cluster.run("prague", knobs);
    EXPECT_EQ(cluster.broken(), "");
    EXPECT_LT(loss_left(cluster), 0.02);
  }
}

}  // namespace
}  // namespace hopbench
