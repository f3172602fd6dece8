// Which trials have the mark `diverged`.
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "suites/language/suite.h"
#include "suites/trial/evaluation.h"
#include "suites/trial/execute.h"

namespace hopbench {
namespace {

const float kNaN = std::numeric_limits<float>::quiet_NaN();

using Marks = std::vector<Warning>;

Marks marks_of(TrialRecord record, const std::vector<float>& final_model = {1, 2}) {
  mark_if_diverged(record, {Vec::from_host(final_model).share()});
  return record.warnings;
}

/// One worker with one iteration, and the mean model's loss after it.
TrialRecord learnt(float training_loss, double evaluated_loss, std::int32_t samples = 8) {
  TrialRecord record;
  RankRecord& rank = record.ranks.emplace_back();
  rank.marks.push_back({.end = {}, .iter = 0, .samples = samples, .loss = training_loss});
  record.curve.push_back({"mean", {}, 1, 8, evaluated_loss, 0, 0});
  return record;
}

TEST(Diverged, IsDecidedByValues) {
  const double infinite = std::numeric_limits<double>::infinity();
  EXPECT_EQ(marks_of(learnt(1, 2)), Marks{});
  EXPECT_EQ(marks_of(learnt(kNaN, 2)), Marks{WarningKind::kDiverged});
  EXPECT_EQ(marks_of(learnt(1, kNaN)), Marks{WarningKind::kDiverged});
  EXPECT_EQ(marks_of(learnt(1, infinite)), Marks{WarningKind::kDiverged});
  EXPECT_EQ(marks_of(learnt(1, 2), {1, kNaN}), Marks{WarningKind::kDiverged}) << "losses are finite, the model is not";
  EXPECT_EQ(marks_of(learnt(kNaN, 2, 0)), Marks{}) << "a jumped iteration has no loss";
}

TEST(Unchanged, IsATrialWhoseModelsAreAllTheInitialOne) {
  const auto marks = [](const std::vector<Payload>& finals) {
    TrialRecord record;
    mark_if_unchanged(record, finals, Vec::from_host(std::vector<float>{1, 2}).share());
    return record.warnings;
  };
  const auto model = [](float second) { return Vec::from_host(std::vector<float>{1, second}).share(); };
  EXPECT_EQ(marks({model(2), model(2)}), Marks{WarningKind::kUnchanged});
  EXPECT_EQ(marks({model(2), model(3)}), Marks{});
  EXPECT_EQ(marks({}), Marks{}) << "every worker was lost";
  EXPECT_EQ(marks({Vec(2, null_space()).share()}), Marks{}) << "sizes only";
}

TEST(Diverged, IsNoModelThatIsOnlyTimed) {
  TrialRecord record = learnt(0, 0);
  mark_if_diverged(record, {Vec(8, null_space()).share()});
  EXPECT_EQ(record.warnings, Marks{});
}

std::string suite_with_rate(const std::string& rate) {
  return "schema = 1\n[run]\nworld_size = 2\niterations = 40\nwarmup_time = \"0s\"\n[model]\nname = \"quadratic\"\n"
         "[compute]\nbackend = \"reference\"\npace = \"10ms\"\n[transport]\nname = \"sim\"\n[optimizer]\nlr = " +
         rate + "\n[[protocol]]\nname = \"allreduce\"\n[[protocol]]\nname = \"hop\"\n";
}

TEST(Diverged, MarksTrialsInVirtualTime) {
  for (const auto& [rate, marks] : {std::pair{"0.01", Marks{}}, std::pair{"1e6", Marks{WarningKind::kDiverged}}}) {
    for (const TrialSpec& spec : parse_suite(suite_with_rate(rate), "t.toml", {}).trials) {
      const TrialRecord record = simulate_trial(spec);
      EXPECT_EQ(record.status, TrialStatus::kOk);
      EXPECT_EQ(record.warnings, marks) << spec.label << ", learning rate " << rate;
    }
  }
}

}  // namespace
}  // namespace hopbench
