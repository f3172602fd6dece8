// AdamW: its steps, the numbers that decay, and its state under servers and outer steps.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/cluster.h"
#include "tests/protocols/node/node_fixture.h"

namespace hopbench {
namespace {

OptimizerSpec adamw(float lr, float weight_decay = 0) {
  return {.kind = OptimizerKind::kAdamW, .lr = lr, .weight_decay = weight_decay};
}

// The formula as "Decoupled weight decay regularization" and PyTorch have it, in double precision.
TEST_F(NodeTest, AdamWFollowsItsFormulaAndOnlyDecaysWhatItIsTold) {
  options.optimizer = adamw(0.1f, 0.5f);
  Vec x = Vec::from_host(std::vector<float>{4, 4});
  Optimizer optimizer = node().optimizer(2, {{1, 1}});
  double expected[] = {4, 4}, m = 0, v = 0;
  for (int t = 1; t <= 5; ++t) {
    const float g = t == 3 ? -2.0f : 0.5f * float(t);
    optimizer.step(x, share(Vec::from_host(std::vector<float>{g, g})), 100, 1.5);
    const double lr = 0.1 * 1.5;
    m = 0.9 * m + 0.1 * double(g);
    v = 0.999 * v + 0.001 * double(g) * double(g);
    const double mean = m / (1 - std::pow(0.9, t)), square = v / (1 - std::pow(0.999, t));
    expected[1] *= 1 - lr * 0.5;
    for (double& number : expected) number -= lr * mean / (std::sqrt(square) + 1e-8);
    for (std::size_t i = 0; i < 2; ++i) EXPECT_NEAR(x.to_host()[i], expected[i], 1e-5) << "step " << t;
  }
}

TEST_F(NodeTest, AdamWIsChargedSevenPassesAndLeavesStatisticsAlone) {
  options.costs.vector_bytes_per_s = 1000;
  options.optimizer = adamw(0.5f, 1.0f);
  workload.trained = 3;
  Vec x = Vec::from_host(std::vector<float>{1, 1, 1, 10});
  Optimizer optimizer = node().optimizer(4);
  optimizer.step(x, share(Vec::from_host(std::vector<float>{7, -7, 7, 30})), 0);
  EXPECT_EQ(runtime.now(), at_ms(7 * 4 * 4));
  const std::vector<float> after = x.to_host();
  EXPECT_NEAR(after[0], 0.5f, 1e-6);  // the first step has the length lr, however long the gradient
  EXPECT_NEAR(after[1], 1.5f, 1e-6);
  EXPECT_FLOAT_EQ(after[3], 12.0f);
  EXPECT_EQ(optimizer.state(x).size(), 2u);
}

TEST(DecayedSlices, AreTheMatricesAndThoseThatTouchAreOne) {
  const std::vector<Tensor> tensors = {{.offset = 0, .rows = 2, .columns = 3},
                                       {.offset = 6, .rows = 4, .columns = 5},
                                       {.offset = 26, .rows = 4},
                                       {.offset = 30, .rows = 1, .columns = 9},
                                       {.offset = 39, .rows = 2, .columns = 2}};
  const std::vector<Slice> slices = decayed_slices(tensors);
  ASSERT_EQ(slices.size(), 2u);
  EXPECT_EQ(slices[0].offset, 0u);
  EXPECT_EQ(slices[0].end(), 26u);
  EXPECT_EQ(slices[1].offset, 39u);
  EXPECT_EQ(slices[1].end(), 43u);
}

/// Six unequal workers; the model is a matrix of 8 x 8 and 6 more numbers.
Cluster adamw_cluster(float weight_decay = 0.1f) {
  Cluster cluster;
  cluster.nodes = 6;
  cluster.iterations = 30;
  cluster.slow = {{1, 2.0}};
  cluster.workload.size = 70;
  cluster.optimizer = adamw(0.05f, weight_decay);
  return cluster;
}

TEST(AdamW, EndsWithTheSameBitsHoweverManyServersShareTheModel) {
  Cluster one = adamw_cluster(), three = adamw_cluster(), without = adamw_cluster(0);
  one.run("ps_bsp", {{"servers", 1}});
  three.run("ps_bsp", {{"servers", 3}});
  without.run("ps_bsp", {{"servers", 1}});
  EXPECT_EQ(one.params_hash(), three.params_hash());
  EXPECT_NE(one.params_hash(), without.params_hash());
  EXPECT_EQ(three.broken(), "");
}

TEST(AdamW, LearnsUnderEveryKindOfStep) {
  for (const char* protocol : {"allreduce", "dpsgd", "ps_asp", "adpsgd", "local_sgd", "diloco", "gradient_tracking"}) {
    Cluster cluster = adamw_cluster(0);
    cluster.run(protocol);
    EXPECT_EQ(cluster.broken(), "") << protocol;
    EXPECT_LT(cluster.loss(), 0.7 * cluster.initial_loss()) << protocol;
  }
}

TEST(AdamW, AveragesBothVectorsOfItsState) {
  Cluster keep = adamw_cluster(), average = adamw_cluster();
  keep.run("diloco", {{"period", 3}});
  average.run("diloco", {{"period", 3}, {"inner_state", std::string("average")}});
  EXPECT_EQ(average.broken(), "");
  // Beside the model, m and v travel.
  EXPECT_EQ(3 * keep.total(&RankRecord::bytes_sent), average.total(&RankRecord::bytes_sent));
}

}  // namespace
}  // namespace hopbench
