#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/cluster.h"

namespace hopbench {
namespace {

// From iteration k on only averaging moves the models.
OptimizerSpec learning_until(Iter k) { return {.steps = {{double(k), 0.0f}}}; }

std::vector<float> final_model(const Cluster& cluster, int worker) {
  return Vec::copy_of(cluster.params(worker)).to_host();
}

double time_of_last_iteration(const Cluster& cluster, int worker) {
  return to_seconds(cluster.records[std::size_t(worker)].marks.back().end);
}

std::string refusal(const Topology& graph) {
  const Protocol& protocol = find_protocol("adpsgd");
  const KnobValues knobs(protocol.knobs);
  return protocol.refuse({knobs, graph, graph.size()});
}

std::string note(const Topology& graph) { return note_of("adpsgd", graph); }

TEST(AdPsgd, KeepsTheSumOfAllModelsWhateverIsExchanged) {
  for (const char* form : {"parallel", "serial"}) {
    Cluster early{.nodes = 8, .slow = {{3, 4.0}, {6, 2.5}}, .topology = "complete", .iterations = 60};
    early.optimizer = learning_until(10);
    early.costs.vector_bytes_per_s = 1e5;
    Cluster late = early;
    late.iterations = 120;
    early.run("adpsgd", {{"form", std::string(form)}});
    late.run("adpsgd", {{"form", std::string(form)}});
    const std::vector<float> a = early.mean_model(), b = late.mean_model();
    const std::vector<float> start = early.work->initial().to_host();
    double moved = 0;
    for (std::size_t d = 0; d < a.size(); ++d) {
      EXPECT_NEAR(a[d], b[d], 1e-5);
      moved += std::abs(a[d] - start[d]);
    }
    EXPECT_GT(moved, 0.1) << "nothing was learnt that could have been lost";
    EXPECT_EQ(early.broken() + late.broken(), "");
  }
}

TEST(AdPsgd, GivesBothOfAPairTheSameBits) {
  Cluster cluster{.nodes = 2, .slow = {{1, 3.0}}, .topology = "complete", .iterations = 40};
  cluster.optimizer = learning_until(5);
  cluster.run("adpsgd");
  // The passive one's last gradient may come after the last exchange, but moves nothing any more.
  EXPECT_EQ(hash_bits(cluster.params(0)), hash_bits(cluster.params(1)));
}

TEST(AdPsgd, TendsToTheMeanByExchangesAlone) {
  Cluster cluster{.nodes = 8, .topology = "ring", .iterations = 300};
  cluster.optimizer = learning_until(10);
  cluster.run("adpsgd");
  const std::vector<float> mean = cluster.mean_model();
  for (int w = 0; w < 8; ++w) {
    const std::vector<float> x = final_model(cluster, w);
    for (std::size_t d = 0; d < x.size(); ++d) EXPECT_NEAR(x[d], mean[d], 1e-4) << "worker " << w;
  }
}

TEST(AdPsgd, HasNoDeadlockInAnyOrderOfEvents) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Cluster cluster{.nodes = 4 + int(seed % 7), .slow = {{int(seed % 4), 5.0}}, .topology = "ring", .iterations = 12};
    if (seed % 3 == 0) cluster.topology = "complete";
    cluster.compute.push_back({.what = SlowdownKind::kBernoulli, .factor = 6.0, .probability = 0.2});
    cluster.network.jitter = 1.0;
    cluster.costs.vector_bytes_per_s = 1e5;
    cluster.seed = cluster.shuffle = seed;
    if (seed % 2 == 0) cluster.credits = 10 * cluster.nodes;
    ASSERT_NO_THROW(cluster.run("adpsgd", {{"form", std::string(seed % 5 < 3 ? "parallel" : "serial")}})) << seed;
    EXPECT_EQ(cluster.broken(), "") << seed;
  }
}

TEST(AdPsgd, DoesNotWaitForAStraggler) {
  for (int straggler : {2, 5}) {  // an active one, a passive one
    for (const char* form : {"parallel", "serial"}) {
      Cluster cluster{.nodes = 8, .slow = {{straggler, 50.0}}, .iterations = 40, .instant_network = true};
      cluster.run("adpsgd", {{"form", std::string(form)}});
      const double alone = 40 * to_seconds(cluster.costs.gradient);
      for (int w = 0; w < 8; ++w) {
        const double slowdown = w == straggler ? 50 : 1;
        EXPECT_LE(time_of_last_iteration(cluster, w), 1.05 * slowdown * alone) << "worker " << w;
      }
      EXPECT_EQ(cluster.broken(), "");
    }
  }
}

TEST(AdPsgd, AnswersAfterItsOwnLastIteration) {
  Cluster cluster{.nodes = 4, .slow = {{0, 20.0}}, .topology = "ring", .iterations = 10};
  cluster.keep_events = true;
  cluster.run("adpsgd");
  Time last{};
  std::int64_t answers = 0;
  for (const Event& event : cluster.events) {
    const bool passive = event.rank % 2 == 1;
    if (passive && event.what == EventKind::kGradient) last = std::max(last, event.time);
    if (passive && event.what == EventKind::kSend && event.kind == std::uint16_t(kReply) && event.time > last)
      ++answers;
  }
  EXPECT_GE(answers, 8);  // the straggler's, nearly all
  EXPECT_EQ(cluster.total(&RankRecord::messages_sent), 2 * 2 * 10);
  for (int passive : {1, 3}) {
    const RankRecord& record = cluster.records[std::size_t(passive)];
    EXPECT_EQ(record.marks.back().end, Time{} + std::chrono::milliseconds(100)) << "what follows is no work";
    EXPECT_GT(record.finished, Time{} + std::chrono::seconds(2));
    EXPECT_EQ(record.waits.count("requests of active workers"), 0u);
  }
  EXPECT_EQ(cluster.broken(), "");
}

TEST(AdPsgd, EndsCleanlyUnderCredits) {
  Cluster cluster{.nodes = 6, .slow = {{1, 8.0}, {4, 3.0}}, .topology = "ring", .credits = 200};
  cluster.run("adpsgd");
  EXPECT_EQ(cluster.total(&RankRecord::gradients), 200);
  EXPECT_LT(cluster.records[1].gradients, cluster.records[3].gradients);
  EXPECT_EQ(cluster.broken(), "");
}

TEST(AdPsgd, AloneIsPlainSgd) {
  Cluster alone{.nodes = 1, .topology = "complete", .iterations = 10}, reference = alone;
  alone.run("adpsgd");
  reference.run("dpsgd");
  EXPECT_EQ(alone.params_hash(), reference.params_hash());
}

TEST(AdPsgd, NamesTheEdgesItDoesNotUse) {
  EXPECT_EQ(note(make_topology("ring", 8)), "");
  EXPECT_EQ(note(make_topology("ring_based", 6)), "") << "the one opposite is of the other kind";
  EXPECT_EQ(note(make_topology("ring_based", 8)),
            "uses no edges between two even or two odd ranks: 0-4, 1-5, 2-6, 3-7 of topology 'ring_based'");
  EXPECT_EQ(note(make_topology("ring", 5)), "uses no edges between two even or two odd ranks: 0-4 of topology 'ring'");
  EXPECT_NE(note(make_topology("complete", 8)).find("and 4 more"), std::string::npos);
}

TEST(AdPsgd, UsesOnlyEdgesBetweenActiveAndPassiveWorkers) {
  for (const char* topology : {"ring_based", "complete"}) {
    Cluster cluster{.nodes = 8, .topology = topology, .iterations = 60, .keep_events = true};
    cluster.run("adpsgd");
    std::set<std::pair<int, int>> used, expected;
    for (const Event& event : cluster.events) {
      if (event.what != EventKind::kSend) continue;
      const bool request = event.kind == std::uint16_t(kRequest);
      ASSERT_TRUE(request || event.kind == std::uint16_t(kReply));
      used.emplace(request ? event.rank : event.peer, request ? event.peer : event.rank);
    }
    const Topology graph = cluster.graph();
    for (int active = 0; active < 8; active += 2) {
      for (const int other : graph.out(active)) {
        if (other % 2 == 1) expected.emplace(active, other);
      }
    }
    EXPECT_EQ(used, expected) << topology;  // all of them, by and by, always asked by the even one
  }
}

TEST(AdPsgd, RefusesWhatFallsApart) {
  EXPECT_EQ(refusal(make_topology("ring", 8)), "");
  EXPECT_EQ(refusal(make_topology("ring_based", 8)), "");
  EXPECT_EQ(refusal(make_topology("ring", 7)), "") << "a path is left";
  EXPECT_EQ(refusal(make_topology("complete", 1)), "");
  EXPECT_NE(refusal(make_topology("star", 4)).find("falls apart"), std::string::npos);
  EXPECT_NE(refusal(Topology("edges", 3, {{0, 1}, {1, 2}, {2, 0}})).find("one direction"), std::string::npos);
}

}  // namespace
}  // namespace hopbench
