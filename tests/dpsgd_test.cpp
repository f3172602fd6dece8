#include <gtest/gtest.h>

#include "tests/cluster_models.h"

namespace hopbench {
namespace {

TEST(DPsgd, IsAtMostTheDistanceAheadAndReachesIt) {
  Cluster cluster{.nodes = 8, .slow = {{3, 1000.0}}, .topology = "ring", .iterations = 12, .instant_network = true};
  cluster.run("dpsgd");
  for (int i = 0; i < 8; ++i) EXPECT_EQ(cluster.lead_over(i, 3), cluster.graph().distance(3, i));
  EXPECT_EQ(cluster.broken(), "");
}

TEST(DPsgd, MovesTheMeanByTheMeanGradient) {
  Cluster cluster{.nodes = 6, .slow = {{1, 4.0}}, .topology = "ring", .iterations = 10};
  cluster.run("dpsgd");
  std::vector<Payload> models(6, cluster.work->initial().share());
  for (Iter k = 0; k < cluster.iterations; ++k) {
    Vec expected = mean(models);
    for (int w = 0; w < 6; ++w) {
      expected.axpy(-cluster.optimizer.lr / 6, share(gradient_of(cluster, w, k, models[std::size_t(w)])));
    }
    for (int w = 0; w < 6; ++w) models[std::size_t(w)] = cluster.reports[std::size_t(w)][std::size_t(k)].x;
    SCOPED_TRACE(k);
    expect_near(mean(models).to_host(), expected.to_host(), 1e-5);
  }
}

TEST(DPsgd, IsTheWeightedSumOfItsNeighboursAndAStep) {
  Cluster cluster{.nodes = 6, .topology = "ring", .iterations = 3};
  cluster.run("dpsgd");
  const auto at = [&](int w, std::size_t k) { return cluster.reports[std::size_t(w)][k].x; };
  for (int w = 0; w < 6; ++w) {
    std::vector<Payload> terms = {at(w, 1), at((w + 1) % 6, 1), at((w + 5) % 6, 1)};
    Vec expected = mean(terms);
    expected.axpy(-cluster.optimizer.lr, share(gradient_of(cluster, w, 2, at(w, 1))));
    expect_near(at(w, 2), share(expected), 1e-5);
  }
}

TEST(DPsgd, InSerialFormOnACompleteGraphIsAllReduce) {
  Cluster gossip{.nodes = 5, .topology = "complete", .iterations = 30}, reference = gossip;
  gossip.run("dpsgd", {{"form", "serial"}});
  reference.run("allreduce");
  const std::vector<float> a = gossip.mean_model(), b = reference.mean_model();
  for (std::size_t d = 0; d < a.size(); ++d) EXPECT_NEAR(a[d], b[d], 1e-4);
}

TEST(DPsgd, EndsAlikeAtAnySpeeds) {
  Cluster even{.nodes = 8, .iterations = 20}, uneven{.nodes = 8, .slow = {{0, 5.0}, {6, 2.0}}, .iterations = 20};
  uneven.network.jitter = 2.0;
  even.run("dpsgd");
  uneven.run("dpsgd");
  EXPECT_EQ(even.params_hash(), uneven.params_hash());
  EXPECT_GT(uneven.end, even.end);
}

TEST(DPsgd, RefusesAGraphThatIsNotStronglyConnected) {
  Cluster cluster{.nodes = 3, .edges = {{0, 1}, {1, 2}}};
  EXPECT_THROW(cluster.run("dpsgd"), Error);
}

}  // namespace
}  // namespace hopbench
