// Late gradients at a server: the limits at which these methods are others, and what each does with what comes late.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/cluster.h"

namespace hopbench {
namespace {

Cluster six_with_luck() {
  Cluster cluster{.nodes = 6, .slow = {{2, 5.0}}, .topology = "complete", .iterations = 25};
  cluster.compute.push_back({.what = SlowdownKind::kBernoulli, .factor = 4.0, .probability = 0.2});
  cluster.network.jitter = 1.0;
  cluster.keep_events = true;
  return cluster;
}

Cluster equal_workers(int n) {
  return {.nodes = n, .topology = "complete", .iterations = 20, .instant_network = true, .keep_events = true};
}

std::int64_t events_of(const Cluster& cluster, EventKind what, int rank) {
  return std::count_if(cluster.events.begin(), cluster.events.end(),
                       [&](const Event& event) { return event.what == what && event.rank == rank; });
}

// --- Rennala

TEST(Rennala, IsBspBitForBitAmongEqualWorkers) {
  for (const int servers : {1, 3}) {
    Cluster rennala = equal_workers(6), bsp = equal_workers(6);
    rennala.run("rennala", {{"servers", servers}});
    bsp.run("ps_bsp", {{"servers", servers}});
    EXPECT_EQ(rennala.params_hash(), bsp.params_hash());
    EXPECT_EQ(rennala.end, bsp.end);
    EXPECT_EQ(rennala.total(&RankRecord::gradients_lost), 0);
    EXPECT_EQ(rennala.broken(), "");
  }
}

// While a worker that is ten times slower computes, the others make updates. So all that it computes is late.
TEST(Rennala, MakesUpdatesOfFastWorkersAlone) {
  Cluster cluster = equal_workers(5);
  cluster.slow = {{3, 10.0}};
  cluster.iterations = 40;
  cluster.run("rennala", {{"servers", 1}, {"batch", 4}});
  EXPECT_EQ(cluster.broken(), "");
  EXPECT_EQ(cluster.records[0].finished, Time{} + std::chrono::milliseconds(400)) << "waited for nobody";
  EXPECT_EQ(cluster.records[0].gradients_lost, 0);
  // Once the others are done, it is alone, and its gradients are fresh.
  EXPECT_EQ(cluster.records[3].gradients_lost, 4);
}

TEST(Rennala, TakesSeveralGradientsOfAWorker) {
  Cluster cluster = equal_workers(3);
  cluster.slow = {{1, 100.0}, {2, 100.0}};
  cluster.iterations = 30;
  cluster.run("rennala", {{"servers", 1}, {"batch", 5}});
  EXPECT_EQ(cluster.broken(), "");
  const auto update = std::find_if(cluster.events.begin(), cluster.events.end(),
                                   [](const Event& event) { return event.what == EventKind::kReduced; });
  ASSERT_NE(update, cluster.events.end());
  EXPECT_EQ(update->senders, (std::vector<int>{0, 0, 0, 0, 0}));
  EXPECT_EQ(update->time, Time{} + std::chrono::milliseconds(50));
}

// --- Ringmaster

TEST(Ringmaster, IsAspWithoutALimit) {
  for (const int servers : {1, 3}) {
    Cluster ringmaster = six_with_luck(), asp = six_with_luck();
    ringmaster.instant_network = asp.instant_network = true;
    ringmaster.run("ringmaster", {{"delay", 1'000'000'000}, {"servers", servers}});
    asp.run("ps_asp", {{"servers", servers}});
    EXPECT_EQ(ringmaster.params_hash(), asp.params_hash()) << servers << " servers";
    EXPECT_EQ(ringmaster.end, asp.end);
    EXPECT_EQ(ringmaster.total(&RankRecord::gradients_lost), 0);
  }
}

TEST(Ringmaster, IgnoresWhatIsTooLate) {
  Cluster cluster = equal_workers(5);
  cluster.slow = {{3, 10.0}};
  cluster.iterations = 40;
  cluster.run("ringmaster", {{"servers", 1}, {"delay", 20}});
  EXPECT_EQ(cluster.broken(), "");
  EXPECT_EQ(cluster.records[0].gradients_lost, 0);
  EXPECT_EQ(cluster.records[3].gradients_lost, 4) << "each of delay 40, while the others are there";
  EXPECT_EQ(cluster.records[5].staleness_max, 4) << "what is applied: the others' gradients between two of a worker";
}

TEST(Ringmaster, WithLimitOneAppliesGradientsAtTheNewestWeightsOnly) {
  Cluster cluster = six_with_luck();
  cluster.run("ringmaster", {{"delay", 1}});
  EXPECT_EQ(cluster.broken(), "");
  EXPECT_EQ(cluster.records[6].staleness_max, 0);
  EXPECT_GT(cluster.total(&RankRecord::gradients_lost), 50);
}

// --- Delay-adaptive

TEST(DelayAdaptive, IsAspAsLongAsNoDelayIsLong) {
  Cluster adaptive = equal_workers(6), asp = equal_workers(6);
  adaptive.run("delay_adaptive");
  asp.run("ps_asp");
  EXPECT_EQ(adaptive.params_hash(), asp.params_hash());
}

TEST(DelayAdaptive, ShortensTheStepsOfASlowWorker) {
  Cluster cluster = equal_workers(4);
  cluster.slow = {{1, 8.0}};
  cluster.run("delay_adaptive", {{"servers", 1}});
  EXPECT_EQ(cluster.broken(), "");
  std::vector<double> scales;
  for (const Event& event : cluster.events) {
    if (event.what == EventKind::kApplied && event.peer == 1) scales.push_back(checkers::step_scale(event));
  }
  ASSERT_EQ(scales.size(), 20u);
  EXPECT_DOUBLE_EQ(scales[1], 4.0 / 24) << "three workers, eight updates each meanwhile";
  EXPECT_EQ(scales.back(), 1) << "alone at the end";
  Cluster inverse = cluster;
  inverse.run("delay_adaptive", {{"servers", 1}, {"rule", "inverse"}});
  EXPECT_EQ(inverse.broken(), "");
}

// --- DC-ASGD

TEST(DcAsgd, IsAspWithoutCompensation) {
  Cluster compensated = six_with_luck(), asp = six_with_luck();
  compensated.run("dc_asgd", {{"lambda", 0.0}});
  asp.run("ps_asp");
  EXPECT_EQ(compensated.params_hash(), asp.params_hash());
}

TEST(DcAsgd, ChangesOnlyWhatIsLate) {
  Cluster compensated = equal_workers(1), asp = equal_workers(1);
  compensated.run("dc_asgd", {{"lambda", 5.0}});
  asp.run("ps_asp");
  EXPECT_EQ(compensated.params_hash(), asp.params_hash()) << "of one worker nothing is late";
  Cluster many = six_with_luck(), other = six_with_luck();
  many.run("dc_asgd", {{"lambda", 5.0}});
  other.run("ps_asp");
  EXPECT_NE(many.params_hash(), other.params_hash());
}

// --- GBA

TEST(Gba, MakesAStepOfEachGlobalBatchWhoeverItComesFrom) {
  Cluster cluster = equal_workers(4);
  cluster.slow = {{1, 3.0}};
  cluster.iterations = 30;
  cluster.run("gba", {{"servers", 1}, {"tolerance", 1000}});
  EXPECT_EQ(cluster.broken(), "");
  EXPECT_EQ(cluster.records[0].finished, Time{} + std::chrono::milliseconds(300)) << "waited for nobody";
  EXPECT_EQ(cluster.total(&RankRecord::gradients_lost), 0);
  EXPECT_EQ(events_of(cluster, EventKind::kReduced, 4), 30);
}

// A late gradient stays in the divisor, so the others do not count more.
TEST(Gba, CountsWhatIsTooLateAsNothing) {
  Cluster cluster = equal_workers(4);
  cluster.slow = {{1, 20.0}};
  cluster.run("gba", {{"servers", 1}, {"tolerance", 2}});
  EXPECT_EQ(cluster.broken(), "");
  EXPECT_GT(cluster.records[1].gradients_lost, 0);
  EXPECT_EQ(cluster.records[0].gradients_lost, 0);
  bool fewer = false;
  for (const Event& event : cluster.events) {
    if (event.what != EventKind::kReduced) continue;
    for (const float weight : event.weights) EXPECT_EQ(weight, 0.25f);
    fewer = fewer || event.senders.size() == 3;
  }
  EXPECT_TRUE(fewer);
}

// --- K-async, K-batch-async

TEST(KAsync, IsBspIfItWaitsForAll) {
  Cluster all = six_with_luck(), bsp = six_with_luck();
  all.run("k_async", {{"k", 6}});
  bsp.run("ps_bsp");
  EXPECT_EQ(all.params_hash(), bsp.params_hash());
  EXPECT_EQ(all.broken(), "");
}

TEST(KAsync, OfOneIsAsp) {
  for (const char* protocol : {"k_async", "k_batch_async"}) {
    Cluster one = six_with_luck(), asp = six_with_luck();
    one.instant_network = asp.instant_network = true;
    one.run(protocol, {{"k", 1}});
    asp.run("ps_asp");
    EXPECT_EQ(one.params_hash(), asp.params_hash()) << protocol;
  }
}

TEST(KAsync, UsesLateGradientsInALaterUpdate) {
  Cluster cluster = equal_workers(4);
  cluster.slow = {{1, 3.5}};
  cluster.run("k_async", {{"k", 2}, {"servers", 1}});
  EXPECT_EQ(cluster.broken(), "");
  EXPECT_EQ(cluster.total(&RankRecord::gradients_lost), 0);
  EXPECT_EQ(events_of(cluster, EventKind::kApplied, 4), 80);
  EXPECT_GT(cluster.records[4].staleness_max, 1);
}

TEST(KBatchAsync, HoldsNobody) {
  Cluster cluster = equal_workers(4);
  cluster.slow = {{1, 50.0}};
  cluster.run("k_batch_async", {{"k", 3}, {"servers", 1}});
  EXPECT_EQ(cluster.broken(), "");
  EXPECT_EQ(cluster.records[0].finished, Time{} + std::chrono::milliseconds(200));
}

TEST(KAsync, RefusesMoreThanThereAreWorkers) {
  Cluster cluster = equal_workers(4);
  EXPECT_THROW(cluster.run("k_async", {{"k", 5}}), Error);
  cluster.run("k_batch_async", {{"k", 5}});
  EXPECT_EQ(cluster.broken(), "");
}

// --- SpecSync

// Three workers push right after a fourth has begun: it begins again, with weights that have their gradients.
TEST(SpecSync, BeginsAgainWithFreshWeights) {
  Cluster cluster = equal_workers(4);
  cluster.workload.batch = 8;
  cluster.compute = {{.ranks = {0}, .factor = 0.9}};
  cluster.iterations = 5;
  cluster.run("specsync", {{"servers", 1}, {"window", 0.5}, {"rate", 0.75}, {"parts", 8}});
  EXPECT_EQ(cluster.broken(), "");
  EXPECT_GT(cluster.records[0].figures.at("samples abandoned"), 0);
  EXPECT_EQ(cluster.records[0].samples, 5 * 8) << "what is abandoned is no work";
  EXPECT_GT(cluster.records[0].figures.at("gradients cut"), 0);
  EXPECT_EQ(cluster.records[0].gradients, 5) << "neither are its parts gradients, nor what was for nothing";
  EXPECT_EQ(cluster.records[0].slow_events, 5) << "of worker 0 each is slower";
  EXPECT_EQ(cluster.records[1].slow_events, 0);
}

// Every worker's figures count from 0, so that their mean is over all.
TEST(SpecSync, HasItsFiguresOfEveryWorker) {
  Cluster cluster = equal_workers(4);
  cluster.run("specsync", {{"rate", 1000.0}});
  for (int w = 0; w < 4; ++w) {
    const auto& figures = cluster.records[std::size_t(w)].figures;
    EXPECT_EQ(figures.at("gradients cut") + figures.at("samples abandoned"), 0) << w;
  }
}

TEST(SpecSync, IsAspWhereNobodyBeginsAgain) {
  Cluster never = six_with_luck(), asp = six_with_luck();
  never.instant_network = asp.instant_network = true;
  never.run("specsync", {{"rate", 1000.0}, {"parts", 1}});
  asp.run("ps_asp", {{"overlap", false}});
  EXPECT_EQ(never.params_hash(), asp.params_hash());
  EXPECT_EQ(never.broken(), "");
}

}  // namespace
}  // namespace hopbench
