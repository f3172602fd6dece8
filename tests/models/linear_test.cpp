// Linear models on sparse rows: slopes, the form of the gradient, data that do not fit, and that they learn.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "backends/base/error.h"
#include "models/workload.h"
#include "tests/folder.h"
#include "tests/models/probe.h"

namespace hopbench {
namespace {

/// Two rows of 40000 columns, in more than one window of columns.
struct Rows {
  std::vector<std::uint32_t> first = {0, 3, 32767, 32768, 39999}, second = {3, 5, 32768};
  std::vector<float> of_first = {1.0f, -2.0f, 0.5f, 0.25f, 3.0f}, of_second = {0.5f, 1.0f, -1.0f};
  std::vector<SparseDataset::Row> rows = {{first, of_first, 1}, {second, of_second, -1}};
};

struct LinearProbe : Probe, Rows {
  explicit LinearProbe(const std::string& model) {
    backend = create_backend("reference");
    learner = find_model(model).create(*backend, {.model = model}, {1, 1, 40000}, 2, 2);
    x.assign(learner->size(), 0.0f);
    Random random({.seed = 5, .purpose = Purpose::kTest});
    for (float& number : x) number = float(random.uniform() - 0.5);
    labels = {1, 0};
    batch = {.size = 2, .labels = labels.data(), .rows = rows.data()};
  }
};

TEST(Linear, HasAWeightAColumnAndABias) {
  const LinearProbe probe("linear_svm");
  EXPECT_EQ(probe.learner->size(), 40001u);
  const Vec initial = probe.learner->initial(1, 0);
  EXPECT_EQ(initial.norm(), 0.0) << "a convex problem begins at 0";
  EXPECT_TRUE(probe.learner->sparse());
}

TEST(Linear, TheGradientIsTheSlope) {
  for (const char* model : {"linear_svm", "logistic_regression"}) {
    LinearProbe probe(model);
    const std::vector<float> g = probe.gradient();
    for (const std::size_t column : {0u, 3u, 5u, 32767u, 32768u, 39999u, 40000u, 17u}) {
      std::vector<double> v(probe.x.size(), 0.0);
      v[column] = 1;
      EXPECT_NEAR(probe.slope(&Probe::scored_loss, v, 1e-3), g[column], 2e-4) << model << ", column " << column;
    }
    EXPECT_NEAR(probe.trained_loss(), probe.scored_loss(), 1e-6);
  }
}

TEST(Linear, HasAnEntryForEachColumnOfTheBatchWhateverItsValue) {
  LinearProbe probe("linear_svm");
  std::fill(probe.x.begin(), probe.x.end(), 0.0f);
  Vec g;
  probe.learner->sparse_gradient(probe.x.data(), probe.batch, g);
  const auto columns = [&] {
    std::vector<std::uint32_t> all;
    const Payload gradient = g.share();
    for (const SparseEntry& entry : gradient.entries()) all.push_back(entry.column);
    return all;
  };
  const std::vector<std::uint32_t> expected = {0, 3, 5, 32767, 32768, 39999, 40000};
  EXPECT_EQ(columns(), expected);
  probe.x[39999] = 10;  // both margins are wide now: nothing to learn
  probe.x[40000] = -5;
  EXPECT_EQ(probe.learner->sparse_gradient(probe.x.data(), probe.batch, g), 0.0f);
  EXPECT_EQ(columns(), expected);
  EXPECT_EQ(squared_norm(g.share()), 0.0);
}

TEST(Linear, ScoresTheSignOfTheMargin) {
  LinearProbe probe("linear_svm");
  std::fill(probe.x.begin(), probe.x.end(), 0.0f);
  EXPECT_EQ(probe.learner->score(probe.x.data(), probe.batch).correct, 1) << "0 is class 0";
  EXPECT_EQ(probe.learner->score(probe.x.data(), probe.batch).loss_sum, 2.0);
  probe.x[0] = 1;
  EXPECT_EQ(probe.learner->score(probe.x.data(), probe.batch).correct, 2);
}

TEST(Linear, AModelThatDivergedHasNoLoss) {
  for (const char* model : {"linear_svm", "logistic_regression"}) {
    LinearProbe probe(model);
    probe.x[3] = std::nanf("");
    EXPECT_TRUE(std::isnan(probe.scored_loss())) << model;
    EXPECT_TRUE(std::isnan(probe.trained_loss())) << model;
  }
}

std::string refusal(const WorkloadSpec& spec) {
  try {
    make_workload(spec);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kUsage);
    return error.what();
  }
  return "";
}

TEST(Linear, RefusesDataThatDoNotFit) {
  EXPECT_NE(refusal({.model = "linear_svm", .dataset = "synthetic"}).find("two classes"), std::string::npos);
}

TEST(Linear, ReadsTheUsersOwnRows) {
  const Folder folder;
  folder.write("train.svm", "1 1:0.5 7:1\n0 2:1\n1 1:1\n0 2:0.5 9:1\n");
  folder.write("test.svm", "1 1:1 3:1\n0 2:1\n");
  const WorkloadSpec spec{
      .model = "logistic_regression", .dataset = "svmlight", .dataset_path = folder.path(), .batch = 2};
  const auto workload = make_workload(spec);
  EXPECT_EQ(workload->size(), 5u) << "columns 1, 2, 7 and 9, and the bias";
  folder.write("train.svm", "1 1:0.5\n2 2:1\n3 1:1\n");
  EXPECT_NE(refusal(spec).find("train.svm: the rows have 3 different labels (1, 2, 3): two"), std::string::npos);
  folder.write("train.svm", "1 1:0.5\n2 2:1\n");
  EXPECT_NE(refusal(spec).find("test.svm: the rows have 1 different label (0) that no row of"), std::string::npos);
  folder.write("train.svm", "1 # nothing\n0\n");
  EXPECT_NE(refusal(spec).find("train.svm: no row has a value"), std::string::npos);
  std::filesystem::remove(folder / "test.svm");
  EXPECT_NE(refusal(spec).find("neither test.svm.gz nor test.svm"), std::string::npos);
}

TEST(Linear, LearnsWhatTheDrawnDataHold) {
  for (const char* model : {"linear_svm", "logistic_regression"}) {
    const auto workload =
        make_workload({.model = model, .dataset = "synthetic_sparse", .batch = 32, .evaluation_samples = 1024});
    ASSERT_TRUE(workload->sparse());
    Vec x = workload->initial(), g;
    const double before = workload->evaluate(x.share()).loss;
    for (std::uint64_t k = 0; k < 600; ++k) {
      workload->gradient(x.share(), 0, 32 * k, 32, g, {});
      ASSERT_TRUE(g.sparse());
      x.axpy(-1.0f, g.share());
    }
    const Evaluation after = workload->evaluate(x.share());
    EXPECT_LT(after.loss, 0.92 * before) << model;
    EXPECT_GT(after.accuracy, 0.62) << model;
  }
}

TEST(Linear, NamesTheColumnsThatAGradientReads) {
  const auto workload = make_workload({.model = "linear_svm", .dataset = "synthetic_sparse", .batch = 8, .workers = 2});
  for (const int worker : {0, 1, Workload::kEverybody}) {
    std::vector<std::uint32_t> columns;
    workload->columns(worker, 24, 8, columns);
    Vec g;
    workload->gradient(workload->initial().share(), worker, 24, 8, g, {});
    std::set<std::uint32_t> expected;
    const Payload gradient = g.share();
    for (const SparseEntry& entry : gradient.entries()) expected.insert(entry.column);
    EXPECT_EQ(std::set<std::uint32_t>(columns.begin(), columns.end()), expected);
  }
}

}  // namespace
}  // namespace hopbench
