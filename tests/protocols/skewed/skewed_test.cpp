// Gossip under skewed data: the limits at which these methods are others, and that workers with different data agree on
// what is best for all.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <span>

#include "protocols/node/eigenvalues.h"
#include "tests/cluster_models.h"

namespace hopbench {
namespace {

Cluster eight_on_a_ring() {
  Cluster cluster{.nodes = 8, .slow = {{2, 3.0}}, .topology = "ring", .iterations = 30};
  cluster.optimizer.momentum = 0.5f;
  return cluster;
}

std::uint64_t hash_of(Cluster cluster, const std::string& protocol, const Knobs& knobs = {}) {
  cluster.run(protocol, knobs);
  EXPECT_EQ(cluster.broken(), "") << protocol;
  return cluster.params_hash();
}

const Knobs kSerial = {{"form", std::string("serial")}};

/// Workers with samples of few groups each: each has an optimum of its own. A batch is all of a
/// worker's samples, so gradients have no noise.
Cluster skewed() {
  Cluster cluster{.nodes = 8, .topology = "ring", .iterations = 1500};
  cluster.workload.split.what = SplitKind::kShards;
  cluster.workload.batch = 512;  // of 4096
  cluster.optimizer.lr = 0.1f;
  return cluster;
}

/// The largest distance of a worker's last model from the mean of all.
double apart(const Cluster& cluster) {
  double most = 0;
  for (int w = 0; w < cluster.nodes; ++w)
    most = std::max(most, distance(Vec::copy_of(cluster.params(w)).to_host(), cluster.mean_model()));
  return most;
}

TEST(GossipPga, WithAPeriodOfOneIsLocalSgdWithAPeriodOfOne) {
  EXPECT_EQ(hash_of(eight_on_a_ring(), "gossip_pga", {{"period", 1}}),
            hash_of(eight_on_a_ring(), "local_sgd", {{"period", 1}}));
}

TEST(GossipPga, WithAPeriodLongerThanTheRunIsDPsgd) {
  EXPECT_EQ(hash_of(eight_on_a_ring(), "gossip_pga", {{"period", 1000}}), hash_of(eight_on_a_ring(), "dpsgd", kSerial));
}

TEST(GossipPga, MakesAllModelsOneAfterEachPeriod) {
  Cluster cluster = eight_on_a_ring();
  cluster.run("gossip_pga", {{"period", 5}});
  EXPECT_EQ(different_models(cluster, 10).size(), 1u);
  EXPECT_EQ(different_models(cluster, 11).size(), 8u);
}

TEST(QuasiGlobalMomentum, WithoutMomentumIsDPsgd) {
  Cluster cluster = eight_on_a_ring();
  cluster.optimizer.momentum = 0;
  EXPECT_EQ(hash_of(cluster, "qg_dsgdm"), hash_of(cluster, "dpsgd", kSerial));
}

TEST(QuasiGlobalMomentum, StaysAsItIsWhereTheLearningRateIsZero) {
  Cluster cluster = eight_on_a_ring();
  cluster.optimizer.steps = {{5, 0.0f}};
  cluster.run("qg_dsgdm");
  EXPECT_EQ(cluster.broken(), "");
  EXPECT_TRUE(std::isfinite(cluster.loss()));
}

TEST(ConsensusControl, WithOneExchangeIsDPsgd) {
  EXPECT_EQ(hash_of(eight_on_a_ring(), "consensus_control", {{"most", 1}}),
            hash_of(eight_on_a_ring(), "dpsgd", kSerial));
}

TEST(ConsensusControl, ExchangesMoreOftenWhereModelsMustBeCloser) {
  const auto messages = [](double ratio) {
    Cluster cluster = skewed();
    cluster.iterations = 50;
    cluster.run("consensus_control", {{"ratio", ratio}});
    EXPECT_EQ(cluster.broken(), "");
    return cluster.total(&RankRecord::bytes_sent);
  };
  EXPECT_LT(messages(1e9), messages(0.5));
  EXPECT_LT(messages(0.5), messages(0.0));
}

TEST(D2, IsExactDiffusionWhereItsOwnWeightsWouldDiverge) {
  Cluster ring_based = eight_on_a_ring();
  ring_based.topology = "ring_based";
  EXPECT_EQ(hash_of(ring_based, "d2"), hash_of(ring_based, "exact_diffusion"));
  EXPECT_NE(note_of("d2", make_topology("ring_based", 8)).find("exact_diffusion"), std::string::npos);
  EXPECT_NE(note_of("d2", make_topology("ring", 8)), "");
}

TEST(D2, UsesItsOwnWeightsWhereItCan) {
  Cluster complete = eight_on_a_ring();
  complete.topology = "complete";
  EXPECT_NE(hash_of(complete, "d2"), hash_of(complete, "exact_diffusion"));
  EXPECT_EQ(note_of("d2", make_topology("complete", 8)), "");
  EXPECT_EQ(note_of("d2", make_topology("ring", 5)), "") << "its smallest eigenvalue is -0.21";
}

std::vector<Edge> both_ways(const std::vector<Edge>& links) {
  std::vector<Edge> edges;
  for (const auto& [a, b] : links) edges.insert(edges.end(), {{a, b}, {b, a}});
  return edges;
}

/// A connected graph whose workers have random numbers. Most links are between two sides.
std::vector<Edge> random_edges(Random& random, int n) {
  std::vector<int> ranks;
  for (int r = 0; r < n; ++r) ranks.push_back(r);
  random.shuffle(std::span(ranks));
  const double across = 0.1 + 0.9 * random.uniform(), within = random.chance(0.5) ? 0 : 0.5 * random.uniform();
  std::vector<Edge> links;
  for (int i = 1; i < n; ++i) {
    for (int j = 0; j < i; ++j) {
      if (j + 1 < i && !random.chance((i + j) % 2 == 1 ? across : within)) continue;
      links.emplace_back(ranks[std::size_t(i)], ranks[std::size_t(j)]);
    }
  }
  return both_ways(links);
}

double smallest_eigenvalue_of_w(const Topology& graph) {
  std::vector<std::vector<double>> w(std::size_t(graph.size()), std::vector<double>(std::size_t(graph.size()), 0.0));
  for (const int i : graph.ranks()) {
    auto& row = w[std::size_t(i)];
    for (const int j : graph.in(i))
      row[std::size_t(j)] = 1.0 / double(1 + std::max(graph.in(i).size(), graph.in(j).size()));
    row[std::size_t(i)] = 1 - std::accumulate(row.begin(), row.end(), 0.0);
  }
  return eigenvalues(w).front();
}

// Beside 200 random graphs the two that a power iteration from an unlucky start takes for harmless.
TEST(D2, UsesItsOwnWeightsExactlyWhereTheyConvergeFastEnough) {
  const double limit = -1.0 / 3;
  std::vector<Edge> across;
  for (const int a : {0, 3, 5, 6}) {
    for (const int b : {1, 2, 4, 7}) across.emplace_back(a, b);
  }
  std::vector<Cluster> clusters = {{.nodes = 4, .edges = both_ways({{0, 1}, {1, 3}, {3, 2}, {2, 0}})},
                                   {.nodes = 8, .edges = both_ways(across)}};
  for (std::uint32_t draw = 0; draw < 200; ++draw) {
    Random random({.repeat = draw});
    const int n = 4 + int(random.below(9));
    clusters.push_back({.nodes = n, .edges = random_edges(random, n)});
  }
  std::map<std::string, int> cases;
  for (Cluster& own : clusters) {
    own.iterations = 240;
    own.optimizer.steps = {{20, 0.0f}};  // from then on only averages
    Cluster few = own;
    few.iterations = 25;
    const bool lazy = hash_of(few, "d2") == hash_of(few, "exact_diffusion");
    own.run("d2");
    const double smallest = smallest_eigenvalue_of_w(own.graph());
    SCOPED_TRACE("a graph of " + std::to_string(own.nodes) + " with the eigenvalue " + std::to_string(smallest));
    const std::string note = note_of("d2", own.graph());
    EXPECT_EQ(note.empty(), smallest > limit + 0.02) << note;
    EXPECT_EQ(lazy, smallest <= limit + 0.02);
    EXPECT_EQ(note.find("does not converge") != note.npos, smallest <= limit + 1e-9) << note;
    EXPECT_EQ(note.find("converges slowly") != note.npos, smallest > limit + 1e-9 && !note.empty()) << note;
    EXPECT_LT(apart(own), 0.02) << "it does not converge";
    ++cases[note.empty() ? "own" : smallest > limit + 1e-9 ? "near" : "below"];
  }
  EXPECT_GT(cases["own"], 50);
  EXPECT_GT(cases["near"], 5);
  EXPECT_GT(cases["below"], 50);
}

// D-PSGD with a constant learning rate leaves workers with different data apart; the others bring them together.
TEST(SkewedData, IsNoBiasToMethodsThatCorrectIt) {
  Cluster plain = skewed();
  plain.run("dpsgd", kSerial);
  ASSERT_GT(apart(plain), 0.05);
  for (const char* protocol : {"exact_diffusion", "d2", "gradient_tracking"}) {
    Cluster cluster = skewed();
    cluster.run(protocol);
    EXPECT_LT(apart(cluster), 0.02 * apart(plain)) << protocol;
    EXPECT_LT(distance(cluster.mean_model(), plain.mean_model()), 0.01) << "the mean was right before";
    EXPECT_EQ(cluster.broken(), "") << protocol;
  }
}

// A rounding error that stays in the sum of all models moves them by itself in each iteration, and only lr times the
// curvature brings them back.
TEST(SkewedData, RoundingDoesNotMoveTheModels) {
  Cluster reference = skewed();
  reference.run("allreduce");
  for (const char* protocol : {"exact_diffusion", "d2", "gradient_tracking"}) {
    Cluster cluster = skewed();
    cluster.optimizer.lr = 0.02f;
    cluster.iterations = 6000;
    cluster.run(protocol);
    EXPECT_LT(distance(cluster.mean_model(), reference.mean_model()), 0.002) << protocol;
  }
}

TEST(GradientTracking, SendsTwoVectorsToEachNeighbour) {
  Cluster tracking = eight_on_a_ring(), plain = eight_on_a_ring();
  tracking.run("gradient_tracking");
  plain.run("dpsgd");
  EXPECT_EQ(tracking.total(&RankRecord::bytes_sent), 2 * plain.total(&RankRecord::bytes_sent));
}

TEST(SkewedMethods, RefuseEdgesOfOneDirection) {
  for (const char* protocol : {"exact_diffusion", "d2", "gradient_tracking", "qg_dsgdm", "gossip_pga",
                               "consensus_control", "matcha", "dsgd_aau"}) {
    Cluster cluster{.nodes = 3, .edges = {{0, 1}, {1, 2}, {2, 0}}};
    EXPECT_THROW(cluster.run(protocol), Error) << protocol;
  }
}

TEST(RFast, NeverWaits) {
  Cluster cluster{.nodes = 6, .slow = {{2, 50.0}}, .topology = "ring", .iterations = 24};
  cluster.run("r_fast");
  EXPECT_EQ(cluster.records[0].finished, Time{} + std::chrono::milliseconds(240));
  EXPECT_EQ(cluster.broken(), "");
}

TEST(RFast, RunsOnADirectedGraph) {
  Cluster cluster{.nodes = 4, .slow = {{1, 3.0}}, .edges = {{0, 1}, {1, 2}, {2, 3}, {3, 0}, {0, 2}}, .iterations = 200};
  cluster.run("r_fast");
  EXPECT_EQ(cluster.broken(), "");
  EXPECT_LT(cluster.loss(), 0.5 * cluster.initial_loss());
}

// A model that is lost is made up for by the next one, and the sums that follow hold what a lost sum has held.
TEST(RFast, FindsTheOptimumOfSkewedDataThoughMessagesAreLost) {
  Cluster plain = skewed(), fast = skewed();
  plain.run("dpsgd", kSerial);
  fast.credits = 8 * 10000;
  fast.slow = {{3, 2.0}};
  fast.message_loss = 0.3;
  fast.run("r_fast");
  EXPECT_EQ(fast.broken(), "");
  EXPECT_LT(apart(fast), 0.05 * apart(plain));
  EXPECT_LT(distance(fast.mean_model(), plain.mean_model()), 1e-4);
  double lost = 0, sent = 0;
  for (const RankRecord& record : fast.records) {
    lost += record.figures.at("messages lost");
    sent += double(record.messages_sent);
  }
  EXPECT_NEAR(lost / sent, 0.3, 0.01);
}

// Running sums of many terms lose digits. The trackers keep what the sums could not take, so nothing drifts.
TEST(RFast, FindsTheOptimumOfSkewedDataAfterTenThousandIterations) {
  Cluster plain = skewed(), fast = skewed();
  plain.run("dpsgd", kSerial);
  fast.credits = 8 * 10000;  // or the slow one would go on alone
  fast.slow = {{3, 2.0}};
  fast.run("r_fast");
  EXPECT_LT(apart(fast), 0.05 * apart(plain));
  EXPECT_LT(distance(fast.mean_model(), plain.mean_model()), 1e-4);
}

}  // namespace
}  // namespace hopbench
