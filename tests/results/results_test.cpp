// Time to target, curves, the rates of a trial and its gaps, against values worked out by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "results/arithmetic/curve.h"
#include "results/arithmetic/statistics.h"
#include "results/arithmetic/steady.h"

namespace hopbench {
namespace {

using std::chrono::milliseconds;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

using Values = std::vector<double>;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// --- Time to target

TEST(TimeToTarget, InterpolatesTheFittedCrossing) {
  const auto crossing = time_to_target(Values{0, 10, 20}, Values{1.0, 0.6, 0.2}, 0.5, 1);
  EXPECT_NEAR(crossing.fitted.value(), 12.5, 1e-9);
  EXPECT_DOUBLE_EQ(crossing.held.value(), 20);
}

TEST(TimeToTarget, IsNothingWhereTheTargetIsNotReached) {
  const auto crossing = time_to_target(Values{0, 10, 20}, Values{1.0, 0.8, 0.7}, 0.5, 1);
  EXPECT_FALSE(crossing.fitted);
  EXPECT_FALSE(crossing.held);
  const auto none = time_to_target(Values{}, Values{}, 0.5, 3);
  EXPECT_FALSE(none.fitted);
  EXPECT_FALSE(none.held);
}

TEST(TimeToTarget, IsTheStartWhereTheFirstPointIsThere) {
  const auto crossing = time_to_target(Values{5, 10}, Values{0.4, 0.3}, 0.5, 2);
  EXPECT_DOUBLE_EQ(crossing.fitted.value(), 5);
  EXPECT_DOUBLE_EQ(crossing.held.value(), 5);
}

TEST(TimeToTarget, ALuckyEvaluationDoesNotCount) {
  // One hit at 1, in the middle of losses around 0.8; steady hits from 5 on.
  const Values x{0, 1, 2, 3, 4, 5, 6, 7}, loss{1.0, 0.45, 0.9, 0.8, 0.7, 0.4, 0.3, 0.2};
  const auto crossing = time_to_target(x, loss, 0.5, 3);
  // Fit: 1, then 0.45 0.9 0.8 pool to 0.71667, 0.7, 0.4: 0.5 lies two thirds of the way from 4 to 5.
  EXPECT_NEAR(crossing.fitted.value(), 4 + 2.0 / 3, 1e-9);
  EXPECT_DOUBLE_EQ(crossing.held.value(), 5);
}

TEST(TimeToTarget, HoldAsksForHitsInARow) {
  const Values x{0, 1, 2, 3, 4}, loss{0.4, 0.6, 0.4, 0.4, 0.6};
  EXPECT_DOUBLE_EQ(time_to_target(x, loss, 0.5, 2).held.value(), 2);
  EXPECT_FALSE(time_to_target(x, loss, 0.5, 3).held);
}

TEST(TimeToTarget, WhatCameBeforeADivergenceCounts) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto crossing = time_to_target(Values{0, 1, 2, 3}, Values{1, 0, kInfinity, nan}, 0.5, 1);
  EXPECT_DOUBLE_EQ(crossing.fitted.value(), 0.5);
  EXPECT_DOUBLE_EQ(crossing.held.value(), 1);
}

CurvePoint point(const char* model, double seconds, std::int64_t samples, double loss, double accuracy = 0) {
  CurvePoint p;
  p.model = model;
  p.time = Time(seconds_to_duration(seconds));
  p.iteration = static_cast<double>(samples) / 100;
  p.samples = samples;
  p.loss = loss;
  p.accuracy = accuracy;
  return p;
}

TEST(Curve, TargetIsReachedByTheMeanModelOnEveryScale) {
  TrialRow row;
  row.labels.target_loss = 0.5;
  row.labels.target_hold = 1;
  row.record.curve = {point("mean", 0, 0, 1.0), point("worst rank", 0, 0, 9), point("mean", 2, 1000, 0.0, 0.8),
                      point("worst rank", 2, 1000, 9)};
  const TargetReached reached = target_reached(row);
  EXPECT_DOUBLE_EQ(reached.time_s.fitted.value(), 1);
  EXPECT_DOUBLE_EQ(reached.samples.fitted.value(), 500);
  EXPECT_DOUBLE_EQ(reached.iterations.fitted.value(), 5);
  EXPECT_DOUBLE_EQ(reached.samples.held.value(), 1000);
  EXPECT_DOUBLE_EQ(curve_end(row.record).samples, 1000);
  EXPECT_DOUBLE_EQ(evaluation_interval(row.record), 1000);
  EXPECT_DOUBLE_EQ(best_accuracy(row.record).value(), 0.8);
  EXPECT_DOUBLE_EQ(final_point(row.record, "worst rank")->loss, 9);
  row.labels.target_loss = 0;
  EXPECT_FALSE(target_reached(row).time_s.fitted);
}

// --- Rates. Ranks are written as the lengths of their iterations in ms; 0 is a jumped one.

Time at_ms(double ms) { return Time(seconds_to_duration(ms * 1e-3)); }

RankRecord rank_of(int rank, const std::vector<double>& lengths_ms, int batch = 10) {
  RankRecord record;
  record.rank = rank;
  double now = 0;
  for (std::size_t k = 0; k < lengths_ms.size(); ++k) {
    now += lengths_ms[k];
    IterationMark mark;
    mark.end = at_ms(now);
    mark.iter = static_cast<Iter>(k);
    mark.samples = lengths_ms[k] > 0 ? batch : 0;
    record.marks.push_back(mark);
    (mark.samples > 0 ? record.iters : record.iters_jumped)++;
    record.samples += mark.samples;
  }
  record.finished = at_ms(now);
  return record;
}

TrialRecord trial_of(std::vector<RankRecord> ranks) {
  TrialRecord record;
  Time end{};
  for (const RankRecord& rank : ranks) end = std::max(end, rank.finished);
  record.time_s = to_seconds(end);
  record.ranks = std::move(ranks);
  return record;
}

TEST(Rates, LeaveTheWarmUpOut) {
  // 5 slow iterations of 1 s, then 10 of 100 ms.
  std::vector<double> lengths(5, 1000.0);
  lengths.insert(lengths.end(), 10, 100.0);
  TrialRecord record = trial_of({rank_of(0, lengths), rank_of(1, lengths)});
  fill_rates(record, 5, Duration{}, 2);
  EXPECT_DOUBLE_EQ(record.window_start_s, 5);
  EXPECT_DOUBLE_EQ(record.window_end_s, 6);
  EXPECT_NEAR(record.samples_per_s, 200, 1e-9);
  EXPECT_NEAR(record.iters_per_s, 10, 1e-9);
  EXPECT_NEAR(record.median_iteration_s, 0.1, 1e-9);
  EXPECT_THAT(record.warnings, IsEmpty());
}

TEST(Rates, WarmUpLastsUntilItsTimeHasPassedToo) {
  TrialRecord record = trial_of({rank_of(0, std::vector<double>(40, 100.0))});
  fill_rates(record, 5, milliseconds(2000), 1);
  EXPECT_DOUBLE_EQ(record.window_start_s, 2);
  EXPECT_DOUBLE_EQ(record.window_end_s, 4);
}

TEST(Rates, WindowIsCommonToAllWorkers) {
  // The slow one is warm at 2 s, the fast one ends at 4 s.
  TrialRecord record =
      trial_of({rank_of(0, std::vector<double>(40, 100.0)), rank_of(1, std::vector<double>(25, 200.0))});
  fill_rates(record, 10, Duration{}, 2);
  EXPECT_DOUBLE_EQ(record.window_start_s, 2);
  EXPECT_DOUBLE_EQ(record.window_end_s, 4);
  EXPECT_NEAR(record.samples_per_s, 100 + 50, 1e-9);
  EXPECT_NEAR(record.iters_per_s, (10 + 5) / 2.0, 1e-9);
}

TEST(Rates, AnIterationAcrossTheEdgeCountsByItsShare) {
  // Warm at 1.0 s by rank 0, which ends at 2.0 s; rank 1 has marks at 0.9, 1.2, 1.5, ...: a third, and a share at the
  // end.
  TrialRecord record =
      trial_of({rank_of(0, std::vector<double>(20, 100.0)), rank_of(1, std::vector<double>(10, 300.0))});
  fill_rates(record, 3, milliseconds(1000), 2);
  EXPECT_DOUBLE_EQ(record.window_start_s, 1.2);
  EXPECT_DOUBLE_EQ(record.window_end_s, 2);
  EXPECT_NEAR(record.samples_per_s, 100 + 10 / 0.3, 1e-6);
}

TEST(Rates, JumpedIterationsAreNoWorkButEndTheWarmUp) {
  // Computes every other iteration.
  std::vector<double> lengths;
  for (int i = 0; i < 20; ++i) lengths.insert(lengths.end(), {100.0, 0.0});
  TrialRecord record = trial_of({rank_of(0, lengths)});
  fill_rates(record, 10, Duration{}, 1);
  EXPECT_DOUBLE_EQ(record.window_start_s, 0.5);
  EXPECT_NEAR(record.samples_per_s, 100, 1e-9);
  EXPECT_NEAR(record.iters_per_s, 10, 1e-9);
  EXPECT_NEAR(record.median_iteration_s, 0.1, 1e-9);
}

TEST(Rates, ServersDoNotCount) {
  RankRecord server = rank_of(1, std::vector<double>(20, 100.0));
  server.server = true;
  server.waits["a push"] = milliseconds(1900);
  TrialRecord record = trial_of({rank_of(0, std::vector<double>(20, 100.0)), server});
  fill_rates(record, 2, Duration{}, 1);
  EXPECT_NEAR(record.samples_per_s, 100, 1e-9);
  EXPECT_DOUBLE_EQ(record.wait_share, 0);
  EXPECT_EQ(record.main_wait, "");
}

TEST(Rates, SayWhereNoWindowIsSteady) {
  // 12 iterations less a warm-up of 8 leave 4.
  TrialRecord record = trial_of({rank_of(0, std::vector<double>(12, 100.0))});
  fill_rates(record, 8, Duration{}, 1);
  EXPECT_THAT(record.warnings, ElementsAre(WarningKind::kNoSteadyWindow));
  EXPECT_DOUBLE_EQ(record.window_start_s, 0);
  EXPECT_DOUBLE_EQ(record.window_end_s, 1.2);
  EXPECT_NEAR(record.samples_per_s, 100, 1e-9);
}

TEST(Rates, FiveIterationsOfTheFastestWorkerAreEnough) {
  TrialRecord record = trial_of({rank_of(0, std::vector<double>(13, 100.0))});
  fill_rates(record, 8, Duration{}, 1);
  EXPECT_THAT(record.warnings, Not(Contains(WarningKind::kNoSteadyWindow)));
}

TEST(Rates, AWorkerThatNeverWarmsUpLeavesNoWindow) {
  TrialRecord record = trial_of({rank_of(0, std::vector<double>(40, 10.0)), rank_of(1, {390.0})});
  fill_rates(record, 2, Duration{}, 2);
  EXPECT_THAT(record.warnings, ElementsAre(WarningKind::kNoSteadyWindow));
  EXPECT_NEAR(record.samples_per_s, 410 / 0.4, 1e-6);
}

TEST(Rates, SayWhereTheHalvesDiffer) {
  std::vector<double> lengths(12, 100.0);
  lengths.insert(lengths.end(), 10, 109.0);
  TrialRecord record = trial_of({rank_of(0, lengths)});
  fill_rates(record, 2, Duration{}, 1);
  EXPECT_THAT(record.warnings, IsEmpty());
  lengths.assign(12, 100.0);
  lengths.insert(lengths.end(), 10, 130.0);
  record = trial_of({rank_of(0, lengths)});
  fill_rates(record, 2, Duration{}, 1);
  EXPECT_THAT(record.warnings, ElementsAre(WarningKind::kNotSteady));
}

TEST(Rates, WaitShareIsOfTheWorkersTimeAndNamesTheMainReason) {
  RankRecord a = rank_of(0, std::vector<double>(10, 100.0)), b = rank_of(1, std::vector<double>(10, 100.0));
  a.waits = {{"parameters", milliseconds(100)}, {"a token", milliseconds(200)}};
  b.waits = {{"parameters", milliseconds(200)}};
  TrialRecord record = trial_of({a, b});
  fill_rates(record, 2, Duration{}, 2);
  EXPECT_NEAR(record.wait_share, 0.25, 1e-12);
  EXPECT_EQ(record.main_wait, "parameters");
}

TEST(Rates, OverrunsAboveFivePercentAreOversubscription) {
  TrialRecord record = trial_of({rank_of(0, std::vector<double>(20, 100.0))});
  record.ranks[0].overruns = 1;
  fill_rates(record, 2, Duration{}, 1);
  EXPECT_DOUBLE_EQ(record.overrun_share, 0.05);
  EXPECT_THAT(record.warnings, IsEmpty());
  record.ranks[0].overruns = 2;
  fill_rates(record, 2, Duration{}, 1);
  EXPECT_THAT(record.warnings, ElementsAre(WarningKind::kOversubscribed));
}

TEST(Rates, OneContendedRankIsEnough) {
  TrialRecord record =
      trial_of({rank_of(0, std::vector<double>(20, 100.0)), rank_of(1, std::vector<double>(20, 100.0))});
  record.ranks[1].contended_s = 0.1;
  fill_rates(record, 2, Duration{}, 2);
  EXPECT_THAT(record.warnings, IsEmpty());
  record.ranks[1].contended_s = 0.11;
  fill_rates(record, 2, Duration{}, 2);
  fill_rates(record, 2, Duration{}, 2);  // said once
  EXPECT_THAT(record.warnings, ElementsAre(WarningKind::kContended));
}

TEST(Rates, AFailedTrialWithoutMarksHasNone) {
  TrialRecord record;
  record.status = TrialStatus::kFailed;
  record.ranks.resize(2);
  record.ranks[1].rank = 1;
  fill_rates(record, 10, milliseconds(2000), 2);
  EXPECT_EQ(record.samples_per_s, 0);
  EXPECT_EQ(record.iters_per_s, 0);
  EXPECT_THAT(record.warnings, IsEmpty());
  record.ranks.clear();
  fill_rates(record, 10, milliseconds(2000), 2);
  EXPECT_EQ(record.iters_per_s, 0);
}

TEST(Gaps, AreZeroInLockStep) {
  TrialRecord record = trial_of({rank_of(0, {10, 10, 10}), rank_of(1, {10, 10, 10})});
  fill_gaps(record, 2);
  EXPECT_EQ(record.ranks[0].gap_max, 0);
  EXPECT_EQ(record.ranks[1].gap_mean, 0);
}

TEST(Gaps, AreToTheSlowestWorkerStillRunning) {
  // Rank 0 enters 1, 2 at 10, 20 and ends at 30; rank 1 enters 1 at 25, 2 at 50.
  TrialRecord record = trial_of({rank_of(0, {10, 10, 10}), rank_of(1, {25, 25})});
  fill_gaps(record, 2);
  EXPECT_EQ(record.ranks[0].gap_max, 2);  // 1 - 0, 2 - 0
  EXPECT_DOUBLE_EQ(record.ranks[0].gap_mean, (1 + 2) / 2.0);
  EXPECT_EQ(record.ranks[1].gap_max, 0);  // the slowest itself; later alone
}

TEST(Gaps, AFinishedWorkerHoldsNobodyBack) {
  // Rank 1 does one iteration and is done at 5.
  TrialRecord record = trial_of({rank_of(0, {10, 10}), rank_of(1, {5})});
  fill_gaps(record, 2);
  EXPECT_EQ(record.ranks[0].gap_max, 0);
}

TEST(Gaps, AJumpIsOneEntry) {
  // Rank 0 enters 1 at 10, then 4 at 20 (2 and 3 jumped); rank 1 stays in 0.
  TrialRecord record = trial_of({rank_of(0, {10, 10, 0, 0, 10}), rank_of(1, {100})});
  fill_gaps(record, 2);
  EXPECT_EQ(record.ranks[0].gap_max, 4);
  EXPECT_DOUBLE_EQ(record.ranks[0].gap_mean, (1 + 4) / 2.0);
}

}  // namespace
}  // namespace hopbench
