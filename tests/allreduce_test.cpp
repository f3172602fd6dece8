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

}  // namespace
}  // namespace hopbench
