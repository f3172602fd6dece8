// Compressed gradients: factors of low rank, and what is left out for later.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <utility>

#include "protocols/compressed/low_rank.h"
#include "tests/cluster_models.h"

namespace hopbench::compressed {
namespace {

double product_of_columns(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += double(a[i]) * double(b[i]);
  return sum;
}

TEST(Orthonormal, ColumnsHaveLengthOneAndRightAngles) {
  std::vector<std::vector<float>> columns = {{3, 4, 0}, {1, 1, 1}, {0, 2, 5}};
  const std::vector<std::vector<float>> before = columns;
  make_orthonormal(columns);
  for (std::size_t a = 0; a < 3; ++a) {
    for (std::size_t b = 0; b < 3; ++b) EXPECT_NEAR(product_of_columns(columns[a], columns[b]), a == b ? 1 : 0, 1e-6);
  }
  EXPECT_NEAR(columns[0][0], 0.6, 1e-7) << "the first one keeps its direction";
  EXPECT_NEAR(columns[0][1], 0.8, 1e-7);
}

// Otherwise rounding would be blown up to a column of length one, which differs by machine.
TEST(Orthonormal, WhatIsLeftOfAColumnAmongTheOthersIsNothing) {
  std::vector<std::vector<float>> columns = {{1, 2, 3}, {0, 0, 0}, {0.1f, 0.2f, 0.3f}, {1, 0, 0}};
  make_orthonormal(columns);
  EXPECT_EQ(columns[1], std::vector<float>(3, 0.0f));
  EXPECT_EQ(columns[2], std::vector<float>(3, 0.0f));
  EXPECT_NEAR(product_of_columns(columns[3], columns[3]), 1, 1e-6);
}

Cluster of_size(std::size_t size, Iter iterations) {
  Cluster cluster{.nodes = 4, .topology = "ring", .iterations = iterations};
  cluster.workload.size = size;
  return cluster;
}

// The factors of 2 x 4 numbers of rank 2 would be 12 numbers.
TEST(PowerSgd, IsAllReduceWhereFactorsWouldNotBeSmaller) {
  Cluster factors = of_size(8, 12), whole = of_size(8, 12);
  factors.run("powersgd", {{"rank", 2}});
  whole.run("allreduce", {{"overlap", false}});
  expect_near(factors.params(0), whole.params(0), 1e-5);
  EXPECT_EQ(factors.total(&RankRecord::bytes_sent), whole.total(&RankRecord::bytes_sent));
}

// 64 x 64 numbers become 2 x 64.
TEST(PowerSgd, SendsTheFactorsOnly) {
  Cluster factors = of_size(4096, 4), whole = of_size(4096, 4);
  factors.run("powersgd", {{"rank", 1}});
  whole.run("allreduce", {{"overlap", false}});
  const double share = double(factors.total(&RankRecord::bytes_sent)) / double(whole.total(&RankRecord::bytes_sent));
  EXPECT_GT(share, 1.0 / 32);
  EXPECT_LT(share, 2.0 / 32) << "and the headers of twice as many messages";
}

TEST(PowerSgd, FindsTheOptimumWithOneColumn) {
  Cluster factors = of_size(64, 400), whole = of_size(64, 400);
  factors.run("powersgd", {{"rank", 1}});
  whole.run("allreduce");
  EXPECT_EQ(factors.broken(), "");
  EXPECT_LT(whole.loss(), 0.2 * whole.initial_loss());
  EXPECT_LT(factors.loss(), 1.1 * whole.loss());
  EXPECT_EQ(different_models(factors, 400).size(), 1u);
}

// One sample's gradient of a dense layer has rank 1. Columns that find nothing must find the next one's all the same.
TEST(PowerSgd, FindsMoreColumnsThanOneGradientHas) {
  const auto loss = [](const std::string& protocol, const Knobs& knobs) {
    Cluster cluster{.nodes = 1, .iterations = 60};
    cluster.workload = {.model = "softmax", .dataset = "synthetic", .batch = 1, .backend = "reference"};
    cluster.run(protocol, knobs);
    return cluster.loss();
  };
  const double whole = loss("allreduce", {}), one = loss("powersgd", {{"rank", 1}}),
               four = loss("powersgd", {{"rank", 4}});
  EXPECT_LT(std::abs(four - whole), 0.5 * std::abs(one - whole)) << one << ", " << four << ", all-reduce " << whole;
}

TEST(ErrorFeedback, WithoutACompressorIsAllReduce) {
  Cluster compressed = of_size(64, 12), whole = of_size(64, 12);
  compressed.run("error_feedback", {{"compressor", "none"}});
  whole.run("allreduce", {{"overlap", false}});
  expect_near(compressed.params(0), whole.params(0), 1e-5);
}

TEST(ErrorFeedback, FindsTheOptimumWithFewEntries) {
  for (const char* compressor : {"top_k", "sign", "random_k", "qsgd"}) {
    SCOPED_TRACE(compressor);
    Cluster compressed = of_size(64, 600), whole = of_size(64, 600);
    compressed.run("error_feedback", {{"compressor", compressor}, {"share", 0.1}});
    whole.run("allreduce");
    EXPECT_EQ(compressed.broken(), "");
    EXPECT_LT(compressed.loss(), 1.2 * whole.loss());
    EXPECT_EQ(different_models(compressed, 600).size(), 1u);
  }
}

TEST(SquareTensors, CoverEveryNumberOnce) {
  for (const std::size_t size :
       {std::size_t{1}, std::size_t{2}, std::size_t{3}, std::size_t{8}, std::size_t{10}, std::size_t{4096}}) {
    std::size_t end = 5;
    for (const Tensor& tensor : square_tensors({{.offset = 5, .size = size}})) {
      EXPECT_EQ(tensor.offset, end);
      end += tensor.size();
    }
    EXPECT_EQ(end, 5 + size);
  }
  EXPECT_EQ(square_tensors({{.offset = 0, .size = 10}}).front().rows, 3u);
}

// A layer's weights are a matrix with a row for each output, as PowerSGD's authors have it.
TEST(Tensors, OfLeNetAreItsLayers) {
  const std::unique_ptr<Workload> work =
      make_workload({.model = "lenet", .dataset = "synthetic", .backend = "reference"});
  std::vector<std::pair<std::size_t, std::size_t>> matrices;
  std::size_t end = 0;
  for (const Tensor& tensor : work->tensors()) {
    EXPECT_EQ(tensor.offset, end);
    end += tensor.size();
    if (tensor.is_matrix()) matrices.emplace_back(tensor.rows, tensor.columns);
  }
  EXPECT_EQ(end, work->trainable());
  ASSERT_EQ(matrices.size(), 5u) << "two convolutions, three dense layers";
  EXPECT_EQ(matrices[0], std::pair(std::size_t{6}, std::size_t{25})) << "six filters of 5 x 5";
  EXPECT_EQ(matrices[2], std::pair(std::size_t{120}, std::size_t{400}));
}

}  // namespace
}  // namespace hopbench::compressed
