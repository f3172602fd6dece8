// Which setting is best, and what is said of it.
#include "results/tables/sensitivity.h"
#include "results/tables/drawing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace hopbench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

constexpr double kNoNumber = std::numeric_limits<double>::infinity();

/// A trial whose mean loss is this after 0, 100, 200, ... samples; the target is 1.
TrialRow row(const std::vector<double>& loss) {
  TrialRow row;
  row.labels.target_loss = 1;
  row.labels.target_hold = 1;
  for (std::size_t i = 0; i < loss.size(); ++i) {
    CurvePoint point;
    point.model = "mean";
    point.samples = 100 * std::int64_t(i);
    point.loss = loss[i];
    row.record.curve.push_back(point);
  }
  return row;
}

Tried tried(const std::string& variant, double lr, const std::vector<TrialRow>& rows, const std::string& knobs = "") {
  Tried tried;
  tried.variant = variant;
  tried.lr = lr;
  tried.knobs = knobs;
  for (const TrialRow& row : rows) tried.add(row);
  return tried;
}

Sensitivity example() {
  Sensitivity all{"t", 1.0, {}};
  all.tried = {tried("a", 0.1, {row({4, 3, 2})}),         tried("a", 0.2, {row({4, 0, 0})}),
               tried("a", 0.4, {row({4, 2, 0})}),         tried("b", 0.1, {row({4, 2, 0})}),
               tried("b", 0.2, {row({4, 0, kNoNumber})}), tried("b", 0.4, {row({4, std::nan(""), 0})})};
  return all;
}

TEST(Sensitivity, FewestSamplesToTheTargetAreBest) {
  const Sensitivity all = example();
  EXPECT_EQ(all.tried[1].median_samples(), 75);
  EXPECT_EQ(all.tried[2].median_samples(), 150);
  EXPECT_EQ(all.tried[0].median_samples(), kNoNumber);
  EXPECT_EQ(all.best("a"), 1);
  EXPECT_FALSE(all.on_edge(1));
}

TEST(Sensitivity, WhatDivergesIsWorstEvenIfItReachedTheTargetBefore) {
  const Sensitivity all = example();
  EXPECT_TRUE(all.tried[4].diverged());
  EXPECT_TRUE(all.tried[5].diverged());
  EXPECT_EQ(all.best("b"), 3);
  EXPECT_TRUE(all.on_edge(3));
  TrialRow failed = row({4, 0, 0});
  failed.record.status = TrialStatus::kFailed;
  EXPECT_TRUE(tried("a", 1, {failed}).diverged());
  Sensitivity none{"t", 1.0, {tried("a", 1, {failed}), tried("a", 2, {row({})})}};
  EXPECT_EQ(none.best("a"), -1);
  EXPECT_THAT(sensitivity_warnings(none), ElementsAre("a: every setting diverged or failed"));
  EXPECT_EQ(sensitivity_table(none).rows.at(0).at(1), "failed");
}

TEST(Sensitivity, WhatFailedThroughoutIsNotBlamedOnTheLearningRate) {
  TrialRow failed = row({});
  failed.record.status = TrialStatus::kFailed;
  failed.record.failure = {FailureKind::kScenario, 3, "rank 3 left in iteration 5\nrank 0: ..."};
  Sensitivity all{"t", 1.0, {tried("a", 1, {failed}), tried("a", 2, {failed, failed}), tried("b", 1, {row({4, 0})})}};
  ASSERT_NE(all.why_failed("a"), nullptr);
  EXPECT_EQ(all.why_failed("a")->kind, FailureKind::kScenario);
  EXPECT_EQ(all.why_failed("b"), nullptr);
  EXPECT_THAT(sensitivity_warnings(all), testing::Contains("a: every trial failed: rank 3 left in iteration 5"));
  EXPECT_EQ(sensitivity_table(all).rows.at(0).at(1), "failed");
  all.tried.insert(all.tried.begin() + 2, tried("a", 4, {failed, row({kNoNumber})}));
  EXPECT_EQ(all.why_failed("a"), nullptr) << "one diverged";
  EXPECT_EQ(sensitivity_table(all).rows.at(0).at(3), "diverged");
}

TEST(Sensitivity, WithoutATargetOrWhereNobodyReachesItTheFinalLossDecides) {
  Sensitivity all{
      "t",
      0,
      {tried("a", 0.1, {row({4, 3, 2.5})}), tried("a", 0.2, {row({4, 3, 2})}), tried("a", 0.4, {row({4, 1, 3})})}};
  for (Tried& one : all.tried) one.samples.assign(1, kNoNumber);
  EXPECT_EQ(all.best("a"), 1);
  EXPECT_THAT(sensitivity_warnings(all), IsEmpty());
  all.target_loss = 1;
  EXPECT_EQ(all.best("a"), 1);
  EXPECT_THAT(sensitivity_warnings(all), ElementsAre(HasSubstr("no setting reached the target")));
}

TEST(Sensitivity, RepeatsCountByTheirMedian) {
  const Tried mostly = tried("a", 1, {row({4, 0, 0}), row({4, 2, 0}), row({4, 4, 4})});
  EXPECT_EQ(mostly.median_samples(), 150);
  EXPECT_EQ(tried("a", 1, {row({4, 0, 0}), row({4, 4, 4})}).median_samples(), kNoNumber) << "half never is never";
}

TEST(Sensitivity, TellsWhatTheGridCannotTell) {
  EXPECT_THAT(sensitivity_warnings(example()),
              ElementsAre(HasSubstr("a: the target is reached before the first evaluation, after 100"),
                          StartsWith("the best learning rate lies on the edge of the grid for b (0.1): ")));
}

TEST(Sensitivity, TellsOfAllEdgesAtOnce) {
  Sensitivity all;
  for (const char* variant : {"a", "b"}) {
    all.tried.push_back(tried(variant, 0.1, {row({4, 2, 0})}));
    all.tried.push_back(tried(variant, 0.2, {row({4, 3, 1})}));
  }
  EXPECT_THAT(sensitivity_warnings(all), ElementsAre(HasSubstr("for a (0.1), b (0.1): a better one may lie beyond")));
}

TEST(Sensitivity, GridHasARowAVariantAndAColumnALearningRate) {
  Sensitivity all = example();
  all.tried.push_back(tried("c", 0.1, {row({4, 2, 0})}, "k=1"));
  all.tried.push_back(tried("c", 0.4, {row({4, 1.5, 0.5})}, "k=2"));
  const Table table = sensitivity_table(all);
  EXPECT_THAT(
      texts_of(table),
      ElementsAre(ElementsAre("variant", "lr 0.1", "lr 0.2", "lr 0.4"), ElementsAre("a", "> 200", "*75.00", "150.0"),
                  ElementsAre("b", "*150.0", "diverged", "diverged"), ElementsAre("c k=1", "*150.0", "", ""),
                  ElementsAre("c k=2", "", "", "150.0")));
  EXPECT_EQ(sensitivity_csv(example()),
            "variant,lr,knobs,repeats,target_loss,samples_to_target,final_loss,best\n"
            "a,0.1,,1,1,,2,0\na,0.2,,1,1,75,0,1\na,0.4,,1,1,150,0,0\n"
            "b,0.1,,1,1,150,0,1\nb,0.2,,1,1,,inf,0\nb,0.4,,1,1,,inf,0\n");
}

}  // namespace
}  // namespace hopbench
