#include <gtest/gtest.h>

#include <cmath>

#include "tests/cluster.h"

namespace hopbench {
namespace {

// Four workers: dividing by n is exact, so ASP's steps are the same bits whichever way they are scaled.
Cluster four() {
  return {.nodes = 4, .slow = {{2, 3.0}}, .topology = "complete", .iterations = 20, .keep_events = true};
}

// Returns the number of rounds that one server made, and of gradients that it applied singly.
std::pair<int, int> updates(const Cluster& cluster, int server) {
  int rounds = 0, applied = 0;
  for (const Event& event : cluster.events) {
    if (event.rank != server) continue;
    rounds += event.what == EventKind::kReduced ? 1 : 0;
    applied += event.what == EventKind::kApplied ? 1 : 0;
  }
  return {rounds, applied - rounds * cluster.nodes};
}

TEST(SyncSwitch, OfFractionOneIsBsp) {
  for (const float momentum : {0.0f, 0.9f}) {
    Cluster cluster = four(), bsp = four();
    cluster.optimizer.momentum = bsp.optimizer.momentum = momentum;
    cluster.run("sync_switch", {{"fraction", 1.0}});
    bsp.run("ps_bsp");
    EXPECT_EQ(cluster.params_hash(), bsp.params_hash());
    EXPECT_EQ(cluster.end, bsp.end);
    EXPECT_LE(cluster.lead_max(), 1);
    EXPECT_EQ(cluster.broken(), "");
  }
}

TEST(SyncSwitch, OfFractionZeroIsAsp) {
  for (const float momentum : {0.0f, 0.9f}) {
    Cluster cluster = four(), asp = four();
    cluster.optimizer.momentum = asp.optimizer.momentum = momentum;
    cluster.run("sync_switch", {{"fraction", 0.0}});
    asp.run("ps_asp");
    EXPECT_EQ(cluster.params_hash(), asp.params_hash());
    EXPECT_EQ(cluster.end, asp.end);
    EXPECT_EQ(cluster.broken(), "");
  }
}

TEST(SyncSwitch, SwitchesOnceAfterTheSameRoundOnEveryServer) {
  for (const int servers : {1, 3, 4}) {
    Cluster cluster = four();
    cluster.run("sync_switch", {{"fraction", 0.35}, {"servers", servers}});
    EXPECT_EQ(cluster.broken(), "");
    for (int s = 0; s < servers; ++s) EXPECT_EQ(updates(cluster, 4 + s), std::make_pair(7, 13 * 4));
    EXPECT_GT(cluster.lead_max(), 1);  // asynchronous at last
  }
}

TEST(SyncSwitch, BeginsAsBspBitForBit) {
  Cluster cluster = four(), bsp = four();
  cluster.run("sync_switch", {{"fraction", 0.5}});
  bsp.run("ps_bsp");
  for (std::size_t k = 0; k < 20; ++k) {
    const bool same = hash_bits(cluster.reports[0][k].x) == hash_bits(bsp.reports[0][k].x);
    EXPECT_EQ(same, k < 10) << "after " << k + 1;
  }
}

TEST(SyncSwitch, TakesItsFractionOfTheCreditsWhereThoseDecide) {
  Cluster cluster = four();
  cluster.credits = 80;
  cluster.run("sync_switch", {{"fraction", 0.25}, {"servers", 1}});
  EXPECT_EQ(updates(cluster, 4), std::make_pair(5, 60));
  EXPECT_EQ(cluster.broken(), "");
}

// BSP steps with n eta, ASP with eta: so the model moves as far a sample in both parts.
TEST(SyncSwitch, AdaptsTheLearningRateAtTheSwitch) {
  Cluster ring{.nodes = 8, .topology = "complete", .iterations = 10};
  ring.optimizer.lr = 0.01f;
  Cluster cluster = ring, written = ring;
  written.optimizer.per_sample = false;
  ring.run("allreduce");
  const std::vector<float> start = ring.work->initial().to_host();
  const double moved = distance(ring.mean_model(), start);
  cluster.run("sync_switch", {{"fraction", 0.5}});
  written.run("sync_switch", {{"fraction", 0.5}});
  EXPECT_NEAR(distance(cluster.mean_model(), start) / moved, 1.0, 0.05);
  EXPECT_EQ(cluster.params_hash(), written.params_hash());  // it is the protocol's own rule
}

TEST(SyncSwitch, KeepsOrForgetsTheMomentum) {
  Cluster keep = four(), reset = four();
  keep.optimizer.momentum = reset.optimizer.momentum = 0.9f;
  keep.run("sync_switch", {{"fraction", 0.5}, {"momentum", "keep"}});
  reset.run("sync_switch", {{"fraction", 0.5}, {"momentum", "reset"}});
  EXPECT_EQ(hash_bits(keep.reports[0][9].x), hash_bits(reset.reports[0][9].x));
  EXPECT_NE(hash_bits(keep.reports[0][10].x), hash_bits(reset.reports[0][10].x));
  Cluster without = four(), still = four();
  without.run("sync_switch", {{"fraction", 0.5}, {"momentum", "keep"}});
  still.run("sync_switch", {{"fraction", 0.5}, {"momentum", "reset"}});
  EXPECT_EQ(without.params_hash(), still.params_hash());
}

TEST(SyncSwitch, GoesOnlineWhenAStragglerHoldsUpSeveralRounds) {
  // Rank 2 is slow from its first iteration on: the rounds 0, 1, 2 are held up.
  for (const int servers : {1, 3}) {
    Cluster cluster = four();
    cluster.run("sync_switch", {{"fraction", 1.0}, {"online", "greedy"}, {"patience", 3}, {"servers", servers}});
    EXPECT_EQ(cluster.broken(), "");
    for (int s = 0; s < servers; ++s) EXPECT_EQ(updates(cluster, 4 + s), std::make_pair(3, 17 * 4));
  }
}

TEST(SyncSwitch, OnlineStaysSynchronousWithoutAStraggler) {
  const Knobs knobs = {{"fraction", 0.5}, {"online", "greedy"}, {"patience", 3}, {"servers", 2}};
  Cluster even = four();
  even.slow.clear();
  even.run("sync_switch", knobs);
  EXPECT_EQ(updates(even, 4).first, 10);
  Cluster mild = four();
  mild.slow = {{2, 1.5}};  // below `slowdown`
  mild.run("sync_switch", knobs);
  EXPECT_EQ(updates(mild, 4).first, 10);
  Cluster transient = four();  // two rounds only
  transient.slow.clear();
  transient.compute.push_back(
      {.what = SlowdownKind::kConstant, .ranks = {1}, .factor = 5.0, .until = Time{} + std::chrono::milliseconds(60)});
  transient.run("sync_switch", knobs);
  EXPECT_EQ(updates(transient, 4).first, 10);
  EXPECT_EQ(transient.broken(), "");
}

TEST(SyncSwitch, IsInLockStepOnlyIfItNeverSwitches) {
  const Protocol& protocol = find_protocol("sync_switch");
  KnobValues knobs(protocol.knobs);
  EXPECT_FALSE(in_lockstep(protocol, knobs));
  knobs.set(protocol.knobs, "fraction", 1.0);
  EXPECT_TRUE(in_lockstep(protocol, knobs));
  knobs.set(protocol.knobs, "online", std::string("greedy"));
  EXPECT_FALSE(in_lockstep(protocol, knobs));
}

}  // namespace
}  // namespace hopbench
