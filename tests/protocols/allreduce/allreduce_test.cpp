#include <gtest/gtest.h>

#include "tests/cluster.h"

namespace hopbench {
namespace {

TEST(AllReduce, KeepsItsReplicasBitIdentical) {
  for (int nodes : {2, 3, 5, 8}) {
    for (bool overlap : {true, false}) {
      Cluster cluster{.nodes = nodes, .slow = {{1, 3.0}}, .topology = "complete", .iterations = 12};
      cluster.workload.size = 7;  // does not divide evenly into chunks
      cluster.network.jitter = 0.5;
      cluster.run("allreduce", {{"overlap", overlap}, {"bucket_bytes", 8}});
      for (int w = 1; w < nodes; ++w) {
        for (std::size_t k = 0; k < std::size_t(cluster.iterations); ++k) {
          EXPECT_EQ(hash_bits(cluster.reports[std::size_t(w)][k].x), hash_bits(cluster.reports[0][k].x))
              << nodes << " ranks, worker " << w << ", after " << k + 1;
        }
      }
      EXPECT_EQ(cluster.broken(), "");
    }
  }
}

TEST(AllReduce, EqualsOneWorkerOnTheUnionOfTheSamples) {
  Cluster cluster{.nodes = 6, .topology = "ring", .iterations = 40};
  cluster.run("allreduce");
  Vec x = cluster.work->initial();
  for (Iter k = 0; k < cluster.iterations; ++k) {
    std::vector<Payload> gradients;
    for (int w = 0; w < cluster.nodes; ++w) {
      Vec own = Vec::uninitialised(x.size());
      const int batch = cluster.workload.batch;
      cluster.work->gradient(x.share(), w, std::uint64_t(k * batch), batch, own, [](int) {});
      gradients.push_back(own.share());
    }
    x.axpy(-cluster.optimizer.lr, share(mean(gradients)));
  }
  const std::vector<float> is = Vec::copy_of(cluster.params(0)).to_host(), should = x.to_host();
  for (std::size_t d = 0; d < is.size(); ++d) EXPECT_NEAR(is[d], should[d], 1e-4);
}

TEST(AllReduce, GivesNearlyTheSameWithAndWithoutOverlap) {
  Cluster with{.nodes = 4, .topology = "ring", .iterations = 30}, without = with;
  with.run("allreduce", {{"bucket_bytes", 8}});
  without.run("allreduce", {{"overlap", false}});
  const std::vector<float> a = with.mean_model(), b = without.mean_model();
  for (std::size_t d = 0; d < a.size(); ++d) EXPECT_NEAR(a[d], b[d], 1e-4);
}

TEST(AllReduce, TakesTheTimeOfARing) {
  Cluster cluster{.nodes = 8, .topology = "ring", .iterations = 10};
  cluster.workload.model = "timing_only";
  cluster.workload.size = 1'000'000;
  cluster.run("allreduce", {{"overlap", false}});
  const double bytes = 4e6, latency = 1e-4, bandwidth = cluster.network.bandwidth;
  const double iteration = 0.010 + 14 * latency + 14.0 / 8 * bytes / bandwidth;
  EXPECT_NEAR(to_seconds(cluster.end), 10 * iteration, 0.02 * 10 * iteration);
}

TEST(AllReduce, GoesAtTheSlowestWorkersPace) {
  Cluster cluster{.nodes = 6, .slow = {{2, 5.0}}, .topology = "ring", .iterations = 10, .instant_network = true};
  cluster.run("allreduce");
  EXPECT_EQ(cluster.end, Time{} + std::chrono::milliseconds(500));
  EXPECT_LE(cluster.lead_max(), 1);
}

// --- Other algorithms than the ring

// Hosts of different sizes, their workers not next to each other.
Cluster on_hosts(int nodes) {
  Cluster cluster{.nodes = nodes, .slow = {{1, 3.0}}, .topology = "complete", .iterations = 8};
  for (int r = 0; r < nodes; ++r) cluster.network.host_of.push_back(r % 3 == 2 ? 1 : 0);
  cluster.workload.size = 7;  // does not divide evenly
  cluster.network.jitter = 0.5;
  return cluster;
}

class Algorithms : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(AllReduce, Algorithms, testing::Values("halving_doubling", "hierarchical"));

// Powers of two and others.
TEST_P(Algorithms, KeepReplicasBitIdentical) {
  for (int nodes : {1, 2, 3, 4, 5, 6, 7, 8, 11, 16}) {
    for (bool overlap : {true, false}) {
      Cluster cluster = on_hosts(nodes);
      cluster.run("allreduce", {{"algorithm", GetParam()}, {"overlap", overlap}, {"bucket_bytes", 8}});
      for (int w = 1; w < nodes; ++w) {
        for (std::size_t k = 0; k < 8; ++k) {
          EXPECT_EQ(hash_bits(cluster.reports[std::size_t(w)][k].x), hash_bits(cluster.reports[0][k].x))
              << nodes << " ranks, worker " << w << ", after " << k + 1;
        }
      }
      EXPECT_EQ(cluster.broken(), "");
    }
  }
}

TEST_P(Algorithms, DifferFromTheRingInRoundingOnly) {
  for (int nodes : {2, 5, 8}) {
    Cluster ring = on_hosts(nodes), other = on_hosts(nodes);
    ring.iterations = other.iterations = 30;
    ring.run("allreduce");
    other.run("allreduce", {{"algorithm", GetParam()}});
    const std::vector<float> a = ring.mean_model(), b = other.mean_model();
    for (std::size_t d = 0; d < a.size(); ++d) EXPECT_NEAR(a[d], b[d], 1e-4);
  }
}

TEST(HalvingDoubling, HasTheRingsBitsForTwoWorkersOnly) {
  for (int nodes : {2, 5, 8}) {
    Cluster ring{.nodes = nodes, .topology = "complete", .iterations = 3};
    ring.workload.size = 64;
    ring.optimizer.lr = 1.0f;  // with small steps a model absorbs the last bit of a mean
    Cluster halving = ring;
    ring.run("allreduce");
    halving.run("allreduce", {{"algorithm", "halving_doubling"}});
    EXPECT_EQ(ring.params_hash() == halving.params_hash(), nodes == 2) << nodes;
  }
}

TEST(HalvingDoubling, TakesAsManyStepsAsTheLogarithm) {
  Cluster cluster{.nodes = 8, .topology = "complete", .iterations = 10};
  cluster.workload.model = "timing_only";
  cluster.workload.size = 1'000'000;
  cluster.run("allreduce", {{"overlap", false}, {"algorithm", "halving_doubling"}});
  const double iteration = 0.010 + 6 * 1e-4 + 14.0 / 8 * 4e6 / cluster.network.bandwidth;
  EXPECT_NEAR(to_seconds(cluster.end), 10 * iteration, 0.02 * 10 * iteration);
  EXPECT_EQ(cluster.total(&RankRecord::messages_sent), 10 * 8 * 6);
}

TEST(HalvingDoubling, SendsWholeVectorsForThoseBeyondTheHypercube) {
  Cluster cluster{.nodes = 6, .topology = "complete", .iterations = 10};
  cluster.workload.size = 8;
  cluster.run("allreduce", {{"overlap", false}, {"algorithm", "halving_doubling"}});
  const std::int64_t messages = 4 * 4 + 2 * 2, floats = 4 * 2 * (4 + 2) + 2 * 2 * 8;
  EXPECT_EQ(cluster.total(&RankRecord::messages_sent), 10 * messages);
  EXPECT_EQ(cluster.total(&RankRecord::bytes_sent), 10 * (messages * kHeaderBytes + floats * 4));
}

TEST(Hierarchical, HasTheRingsBitsWhereEachWorkerIsOnAHostOfItsOwn) {
  Cluster ring{.nodes = 6, .topology = "complete", .iterations = 20}, leaders = ring;
  ring.run("allreduce");
  leaders.run("allreduce", {{"algorithm", "hierarchical"}});
  EXPECT_EQ(ring.params_hash(), leaders.params_hash());
  leaders.network.host_of = {0, 0, 1, 1, 2, 2};
  leaders.run("allreduce", {{"algorithm", "hierarchical"}});
  EXPECT_NE(ring.params_hash(), leaders.params_hash());
}

TEST(Hierarchical, LeavesAHostThroughItsLeaderOnly) {
  Cluster cluster = on_hosts(8);
  cluster.keep_events = true;
  cluster.run("allreduce", {{"algorithm", "hierarchical"}});
  for (const Event& event : cluster.events) {
    if (event.what != EventKind::kSend) continue;
    const int from = cluster.network.host_of[std::size_t(event.rank)],
              to = cluster.network.host_of[std::size_t(event.peer)];
    if (from == to) continue;
    EXPECT_TRUE(event.rank == 0 || event.rank == 2) << "rank " << event.rank;
    EXPECT_TRUE(event.peer == 0 || event.peer == 2) << "rank " << event.peer;
  }
}

TEST(Hierarchical, IsFasterThanARingThatLeavesHostsOften) {
  Cluster ring{.nodes = 8, .topology = "complete", .iterations = 5};
  ring.network.host_of = {0, 1, 0, 1, 0, 1, 0, 1};
  ring.workload.model = "timing_only";
  ring.workload.size = 1'000'000;
  Cluster leaders = ring;
  ring.run("allreduce", {{"overlap", false}});
  leaders.run("allreduce", {{"overlap", false}, {"algorithm", "hierarchical"}});
  EXPECT_LT(leaders.end, ring.end);
}

}  // namespace
}  // namespace hopbench
