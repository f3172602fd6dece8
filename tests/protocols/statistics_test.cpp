// Running statistics of batch norms, as protocols treat them: with a ResNet in virtual time.
#include <cmath>

#include "tests/cluster_models.h"

namespace hopbench {
namespace {

Cluster with_batch_norms(int nodes, Iter iterations) {
  Cluster cluster{.nodes = nodes, .topology = "ring", .iterations = iterations};
  cluster.workload = {
      .model = "resnet20", .dataset = "synthetic_cifar", .batch = 4, .backend = "onednn", .evaluation_samples = 16};
  cluster.optimizer = {.lr = 0.01f, .momentum = 0.9f, .weight_decay = 0.1f};
  return cluster;
}

bool onednn_is_there() {
  for (const BackendEntry& entry : backends())
    if (entry.name == std::string("onednn")) return entry.unavailable().empty();
  return false;
}

std::vector<float> statistics_of(Cluster& cluster, const Payload& x) {
  const std::size_t from = cluster.work->trainable();
  return Vec::copy_of(x.slice(from, x.size() - from)).to_host();
}

/// 0.9 of the initial ones and 0.1 of the mean of what all workers' batches show there.
std::vector<float> after_one_iteration(Cluster& cluster) {
  const Vec x = cluster.work->initial();
  std::vector<float> result = statistics_of(cluster, x.share());
  for (float& value : result) value *= 0.9f;
  for (int worker = 0; worker < cluster.nodes; ++worker) {
    const std::vector<float> seen = statistics_of(cluster, gradient_of(cluster, worker, 0, x.share()).share());
    for (std::size_t i = 0; i < seen.size(); ++i) result[i] += 0.1f / float(cluster.nodes) * seen[i];
  }
  return result;
}

TEST(RunningStatistics, AreAveragedAsGradientsAndAsModelsAlike) {
  if (!onednn_is_there()) GTEST_SKIP() << "no oneDNN";
  const std::vector<std::pair<std::string, Knobs>> protocols = {
      {"allreduce", {}},
      {"ps_bsp", {{"servers", 3}}},
      {"local_sgd", {{"period", 1}}},
      {"ps_bsp", {{"servers", 40}}},
      {"diloco", {{"period", 1}}},
      {"slowmo", {{"period", 1}}},
      {"streaming_diloco", {{"period", 1}, {"fragments", 1}, {"delay", 0}}}};
  for (const auto& [protocol, knobs] : protocols) {
    SCOPED_TRACE(protocol);
    Cluster cluster = with_batch_norms(3, 1);
    cluster.run(protocol, knobs);
    expect_near(statistics_of(cluster, cluster.params(1)), after_one_iteration(cluster), 1e-5);
  }
}

TEST(RunningStatistics, MoveByATenthOfEveryGradientWhereASingleOneIsAStep) {
  if (!onednn_is_there()) GTEST_SKIP() << "no oneDNN";
  Cluster cluster = with_batch_norms(1, 1);
  cluster.run("ps_asp", {{"servers", 2}});
  expect_near(statistics_of(cluster, cluster.params(0)), after_one_iteration(cluster), 1e-6);
}

// Gossip, stale gradients and compression all keep a model that can be scored: variances stay about what batches show.
TEST(RunningStatistics, StayPlausibleUnderEveryKindOfProtocol) {
  if (!onednn_is_there()) GTEST_SKIP() << "no oneDNN";
  const std::vector<std::pair<std::string, Knobs>> protocols = {{"dpsgd", {}},
                                                                {"adpsgd", {}},
                                                                {"sgp", {}},
                                                                {"choco", {}},
                                                                {"ps_asp", {}},
                                                                {"lasgd", {}},
                                                                {"lb_bsp", {}},
                                                                {"rennala", {}},
                                                                {"dc_asgd", {}},
                                                                {"gba", {}},
                                                                {"k_async", {}},
                                                                {"specsync", {}},
                                                                {"diloco", {{"period", 1}}},
                                                                {"streaming_diloco", {{"period", 2}, {"fragments", 1}}},
                                                                {"slowmo", {{"period", 1}}},
                                                                {"co2", {{"period", 1}}},
                                                                {"hivemind", {}},
                                                                {"overlap_local_sgd", {{"period", 1}}},
                                                                {"noloco", {{"period", 1}}},
                                                                {"easgd", {{"period", 1}}},
                                                                {"async_diloco", {{"period", 1}}},
                                                                {"exact_diffusion", {}},
                                                                {"d2", {}},
                                                                {"gradient_tracking", {}},
                                                                {"qg_dsgdm", {}},
                                                                {"gossip_pga", {{"period", 2}}},
                                                                {"consensus_control", {}},
                                                                {"r_fast", {}},
                                                                {"one_peer", {}},
                                                                {"matcha", {}},
                                                                {"dsgd_aau", {}},
                                                                {"moshpit", {}},
                                                                {"dropcompute", {}},
                                                                {"abs_sgd", {}},
                                                                {"a_edit", {{"period", 1}}},
                                                                {"daso", {}},
                                                                {"dybw", {}},
                                                                {"netmax", {}},
                                                                {"decoupled_diloco", {{"period", 2}}},
                                                                {"halos", {{"period", 1}}},
                                                                {"powersgd", {}},
                                                                {"error_feedback", {}}};
  for (const auto& [protocol, knobs] : protocols) {
    SCOPED_TRACE(protocol);
    Cluster cluster = with_batch_norms(4, 3);
    cluster.slow = {{2, 3.0}};
    cluster.run(protocol, knobs);
    const std::vector<float> is = statistics_of(cluster, cluster.params(1));
    const std::size_t variances = 16;  // of the first norm, behind its 16 means
    const std::vector<float> seen =
        statistics_of(cluster, gradient_of(cluster, 1, 0, cluster.work->initial().share()).share());
    for (std::size_t c = variances; c < variances + 16; ++c) {
      EXPECT_GT(is[c], std::min(1.0f, seen[c]) / 2);
      EXPECT_LT(is[c], std::max(1.0f, seen[c]) * 2);
    }
    EXPECT_TRUE(std::isfinite(cluster.loss()));
  }
}

}  // namespace
}  // namespace hopbench
