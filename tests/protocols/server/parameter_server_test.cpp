#include <gtest/gtest.h>

#include <cmath>

#include "tests/cluster.h"

namespace hopbench {
namespace {

Cluster six_and_a_server() { return {.nodes = 6, .slow = {{2, 3.0}}, .topology = "complete", .iterations = 20}; }

TEST(PsBsp, GivesTheSameBitsOnOneServerAndOnMany) {
  Cluster one = six_and_a_server(), three = six_and_a_server(), beside = six_and_a_server();
  one.run("ps_bsp", {{"servers", 1}});
  three.run("ps_bsp", {{"servers", 3}});
  beside.run("ps_bsp");
  EXPECT_EQ(one.servers, 1);
  EXPECT_EQ(beside.servers, 6);
  EXPECT_EQ(one.params_hash(), three.params_hash());
  EXPECT_EQ(one.params_hash(), beside.params_hash());
}

TEST(PsBsp, EqualsAllReduceUpToRounding) {
  Cluster server = six_and_a_server(), ring = six_and_a_server();
  server.run("ps_bsp");
  ring.run("allreduce");
  EXPECT_LT(distance(server.mean_model(), ring.mean_model()), 1e-4);
}

TEST(PsBsp, GivesAllWorkersEqualWeights) {
  Cluster cluster = six_and_a_server();
  cluster.run("ps_bsp");
  for (int w = 1; w < 6; ++w) EXPECT_EQ(hash_bits(cluster.params(w)), hash_bits(cluster.params(0)));
  EXPECT_LE(cluster.lead_max(), 1);
  EXPECT_EQ(cluster.broken(), "");
}

TEST(PsAsp, NeverWaitsForASlowWorker) {
  Cluster cluster{.nodes = 4, .slow = {{2, 50.0}}, .topology = "complete", .iterations = 20, .instant_network = true};
  cluster.run("ps_asp", {{"servers", 1}});
  EXPECT_EQ(cluster.records[0].finished, Time{} + std::chrono::milliseconds(200));
  EXPECT_EQ(cluster.records[2].finished, Time{} + std::chrono::seconds(10));
  EXPECT_EQ(cluster.lead_over(0, 2), 19);
  EXPECT_EQ(cluster.broken(), "");
}

TEST(PsSsp, ReachesItsBoundWithAStalledWorker) {
  for (int s : {0, 1, 4}) {
    Cluster cluster{.nodes = 5, .slow = {{2, 1000.0}}, .topology = "complete", .iterations = 12};
    cluster.keep_events = true;
    cluster.run("ps_ssp", {{"staleness", s}, {"servers", 1}});
    EXPECT_EQ(cluster.broken(), "");
    // While the stalled worker computes its first gradient, the others push s + 1 times.
    int pushes = 0;
    for (const Event& event : cluster.events) {
      if (event.what == EventKind::kDeliver && event.kind == std::uint16_t(kPush) && event.peer == 2) break;
      if (event.what == EventKind::kDeliver && event.kind == std::uint16_t(kPush) && event.peer == 0) ++pushes;
    }
    EXPECT_EQ(pushes, s + 1);
  }
}

TEST(PsSsp, WithoutStalenessIsInLockStep) {
  Cluster cluster = six_and_a_server();
  cluster.run("ps_ssp", {{"staleness", 0}});
  EXPECT_LE(cluster.lead_max(), 1);
  EXPECT_EQ(cluster.broken(), "");
}

TEST(PsSsp, WithUnlimitedStalenessIsAsp) {
  Cluster ssp = six_and_a_server(), asp = six_and_a_server();
  ssp.run("ps_ssp", {{"staleness", 1000}, {"servers", 1}});
  asp.run("ps_asp", {{"servers", 1}});
  EXPECT_EQ(ssp.params_hash(), asp.params_hash());
  EXPECT_EQ(ssp.end, asp.end);
}

TEST(PsSsp, ServersAgreeOnWhomToHold) {
  for (std::uint64_t shuffle = 1; shuffle <= 20; ++shuffle) {
    Cluster cluster = six_and_a_server();
    cluster.shuffle = shuffle;
    cluster.network.jitter = 3.0;
    cluster.run("ps_ssp", {{"staleness", 1}, {"servers", 3}});
    EXPECT_EQ(cluster.broken(), "");
  }
}

// Where messages take no time and no two workers push in the same instant, all servers have applied the same gradients
// when they answer, so that cutting the parameters changes no bit. Else it does: smaller slices arrive sooner, and
// while a server awaits the decision on one push it may apply another.
TEST(PsSsp, GivesTheSameBitsOnAnyNumberOfServersWherePushesAreInstantAndApart) {
  for (const char* protocol : {"ps_ssp", "dssp"}) {
    Knobs knobs =
        protocol == std::string("dssp") ? Knobs{{"mode", "capped"}, {"s_l", 1}, {"r_max", 2}} : Knobs{{"staleness", 1}};
    std::vector<std::uint64_t> hashes;
    for (const int servers : {1, 2, 3}) {
      Cluster cluster = six_and_a_server();
      cluster.instant_network = true;
      cluster.slow = {{1, 1.13}, {2, 3.07}, {3, 1.29}, {4, 1.41}, {5, 1.57}};
      knobs["servers"] = servers;
      cluster.run(protocol, knobs);
      EXPECT_EQ(cluster.broken(), "");
      hashes.push_back(cluster.params_hash());
    }
    EXPECT_EQ(hashes[0], hashes[1]) << protocol;
    EXPECT_EQ(hashes[0], hashes[2]) << protocol;
  }
}

// A server's staleness: its updates from the weights that a gradient was computed with to that gradient.
TEST(Servers, TellHowStaleTheGradientsAre) {
  Cluster cluster{.nodes = 4, .topology = "complete", .iterations = 20, .instant_network = true};
  const auto server = [&](const std::string& protocol) {
    cluster.run(protocol, {{"servers", 1}});
    return cluster.records[4];
  };
  EXPECT_EQ(server("ps_bsp").staleness_max, 0);
  EXPECT_EQ(server("ps_backup").staleness_max, 0) << "what is late is dropped";
  for (const char* protocol : {"ps_asp", "r2sp"}) {
    const RankRecord turns = server(protocol);  // of equal workers: all others between two of each
    EXPECT_EQ(turns.staleness_max, 3) << protocol;
    EXPECT_DOUBLE_EQ(turns.staleness_mean, (0 + 1 + 2 + 3 + 19 * 4 * 3) / 80.0) << protocol;
  }
  cluster.slow = {{2, 50.0}};  // the others are done before its first gradient
  EXPECT_EQ(server("ps_asp").staleness_max, 3 * 20);
}

// fairness section 1: one learning rate for all is a trap. Under `per_sample` n small updates of a shared model move it
// as far as one averaged update; as written they move it n times as far.
TEST(StepFactor, MakesAspMoveTheModelPerSampleLikeAllReduce) {
  Cluster ring{.nodes = 8, .topology = "complete", .iterations = 10};
  ring.optimizer.lr = 0.01f;
  Cluster asp = ring, written = ring;
  written.optimizer.per_sample = false;
  ring.run("allreduce");
  const std::vector<float> start = ring.work->initial().to_host();
  const double moved = distance(ring.mean_model(), start);
  for (const char* protocol : {"ps_asp", "ps_ssp", "flexrr", "dssp", "r2sp", "elastic_bsp", "ringmaster",
                               "delay_adaptive", "dc_asgd", "specsync"}) {
    asp.run(protocol);
    written.run(protocol);
    EXPECT_NEAR(distance(asp.mean_model(), start) / moved, 1.0, 0.05) << protocol;
    EXPECT_LT(distance(asp.mean_model(), ring.mean_model()), 0.1 * moved) << protocol;
    EXPECT_GT(distance(written.mean_model(), start) / moved, 3.0) << protocol;
  }
}

// An update of K gradients is a step of K / n, so that a sample moves the model as far as under all-reduce.
TEST(StepFactor, IsTheShareOfTheWorkersGradientsInAnUpdate) {
  Cluster ring{.nodes = 8, .topology = "complete", .iterations = 16};
  ring.optimizer.lr = 0.01f;
  Cluster server = ring;
  ring.run("allreduce");
  const std::vector<float> start = ring.work->initial().to_host();
  const double moved = distance(ring.mean_model(), start);
  const std::pair<const char*, Knobs> cases[] = {
      {"rennala", {}},          {"rennala", {{"batch", 16}}},  {"k_async", {}},
      {"k_async", {{"k", 2}}},  {"k_batch_async", {{"k", 4}}}, {"gba", {}},
      {"gba", {{"batches", 4}}}};
  for (const auto& [protocol, knobs] : cases) {
    server.run(protocol, knobs);
    const double lost = double(server.total(&RankRecord::gradients_lost)) / double(8 * 16);
    EXPECT_NEAR(distance(server.mean_model(), start) / moved, 1 - lost, 0.1) << protocol;
  }
}

TEST(StepFactor, LeavesAveragedReplicasAlone) {
  Cluster ring{.nodes = 8, .topology = "complete", .iterations = 10};
  ring.optimizer.lr = 0.01f;
  Cluster gossip = ring;
  ring.run("allreduce");
  const std::vector<float> start = ring.work->initial().to_host();
  const double moved = distance(ring.mean_model(), start);
  for (const char* protocol : {"dpsgd", "hop", "ps_bsp", "ps_backup", "adpsgd", "sgp", "gossipgrad", "choco"}) {
    gossip.run(protocol);
    EXPECT_NEAR(distance(gossip.mean_model(), start) / moved, 1.0, 0.05) << protocol;
  }
}

}  // namespace
}  // namespace hopbench
