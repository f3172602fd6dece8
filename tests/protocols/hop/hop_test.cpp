#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/cluster.h"

namespace hopbench {
namespace {

// One rank stands still while the others run as far as they may: its neighbours then show how far that is.
constexpr double kStalled = 1000.0;

Cluster stalled(int nodes, const std::string& topology, int rank) {
  Cluster cluster{.nodes = nodes, .slow = {{rank, kStalled}}, .topology = topology, .iterations = 30};
  cluster.instant_network = true;
  return cluster;
}

std::vector<Edge> cycle(int n) {
  std::vector<Edge> edges;
  for (int i = 0; i < n; ++i) edges.emplace_back(i, (i + 1) % n);
  return edges;
}

// --- The gap table: each bound holds (the checker sees to it) and is reached -----------------------------------------

TEST(HopGap, OfUpdateQueuesReachesTheDistance) {
  Cluster cluster = stalled(8, "ring", 3);
  cluster.run("hop", {{"gap_control", "queues"}});
  const Topology graph = cluster.graph();
  for (int i = 0; i < 8; ++i) EXPECT_EQ(cluster.lead_over(i, 3), graph.distance(3, i)) << "rank " << i;
  EXPECT_EQ(cluster.broken(), "");
}

TEST(HopGap, OfTokensReachesMaxIgWhereUpdatesComeALongWay) {
  Cluster cluster = stalled(8, "", 3);
  cluster.edges = cycle(8);
  cluster.run("hop", {{"max_ig", 2}});
  // Rank 2 sends to 3 directly, and hears of it over seven edges.
  EXPECT_EQ(cluster.lead_over(2, 3), 2);
  EXPECT_EQ(cluster.lead_over(1, 3), 4);
  EXPECT_EQ(cluster.lead_over(0, 3), 5);  // now the updates are the shorter way
  EXPECT_EQ(cluster.broken(), "");
}

TEST(HopGap, OfAcknowledgementsReachesTwiceTheWayThere) {
  Cluster cluster = stalled(8, "", 3);
  cluster.edges = cycle(8);
  cluster.costs.vector_bytes_per_s = 1e4;
  cluster.run("hop", {{"gap_control", "notify_ack"}});
  // Rank 3 has acknowledged its last Reduce and still applies its gradient: then rank 2 is two ahead.
  EXPECT_EQ(cluster.lead_over(2, 3), 2);
  EXPECT_EQ(cluster.lead_over(4, 3), 1);
  EXPECT_EQ(cluster.broken(), "");
}

TEST(HopGap, OfBackupWorkersReachesMaxIg) {
  for (int max_ig : {1, 3, 5}) {
    Cluster cluster = stalled(8, "complete", 3);
    cluster.run("hop", {{"backup", 1}, {"max_ig", max_ig}});
    for (int i = 0; i < 8; ++i) EXPECT_EQ(cluster.lead_over(i, 3), i == 3 ? 0 : max_ig);
    EXPECT_EQ(cluster.broken(), "");
  }
}

TEST(HopGap, OfBackupWorkersWithoutTokensHasNoBound) {
  Cluster cluster = stalled(8, "complete", 3);
  cluster.run("hop", {{"backup", 1}, {"gap_control", "queues"}});
  EXPECT_EQ(cluster.lead_over(0, 3), cluster.iterations - 1);
}

TEST(HopGap, OfStalenessReachesItsMultipleOfTheDistance) {
  for (int s : {1, 2}) {
    Cluster cluster = stalled(8, "ring", 3);
    cluster.run("hop", {{"staleness", s}, {"gap_control", "queues"}});
    const Topology graph = cluster.graph();
    for (int i = 0; i < 8; ++i) EXPECT_EQ(cluster.lead_over(i, 3), (s + 1) * graph.distance(3, i)) << "rank " << i;
    EXPECT_EQ(cluster.broken(), "");
  }
}

TEST(HopGap, OfStalenessWithTokensReachesTheSmallerOfBoth) {
  for (const auto& [s, max_ig] : {std::pair{2, 2}, std::pair{2, 5}}) {
    Cluster cluster = stalled(8, "ring", 3);
    cluster.run("hop", {{"staleness", s}, {"max_ig", max_ig}});
    EXPECT_EQ(cluster.lead_over(2, 3), std::min(s + 1, max_ig));
    EXPECT_EQ(cluster.lead_over(7, 3), 4 * std::min(s + 1, max_ig));
    EXPECT_EQ(cluster.broken(), "");
  }
}

// --- What the paper is for -------------------------------------------------------------------------------------------

TEST(Hop, ProceedsWithoutItsSlowestNeighbour) {
  Cluster standard{.nodes = 8, .slow = {{3, 6.0}}, .iterations = 20}, backup = standard;
  standard.run("hop");
  backup.run("hop", {{"backup", 1}, {"max_ig", 20}});
  EXPECT_LT(backup.records[2].finished.time_since_epoch(), standard.records[2].finished.time_since_epoch() / 4);
  EXPECT_EQ(backup.broken(), "");
}

TEST(Hop, IsHeldBackByItsTokens) {
  Cluster cluster{.nodes = 8, .slow = {{3, 6.0}}, .iterations = 20};
  cluster.run("hop", {{"backup", 1}, {"max_ig", 4}});
  EXPECT_EQ(cluster.lead_over(2, 3), 4);
  EXPECT_GT(cluster.records[2].waits.at("a token from a slower neighbour"), Duration{});
}

TEST(Hop, RidesOutRandomSlowdownsWithABackup) {
  Cluster standard{.nodes = 16, .iterations = 60}, backup = standard, stale = standard;
  for (Cluster* cluster : {&standard, &backup, &stale}) {
    cluster->compute.push_back({.what = SlowdownKind::kBernoulli, .factor = 6.0, .probability = 1.0 / 16});
    cluster->instant_network = true;
  }
  standard.run("hop");
  backup.run("hop", {{"backup", 1}, {"max_ig", 5}});
  stale.run("hop", {{"staleness", 5}, {"max_ig", 10}});
  const auto speedup = [&](const Cluster& other) { return to_seconds(standard.end) / to_seconds(other.end); };
  EXPECT_GT(speedup(backup), 1.2);  // 1.37 in a long run of another simulation; the ceiling is 1.75
  EXPECT_GT(speedup(stale), 1.2);   // 1.46
  EXPECT_LT(speedup(backup), 1.75);
}

TEST(Hop, JumpsWhenItIsFarBehind) {
  Cluster none{.nodes = 8, .slow = {{3, 4.0}}, .iterations = 60}, two = none, ten = none;
  for (Cluster* cluster : {&none, &two, &ten}) cluster->instant_network = true;
  none.run("hop", {{"backup", 1}, {"max_ig", 10}});
  two.run("hop", {{"backup", 1}, {"max_ig", 10}, {"max_jump", 2}});
  ten.run("hop", {{"backup", 1}, {"max_ig", 10}, {"max_jump", 10}});
  EXPECT_EQ(none.records[3].iters_jumped, 0);
  EXPECT_GT(two.records[3].iters_jumped, 0);
  EXPECT_GT(ten.records[3].iters_jumped, two.records[3].iters_jumped);
  EXPECT_EQ(ten.records[0].iters_jumped, 0);
  // An iteration of all takes max(1, 4 / jump) of a fast worker's.
  EXPECT_LT(two.end.time_since_epoch(), none.end.time_since_epoch() * 2 / 3);
  EXPECT_LT(ten.end, two.end);
  for (const Cluster* cluster : {&two, &ten}) {
    EXPECT_EQ(cluster->broken(), "");
    EXPECT_EQ(cluster->reports[3].back().k, cluster->iterations);  // the last iteration is run, not jumped
  }
}

TEST(Hop, LosesTheGradientBeforeAJumpUnlessItKeepsItself) {
  Cluster cluster{.nodes = 8, .slow = {{3, 8.0}}, .iterations = 40};
  const Knobs knobs = {{"backup", 1}, {"max_ig", 6}, {"max_jump", 6}};
  cluster.run("hop", knobs);
  EXPECT_GT(cluster.records[3].gradients_lost, 0);
  EXPECT_EQ(cluster.records[0].gradients_lost, 0);
  Knobs keeping = knobs;
  keeping["skip_keep_self"] = true;
  cluster.run("hop", keeping);
  EXPECT_GT(cluster.records[3].iters_jumped, 0);
  EXPECT_EQ(cluster.records[3].gradients_lost, 0);
  EXPECT_EQ(cluster.broken(), "");
}

TEST(Hop, NeverWaitsForATagThatIsNeverSent) {
  // The recalled form of the jump, min(tokens, max_jump), deadlocks in nearly every such run.
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Cluster cluster{.nodes = 8, .slow = {{3, 4.0}, {6, 3.0}}, .iterations = 40, .seed = seed, .shuffle = seed};
    cluster.compute.push_back({.what = SlowdownKind::kBernoulli, .factor = 6.0, .probability = 1.0 / 8});
    cluster.run("hop", {{"backup", 1}, {"max_ig", 5}, {"max_jump", 10}});
    EXPECT_EQ(cluster.broken(), "") << "seed " << seed;
    cluster.run("hop", {{"staleness", 5}, {"max_ig", 5}, {"max_jump", 5}});
    EXPECT_EQ(cluster.broken(), "") << "seed " << seed;
  }
}

TEST(Hop, JumpsOnADirectedGraphTooAndSaysSo) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Cluster cluster{.nodes = 8, .slow = {{3, 4.0}, {4, 5.0}}, .iterations = 40, .seed = seed, .shuffle = seed};
    cluster.edges = cycle(8);
    for (int i = 0; i < 8; ++i) cluster.edges.emplace_back(i, (i + 3) % 8);
    cluster.run("hop", {{"backup", 1}, {"max_ig", 5}, {"max_jump", 5}});
    EXPECT_GT(cluster.total(&RankRecord::iters_jumped), 0);
    EXPECT_EQ(cluster.broken(), "") << "seed " << seed;
  }
}

TEST(Hop, OwesNoTokensAndNoUpdatesOnceFinished) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Cluster cluster{.nodes = 8, .slow = {{3, 4.0}}, .credits = 100 + std::int64_t(seed), .seed = seed, .shuffle = seed};
    cluster.run("hop", {{"backup", 1}, {"max_ig", 3}, {"max_jump", 3}});
    EXPECT_EQ(cluster.total(&RankRecord::gradients), cluster.credits);
    EXPECT_EQ(cluster.broken(), "") << "seed " << seed;
  }
}

TEST(Hop, GivesFresherUpdatesMoreWeight) {
  Cluster cluster{.nodes = 8, .slow = {{3, 3.0}}, .iterations = 30};
  cluster.run("hop", {{"staleness", 4}});
  EXPECT_EQ(cluster.broken(), "");
  EXPECT_EQ(cluster.records[2].staleness_max, 4);
  EXPECT_GT(cluster.checker("reduce_weights")->looked(), 0);
}

// --- Exact equalities ------------------------------------------------------------------------------------------------

TEST(Hop, WithoutBackupAndStalenessIsDPsgdBitForBit) {
  for (const char* form : {"parallel", "serial"}) {
    Cluster reference{.nodes = 8, .iterations = 25};
    reference.run("dpsgd", {{"form", form}});
    for (const char* control : {"tokens", "queues", "notify_ack"}) {
      for (int max_ig : {1, 4}) {
        Cluster cluster{.nodes = 8, .slow = {{3, 6.0}, {5, 2.5}}, .iterations = 25, .shuffle = 7};
        cluster.compute.push_back({.what = SlowdownKind::kBernoulli, .factor = 6.0, .probability = 0.2});
        cluster.network.jitter = 1.0;
        cluster.run("hop", {{"form", form}, {"gap_control", control}, {"max_ig", max_ig}});
        EXPECT_EQ(cluster.params_hash(), reference.params_hash()) << form << " " << control << " " << max_ig;
      }
    }
  }
}

double disagreement(const std::vector<Payload>& models) {
  const Vec centre = mean(models);
  double sum = 0;
  for (const Payload& model : models) {
    Vec off = Vec::copy_of(model);
    off.axpy(-1.0f, share(centre));
    sum += off.dot(share(off));
  }
  return std::sqrt(sum);
}

TEST(Hop, KeepsTheMeanAndContractsByTheSecondEigenvalue) {
  for (const char* topology : {"ring", "ring_based", "complete"}) {
    Cluster cluster{.nodes = 8, .slow = {{2, 3.0}}, .topology = topology, .iterations = 12};
    cluster.optimizer.steps = {{1.0, 0.0f}};  // one step apart, from then on only averages
    cluster.run("hop");
    const double contraction = 1.0 - cluster.graph().spectral_gap();
    const auto models_after = [&](std::size_t k) {
      std::vector<Payload> models;
      for (const auto& reports : cluster.reports) models.push_back(reports[k].x);
      return models;
    };
    const std::vector<float> first = mean(models_after(0)).to_host();
    double before = disagreement(models_after(0));
    EXPECT_GT(before, 1e-3);
    for (std::size_t k = 1; k < std::size_t(cluster.iterations); ++k) {
      const std::vector<float> now = mean(models_after(k)).to_host();
      for (std::size_t d = 0; d < now.size(); ++d) EXPECT_NEAR(now[d], first[d], 1e-5);
      const double apart = disagreement(models_after(k));
      EXPECT_LE(apart, before * contraction + 1e-5) << topology << " iteration " << k;
      before = apart;
    }
  }
}

// --- What it refuses -------------------------------------------------------------------------------------------------

std::string refusal(Cluster cluster, const Knobs& knobs) {
  try {
    cluster.run("hop", knobs);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Hop, RefusesABackupThatWaitsForNobody) {
  EXPECT_EQ(refusal({}, {{"backup", 2}}), "");
  for (const int backup : {3, 4}) {  // ring_based: three in-neighbours, four updates with its own
    const std::string why = refusal({}, {{"backup", backup}});
    EXPECT_NE(why.find("has 3 in-neighbours: it would wait for none of them"), std::string::npos) << why;
  }
  EXPECT_NE(refusal({.nodes = 5, .topology = "star"}, {{"backup", 1}}), "");  // the points have one
  EXPECT_NE(refusal({.nodes = 1, .topology = "ring"}, {{"backup", 1}}), "");
  EXPECT_EQ(refusal({.nodes = 1, .topology = "ring"}, {}), "");
}

TEST(Hop, RefusesWhatHasNoRule) {
  EXPECT_NE(refusal({}, {{"backup", 1}, {"staleness", 1}}), "");
  EXPECT_NE(refusal({}, {{"max_ig", 0}}), "");
  EXPECT_NE(refusal({}, {{"max_jump", 2}}), "");
  EXPECT_NE(refusal({}, {{"backup", 1}, {"max_jump", 2}, {"gap_control", "queues"}}), "");
  EXPECT_NE(refusal({}, {{"backup", 1}, {"gap_control", "notify_ack"}}), "");
  EXPECT_NE(refusal({}, {{"staleness", 1}, {"gap_control", "notify_ack"}}), "");
  EXPECT_NE(refusal({.nodes = 3, .edges = {{0, 1}, {1, 2}}}, {}), "");
  EXPECT_EQ(refusal({}, {{"backup", 1}, {"max_jump", 2}}), "");
}

TEST(Hop, RefusesWhatSaysHowToJumpWithoutSkipping) {
  const std::pair<std::string, KnobValue> how[] = {{"skip_keep_self", true}, {"jump_momentum", std::string("keep")}};
  for (const auto& [name, value] : how) {
    for (const std::int64_t max_jump : {0, 1}) {
      const std::string why = refusal({}, {{"backup", 1}, {"max_jump", max_jump}, {name, value}});
      EXPECT_NE(why.find("says what a jump does: set max_jump to 2 or more"), std::string::npos) << name << why;
    }
    EXPECT_EQ(refusal({}, {{"backup", 1}, {"max_jump", std::int64_t{2}}, {name, value}}), "") << name;
  }
}

TEST(Hop, MarksWhatRestsOnLessThanHighConfidence) {
  const Protocol& hop = find_protocol("hop");
  const auto marked = [&](const Knobs& knobs) {
    KnobValues values(hop.knobs);
    for (const auto& [name, value] : knobs) values.set(hop.knobs, name, value);
    return is_experimental(hop, values);
  };
  EXPECT_FALSE(marked({}));
  EXPECT_FALSE(marked({{"backup", 1}}));
  EXPECT_FALSE(marked({{"staleness", 5}}));
  EXPECT_TRUE(marked({{"backup", 1}, {"max_jump", 5}}));
  EXPECT_TRUE(marked({{"gap_control", "notify_ack"}}));
}

}  // namespace
}  // namespace hopbench
