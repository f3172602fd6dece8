// The gate over rows of virtual time: what is slower, exactly and with a tolerance.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "results/judge/virtual_gate.h"
#include "tests/folder.h"
#include "tests/results/results_samples.h"

namespace hopbench {
namespace {

using testing::Contains;
using testing::HasSubstr;

TrialRow trial(std::uint32_t repeat, double samples_per_s) {
  TrialRow row = full_row("hop", int(repeat));
  row.labels.repeat = repeat;
  row.record.id = "s/m/one/hop/1/" + std::to_string(repeat);
  row.record.status = TrialStatus::kOk;
  row.record.samples_per_s = samples_per_s;
  return row;
}

/// Reaches its target after so many seconds; 0: never.
TrialRow learning(std::uint32_t repeat, double seconds) {
  TrialRow row = trial(repeat, 100);
  row.labels.what = "convergence";
  row.record.curve = {
      {"mean", Time{}, 0, 0, 1.0, 0, 0},
      {"mean", Time{} + seconds_to_duration(seconds > 0 ? 2 * seconds : 9), 9, 90, seconds > 0 ? 0.0 : 0.9, 0, 0}};
  return row;
}

std::vector<TrialRow> rates(const std::vector<double>& values) {
  std::vector<TrialRow> rows;
  for (const double value : values) rows.push_back(trial(std::uint32_t(rows.size()), value));
  return rows;
}

std::vector<TrialRow> times(const std::vector<double>& values) {
  std::vector<TrialRow> rows;
  for (const double value : values) rows.push_back(learning(std::uint32_t(rows.size()), value));
  return rows;
}

GateRow only(const std::vector<TrialRow>& base, const std::vector<TrialRow>& head, std::optional<double> tolerance) {
  const std::vector<GateRow> rows = virtual_rows(base, head, tolerance);
  EXPECT_EQ(rows.size(), 1u);
  return rows.at(0);
}

TEST(VirtualGate, ExactlyASingleSlowerTrialIsARegression) {
  const auto verdict = [](const std::vector<double>& head) {
    return only(rates({100, 100}), rates(head), std::nullopt).verdict;
  };
  EXPECT_EQ(verdict({100, 100}), Verdict::kNoChange);
  EXPECT_EQ(verdict({100, 99.999}), Verdict::kRegression);
  EXPECT_EQ(verdict({120, 99.999}), Verdict::kRegression) << "another that is faster does not make up for it";
  EXPECT_EQ(verdict({100, 100.001}), Verdict::kImprovement);
  EXPECT_THAT(only(rates({100, 100}), rates({120, 99}), std::nullopt).notes, Contains("a trial is slower by 1.01 %"));
}

TEST(VirtualGate, WithAToleranceTheRowCounts) {
  const auto verdict = [](const std::vector<double>& head) {
    return only(rates({100, 100}), rates(head), 0.05).verdict;
  };
  EXPECT_EQ(verdict({96, 96}), Verdict::kWithin);
  EXPECT_EQ(verdict({94, 94}), Verdict::kRegression);
  EXPECT_EQ(verdict({120, 90}), Verdict::kWithin) << "one that is faster makes up for it";
  EXPECT_EQ(verdict({120, 120}), Verdict::kImprovement);
  EXPECT_FALSE(fails(only(rates({100}), rates({200}), 0.05))) << "faster never fails";
  EXPECT_THAT(only(rates({100}), rates({96}), 0.05).notes, Contains("slower by 4.17 %"));
  const GateRow row = only(rates({100, 100, 100}), rates({100, 100, 70}), 0.05);
  EXPECT_EQ(row.verdict, Verdict::kRegression);
  EXPECT_FALSE(row.interval) << "nothing is chance";
}

TEST(VirtualGate, TakesTheTimeToTheTargetWhereThereIsOne) {
  const GateRow slower = only(times({1, 1, 1}), times({1.1, 1.1, 1.1}), 0.05);
  EXPECT_EQ(slower.metric, "virtual time to target, s");
  EXPECT_EQ(slower.verdict, Verdict::kRegression);
  EXPECT_EQ(only(times({1, 1, 1}), times({1.1, 1.1, 1.1}), 0.2).verdict, Verdict::kWithin);
  EXPECT_EQ(only(times({1, 1, 1}), times({1, 0, 1}), 0.2).verdict, Verdict::kRegression) << "one no longer gets there";
  const GateRow never = only(times({0}), times({0}), std::nullopt);
  EXPECT_EQ(never.verdict, Verdict::kNoChange);
  EXPECT_THAT(never.notes, Contains(HasSubstr("neither side reaches the target")));
}

TEST(VirtualGate, ARateOf0IsNone) {
  for (const auto& tolerance : {std::optional<double>(), std::optional(0.05)}) {
    EXPECT_EQ(only(rates({100, 100}), rates({100, 0}), tolerance).verdict, Verdict::kRegression);
    EXPECT_EQ(only(rates({0, 100}), rates({100, 100}), tolerance).verdict, Verdict::kImprovement);
    EXPECT_EQ(only(rates({0}), rates({0}), tolerance).verdict, Verdict::kInsufficient);
  }
}

TEST(VirtualGate, ARowThatLacksTrialsIsMissing) {
  for (const auto& tolerance : {std::optional<double>(), std::optional(0.05)}) {
    const GateRow row = only(rates({100, 100, 100}), rates({100}), tolerance);
    EXPECT_EQ(row.verdict, Verdict::kMissing);
    EXPECT_TRUE(fails(row));
    EXPECT_THAT(row.notes, Contains("head lacks 2 trials that base has: s/m/one/hop/1/1, s/m/one/hop/1/2"));
    EXPECT_EQ(only(rates({100}), rates({100, 100}), tolerance).verdict, Verdict::kNoChange);
  }
}

TEST(VirtualGate, LeavesRealTimeOut) {
  std::vector<TrialRow> real = rates({100});
  real[0].labels.clock = "real";
  EXPECT_TRUE(virtual_rows(real, real, 0.05).empty());
}

}  // namespace
}  // namespace hopbench
