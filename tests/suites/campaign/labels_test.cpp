// A trial's settings in the tables: none that could change a result may be missing.
#include <gtest/gtest.h>

#include "suites/campaign/labels.h"
#include "suites/language/suite.h"

namespace hopbench {
namespace {

constexpr const char* kPlainSuite = R"(schema = 1
[run]
world_size = 4
[model]
name = "resnet20"
[compute]
pace = "10ms"
[[protocol]]
name = "allreduce"
)";

TrialLabels labels(const std::vector<std::string>& sets) {
  SuiteOptions options;
  options.sets = sets;
  return labels_of(parse_suite(kPlainSuite, "t.toml", options).trials.front());
}

struct Expected {
  std::vector<std::string> sets;
  const char* text;
};

TEST(Labels, TellTheWholeOptimizer) {
  const std::vector<Expected> cases = {
      {{}, "sgd, lr 0.05 (step per sample)"},
      {{"optimizer.step=as_written"}, "sgd, lr 0.05 (step as written)"},
      {{"lr=0.1", "momentum=0.9"}, "sgd, lr 0.1, momentum 0.9 (step per sample)"},
      {{"momentum=0.9", "nesterov=true"}, "sgd, lr 0.05, Nesterov momentum 0.9 (step per sample)"},
      {{"weight_decay=0.0005"}, "sgd, lr 0.05, weight decay 0.0005 (step per sample)"},
      {{"optimizer.name=adamw", "beta2=0.95"}, "adamw, lr 0.05, betas 0.9 and 0.95 (step per sample)"},
      {{"lr_batch=256"}, "sgd, lr 0.05 at 256 samples a step (step per sample)"},
      {{"lr_warmup=5", "cosine=90", "clip=2.5"}, "sgd, lr 0.05, warm-up 5, cosine to 90, clip 2.5 (step per sample)"},
      {{"optimizer.steps=[{ iteration = 3, factor = 0.1 }, { iteration = 6, factor = 0.1 }]"},
       "sgd, lr 0.05, 2 steps (step per sample)"},
  };
  for (const Expected& c : cases) EXPECT_EQ(labels(c.sets).optimizer, c.text);
}

TEST(Labels, TellHowTheModelIsScoredAndWhatItSees) {
  EXPECT_EQ(labels({}).model, "resnet20");
  EXPECT_EQ(labels({"statistics=precise"}).model, "resnet20 (precise statistics)");
  EXPECT_EQ(labels({}).dataset, "cifar10");
  EXPECT_EQ(labels({"augment=pad_crop_flip"}).dataset, "cifar10, pad_crop_flip");
}

TEST(Labels, TellTheSplit) {
  EXPECT_EQ(labels({}).split, "iid");
  EXPECT_EQ(labels({"split=dirichlet", "alpha=0.1"}).split, "dirichlet(0.1)");
  EXPECT_EQ(labels({"split=shards", "shards_per_worker=3"}).split, "3 shards a worker");
  EXPECT_EQ(labels({"split=by_feature"}).split, "by the sum of features");
  EXPECT_EQ(labels({"split=by_feature", "split.feature=7"}).split, "by feature 7");
}

TEST(Labels, TellWhetherAnythingIsLearnt) {
  EXPECT_TRUE(labels({}).learns);
  EXPECT_FALSE(labels({"model.name=timing_only", "model.size=10", "transport.name=sim"}).learns);
}

}  // namespace
}  // namespace hopbench
