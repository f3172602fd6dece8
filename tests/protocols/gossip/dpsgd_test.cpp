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

// The average in the parallel form, the worker's own vector in the serial one.
TEST(DPsgd, DecaysTheVectorThatItSteps) {
  Cluster cluster{.nodes = 6, .topology = "ring", .iterations = 2};
  cluster.optimizer.weight_decay = 0.3f;
  cluster.run("dpsgd");
  const auto at = [&](int w) { return cluster.reports[std::size_t(w)][0].x; };
  const float lr = cluster.optimizer.lr, decay = cluster.optimizer.weight_decay;
  for (int w = 0; w < 6; ++w) {
    Vec expected = mean(std::vector<Payload>{at(w), at((w + 1) % 6), at((w + 5) % 6)});
    const Payload averaged = share(Vec::copy_of(expected.share()));
    expected.axpy(-lr * decay, averaged);
    expected.axpy(-lr, share(gradient_of(cluster, w, 1, at(w))));
    expect_near(cluster.reports[std::size_t(w)][1].x, share(expected), 1e-5);
  }
}

// No steps after the tenth iteration: then only the weights could move the mean of the models.
TEST(DPsgd, KeepsTheMeanOnAnIrregularGraphUnlessWeightsAreUniform) {
  const auto drift = [](const char* weights) {
    Cluster early{.nodes = 8, .topology = "star", .iterations = 12};
    early.optimizer.steps = {{10, 0.0f}};
    Cluster late = early;
    late.iterations = 60;
    early.run("dpsgd", {{"weights", std::string(weights)}});
    late.run("dpsgd", {{"weights", std::string(weights)}});
    EXPECT_EQ(early.broken() + late.broken(), "");
    return distance(early.mean_model(), late.mean_model());
  };
  EXPECT_LT(drift("metropolis"), 1e-4);
  EXPECT_GT(drift("uniform"), 1e-3);
}

TEST(DPsgd, OnARegularOrDirectedGraphWeightsAreUniform) {
  for (Cluster cluster :
       {Cluster{.nodes = 6, .topology = "ring"}, Cluster{.nodes = 3, .edges = {{0, 1}, {1, 2}, {2, 0}, {0, 2}}}}) {
    cluster.run("dpsgd", {{"weights", std::string("metropolis")}});
    const std::uint64_t metropolis = cluster.params_hash();
    cluster.run("dpsgd", {{"weights", std::string("uniform")}});
    EXPECT_EQ(cluster.params_hash(), metropolis);
  }
}

TEST(DPsgd, NotesWeightsThatDriftAndTheChangedDefault) {
  const Topology star = make_topology("star", 8);
  EXPECT_NE(note_of("dpsgd", star).find("weights = 'uniform'"), std::string::npos) << "it was the default";
  EXPECT_EQ(note_of("dpsgd", star, {{"weights", std::string("metropolis")}}), "");
  EXPECT_NE(note_of("dpsgd", star, {{"weights", std::string("uniform")}}).find("drifts"), std::string::npos);
  EXPECT_EQ(note_of("dpsgd", make_topology("ring", 8)), "");
  const Topology directed("two to one", 3, {{0, 1}, {1, 2}, {2, 0}, {0, 2}});
  EXPECT_NE(note_of("dpsgd", directed).find("drifts"), std::string::npos);
}

TEST(DPsgd, RefusesAGraphThatIsNotStronglyConnected) {
  Cluster cluster{.nodes = 3, .edges = {{0, 1}, {1, 2}}};
  EXPECT_THROW(cluster.run("dpsgd"), Error);
}

}  // namespace
}  // namespace hopbench
