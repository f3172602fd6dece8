// The gate over iterations to the target: what it calls slower, and how seldom it does so without a cause.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "results/judge/convergence_gate.h"
#include "results/judge/gate.h"
#include "tests/folder.h"
#include "tests/results/results_samples.h"

namespace hopbench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// Reaches the loss 0.5 after so many iterations; never: stays above it.
TrialRow trained(int seed, double iterations, bool never = false) {
  TrialRow row = full_row("hop", seed);
  row.labels.what = "convergence";
  row.labels.seed = std::uint64_t(seed);
  row.record.id = "s/m/one/hop/" + std::to_string(seed) + "/0";
  row.record.status = TrialStatus::kOk;
  row.record.curve = {{"mean", Time(Duration(0)), 0, 0, 1.0, 0, 0},
                      {"mean", Time(std::chrono::seconds(2)), 2 * iterations, 640, never ? 0.9 : 0.0, 0.5, 1}};
  return row;
}

struct Judged {
  std::vector<GateRow> rows;
  std::vector<std::string> notes;
};

Judged judge(const std::vector<TrialRow>& base, const std::vector<TrialRow>& head) {
  const Folder folder;
  const auto run_of = [&](const std::string& name, const std::vector<TrialRow>& rows) {
    RunFolder run = RunFolder::create(folder / name, "schema = 1\n", "{}");
    for (const TrialRow& row : rows) run.add(row);
    return run;
  };
  Judged judged;
  judged.rows = convergence_rows(run_of("base", base), run_of("head", head), judged.notes);
  return judged;
}

/// `seeds` trials each; head's need `factor` times as many iterations, and each is off by `noise`.
Judged with(int seeds, double factor, double noise, unsigned draw = 1) {
  std::mt19937 random(draw);
  std::normal_distribution<double> off(0, noise);
  std::vector<TrialRow> base, head;
  for (int seed = 0; seed < seeds; ++seed) {
    base.push_back(trained(seed, 100 * std::exp(off(random))));
    head.push_back(trained(seed, 100 * factor * std::exp(off(random))));
  }
  return judge(base, head);
}

TEST(ConvergenceGate, TellsWhatNeedsMoreAndWhatFewer) {
  EXPECT_EQ(with(6, 1.3, 0.05).rows.at(0).verdict, Verdict::kRegression);
  EXPECT_EQ(with(6, 0.7, 0.05).rows.at(0).verdict, Verdict::kImprovement);
  const Judged same = with(6, 1, 0);
  EXPECT_EQ(same.rows.at(0).verdict, Verdict::kNoChange);
  EXPECT_EQ(same.rows.at(0).metric, "iterations to target");
  EXPECT_NEAR(same.rows.at(0).base, 100, 1e-9);
  const GateRow alike = with(6, 1, 0.05).rows.at(0);
  EXPECT_EQ(alike.verdict, Verdict::kWithin);
  EXPECT_NEAR(1 + alike.threshold.value(), std::max(1 / alike.interval->low, alike.interval->high), 1e-12);
}

TEST(ConvergenceGate, ASeedThatNoLongerGetsThereFailsIt) {
  std::vector<TrialRow> base, head;
  for (int seed = 0; seed < 6; ++seed) {
    base.push_back(trained(seed, 100));
    head.push_back(trained(seed, 100, seed == 3));
  }
  const Judged judged = judge(base, head);
  EXPECT_EQ(judged.rows.at(0).verdict, Verdict::kRegression);
  EXPECT_THAT(judged.rows.at(0).notes, ElementsAre("1 seeds no longer reach the target"));
}

TEST(ConvergenceGate, AFewSeedsAreNotJudgedAndThatIsSaid) {
  const Judged judged = with(4, 1.5, 0.01);
  EXPECT_THAT(judged.rows, IsEmpty());
  EXPECT_THAT(judged.notes, ElementsAre(HasSubstr("of 1 variants are not judged: 5 seeds are needed")));
}

// One-sided at 5 %.
TEST(ConvergenceGate, IsWrongAsOftenAsItSays) {
  int wrong = 0;
  for (unsigned draw = 0; draw < 400; ++draw) wrong += with(5, 1, 0.1, draw).rows.at(0).verdict == Verdict::kRegression;
  EXPECT_GT(wrong, 7);
  EXPECT_LT(wrong, 34);  // 20 expected, three standard deviations are 13
}

}  // namespace
}  // namespace hopbench
