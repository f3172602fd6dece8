// The answers of `hopbench why` about trials whose parts are known.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "backends/base/error.h"
#include "results/judge/why.h"

namespace hopbench {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::Not;
using testing::UnorderedElementsAre;

TrialRow row_of(const std::string& variant, std::uint32_t repeat, int ms, std::int64_t samples,
                std::map<std::string, Duration> path) {
  TrialRow row;
  row.labels.measure = "m";
  row.labels.what = "rate";
  row.labels.scenario = "one slow";
  row.labels.variant = variant;
  row.labels.repeat = repeat;
  row.record.time_s = row.record.window_end_s = ms / 1e3;
  row.record.samples_per_s = double(samples) / row.record.time_s;
  row.record.path = std::move(path);
  RankRecord rank;
  rank.samples = samples;
  row.record.ranks = {rank};
  return row;
}

std::vector<TrialRow> two_variants() {
  std::vector<TrialRow> rows;
  for (const std::uint32_t repeat : {0u, 1u, 2u}) {
    rows.push_back(
        row_of("hop", repeat, 2000, 200, {{"compute", milliseconds(1500)}, {"messages, models", milliseconds(500)}}));
    rows.push_back(row_of("allreduce", repeat, 4000, 200,
                          {{"compute", milliseconds(1500)}, {"slowdown, rank 3", milliseconds(2500)}}));
  }
  return rows;
}

TEST(Why, SplitsTheTimeOfASample) {
  const Why answer = why(two_variants(), "hop", "allreduce").at(0);
  EXPECT_EQ(answer.n, 3);
  EXPECT_NEAR(answer.rate.value, 2, 1e-12);
  EXPECT_NEAR(answer.samples.value, 1, 1e-12);
  EXPECT_NEAR(answer.a_s, 2, 1e-9);
  EXPECT_NEAR(answer.b_s, 4, 1e-9);
  ASSERT_EQ(answer.parts.size(), 3u);
  EXPECT_EQ(answer.parts[0].name, "slowdown, rank 3");  // what differs most comes first
  EXPECT_NEAR(answer.parts[0].b, 2.5, 1e-9);
  EXPECT_EQ(
      why_sentence(answer),
      "hop is 2.00x faster a sample (-2.5 s slowdown, rank 3; +0.50 s messages, models), compared with allreduce.");
}

TEST(Why, ScalesToTheSamplesOfTheOther) {
  std::vector<TrialRow> rows = two_variants();
  for (TrialRow& row : rows) {
    if (row.labels.variant == "hop") row.record.samples_per_s /= 2;  // half the work in the same time
  }
  const Why answer = why(rows, "hop", "allreduce").at(0);
  EXPECT_NEAR(answer.rate.value, 1, 1e-12);
  EXPECT_NEAR(answer.a_s, 4, 1e-9) << "what hop would take for allreduce's 200 samples";
}

// The table's rate counts a window. What its ends add, a warm-up and slow workers that finish alone, is told apart.
TEST(Why, CountsTheWindowOfTheTable) {
  std::vector<TrialRow> rows = two_variants();
  for (TrialRow& row : rows) {
    if (row.labels.variant != "hop") continue;
    row.record.time_s = 8;  // the last worker ends long after the window, in which hop is twice as fast
    row.record.window_start_s = 0.5;
    row.record.window_end_s = 2.5;
  }
  const Why answer = why(rows, "hop", "allreduce").at(0);
  EXPECT_NEAR(answer.rate.value, 2, 1e-12);
  EXPECT_NEAR(answer.whole.value, 0.5, 1e-12);
  EXPECT_NEAR(answer.a_s, 2, 1e-9);
  EXPECT_THAT(why_text(answer), HasSubstr("time a sample 2.00x [2.00, 2.00] in the window of samples/s"));
  EXPECT_THAT(why_text(answer), HasSubstr("over the whole trial, warm-up and last workers included: 0.500x"));
  EXPECT_THAT(why_text(why(two_variants(), "hop", "allreduce").at(0)), Not(HasSubstr("over the whole trial")));
}

// A rate over a whole trial stands beside one over a window: the table shows no ratio of the two.
TEST(Why, FallsBackToTheWholeTrialWhereOnlyOneHasAWindow) {
  std::vector<TrialRow> rows = two_variants();
  for (TrialRow& row : rows) {
    if (row.labels.variant == "hop") row.record.warnings = {WarningKind::kNoSteadyWindow};
    row.record.samples_per_s *= 3;  // of the window: not looked at
  }
  const Why answer = why(rows, "hop", "allreduce").at(0);
  EXPECT_EQ(answer.time, Why::Time::kWhole);
  EXPECT_NEAR(answer.rate.value, 2, 1e-12);
  EXPECT_THAT(why_text(answer), HasSubstr("over the whole trial, n = 3: the table shows no speed-up here"));
}

// A rate over a whole trial beside one over a window is not a pair, as in the table.
TEST(Why, LeavesOutRepeatsInWhichOnlyOneHasAWindow) {
  std::vector<TrialRow> rows = two_variants();
  rows[0].record.warnings = {WarningKind::kNoSteadyWindow};
  rows[0].record.samples_per_s *= 100;
  const Why answer = why(rows, "hop", "allreduce").at(0);
  EXPECT_EQ(answer.time, Why::Time::kWindow);
  EXPECT_EQ(answer.n, 2);
  EXPECT_EQ(answer.lost, 1);
  EXPECT_NEAR(answer.rate.value, 2, 1e-12);
}

TEST(Why, CallsASlowRankByItsNumberInTheSuite) {
  TrialRow row = row_of("hop", 0, 1000, 10, {});
  RankRecord& rank = row.record.ranks[0];
  rank.compute = milliseconds(1000);
  rank.injected_delay = milliseconds(400);
  rank.rank = 2;
  EXPECT_EQ(time_shares(row).count("slowdown, rank 2"), 1U) << "a row of before there was `worker`";
  rank.worker = 3;
  EXPECT_NEAR(time_shares(row).at("slowdown, rank 3"), 0.4, 1e-12);
}

TEST(Why, SlowRanksThatExplainNothingAreOneRow) {
  std::vector<TrialRow> rows = two_variants();
  for (TrialRow& row : rows) {
    for (const char* rank : {"4", "5", "6"}) {
      row.record.path[std::string("slowdown, rank ") + rank] = milliseconds(row.labels.variant == "hop" ? 100 : 120);
    }
  }
  const Why answer = why(rows, "hop", "allreduce").at(0);
  std::vector<std::string> names;
  for (const WhyPart& part : answer.parts) names.push_back(part.name);
  EXPECT_THAT(names,
              UnorderedElementsAre("compute", "messages, models", "slowdown, rank 3", "slowdown, 3 other ranks"));
  double a = 0, b = 0;
  for (const WhyPart& part : answer.parts) a += part.a, b += part.b;
  EXPECT_NEAR(a, answer.a_s, 1e-9);
  EXPECT_NEAR(b, answer.b_s, 1e-9);
}

TrialRow learning(const std::string& variant, int ms, std::int64_t samples) {
  TrialRow row = row_of(variant, 0, ms, samples, {{"compute", milliseconds(ms)}});
  row.labels.what = "convergence";
  row.labels.target_loss = 0.5;
  row.labels.target_hold = 1;
  row.record.curve = {{"mean", Time{}, 0, 0, 1.0, 0, 0}, {"mean", Time{} + milliseconds(ms), 9, samples, 0.0, 0, 0}};
  return row;
}

TEST(Why, SpeedUpIsSamplesTimesTimeASample) {
  const Why answer =
      why(std::vector{learning("hop", 1000, 500), learning("allreduce", 1500, 400)}, "hop", "allreduce").at(0);
  EXPECT_NEAR(answer.speed_up.value, 1.5, 1e-9);
  EXPECT_NEAR(std::log(answer.speed_up.value), std::log(answer.samples.value) + std::log(answer.rate.value), 1e-12);
  EXPECT_EQ(why_sentence(answer),
            "hop reaches 0.5 1.50x sooner than allreduce: 1.88x faster a sample (-0.35 s compute), 25 % more samples.");
  EXPECT_THAT(why_text(answer), HasSubstr("n = 1"));
}

TEST(Why, HasWordsForWhatIsEqual) {
  const auto equal = std::vector{learning("hop", 1000, 500), learning("allreduce", 1000, 500)};
  EXPECT_EQ(why_sentence(why(equal, "hop", "allreduce").at(0)),
            "hop reaches 0.5 as soon as allreduce: as fast a sample, as many samples.");
}

TEST(Why, LeavesOutTrialsOfInfiniteTime) {
  std::vector<TrialRow> rows = two_variants();
  for (TrialRow& row : rows) row.record.time_s = std::numeric_limits<double>::infinity();
  EXPECT_EQ(
      why_text(why(rows, "hop", "allreduce").at(0)),
      "m / one slow\nhop and allreduce have no repeat in common that ended well.\n3 of 3 repeats are left out: one "
      "of the two failed, did not reach the target, began below it, or has no steady window\n");
}

TEST(Why, LeavesOutWhereTheTargetIsNotReached) {
  TrialRow never = learning("hop", 1000, 500);
  never.record.curve[1].loss = 0.9;
  const Why answer = why(std::vector{never, learning("allreduce", 1500, 400)}, "hop", "allreduce").at(0);
  EXPECT_EQ(answer.n, 0);
  EXPECT_EQ(answer.lost, 1);
  EXPECT_EQ(why_sentence(answer), "In no repeat do both hop and allreduce reach 0.5.");
}

RankRecord worker(int rank, int finished_ms, int compute_ms) {
  RankRecord record;
  record.rank = rank;
  record.finished = Time{} + milliseconds(finished_ms);
  record.compute = milliseconds(compute_ms);
  return record;
}

TEST(Why, RealTimeIsTheMeanWorkersUntilItsEndAndTheRestIsNamed) {
  TrialRow row = row_of("hop", 0, 1000, 10, {});
  RankRecord a = worker(0, 1000, 800), b = worker(1, 500, 250), server = worker(2, 0, 0);
  a.injected_delay = milliseconds(300);
  b.waits = {{"models", milliseconds(200)}};
  server.server = true;
  server.waits = {{"work", milliseconds(999)}};
  row.record.ranks = {a, b, server};
  const std::map<std::string, double> shares = time_shares(row);
  EXPECT_NEAR(shares.at("compute"), 0.5, 1e-12);
  EXPECT_NEAR(shares.at("slowdown, rank 0"), 0.15, 1e-12);
  EXPECT_NEAR(shares.at("waiting, models"), 0.2, 1e-12);
  EXPECT_NEAR(shares.at("vector operations, other"), 0.15, 1e-12);
  EXPECT_FALSE(shares.contains("waiting, work"));
}

// All-reduce adds up chunks on a strand beside the body, which computes or waits at the same time.
TEST(Why, OperationsBesideTheBodyTakeNoneOfItsTime) {
  TrialRow row = row_of("allreduce", 0, 1000, 10, {});
  RankRecord rank = worker(0, 1000, 700);
  rank.waits = {{"chunks", milliseconds(250)}};
  rank.vector_ops = milliseconds(400);  // of which the body's own are 50
  row.record.ranks = {rank};
  const std::map<std::string, double> shares = time_shares(row);
  double sum = 0;
  for (const auto& [name, share] : shares) {
    EXPECT_GE(share, 0) << name;
    sum += share;
  }
  EXPECT_NEAR(sum, 1, 1e-12);
  EXPECT_NEAR(shares.at("vector operations, other"), 0.05, 1e-12);
}

// The rest of a worker's time is what is left of sums, in which 1 - 7/30 - 23/30 is not 0.
TEST(Why, ShowsNoDustOfRounding) {
  const auto row = [](const char* variant, int compute_ms, int ms) {
    TrialRow made = row_of(variant, 0, ms, 10, {});
    RankRecord rank = worker(0, ms, compute_ms);
    rank.waits = {{"models", milliseconds(ms - compute_ms)}};
    rank.samples = 10;
    made.record.ranks = {rank};
    return made;
  };
  for (int ms = 1; ms < 30; ++ms) {
    const std::vector<TrialRow> rows{row("hop", ms, 30), row("allreduce", 7, 10)};
    const std::string text = why_text(why(rows, "hop", "allreduce").at(0));
    EXPECT_THAT(text, Not(HasSubstr("e-"))) << text;
  }
}

// A file may say anything. What is no time and no number of samples is left out, as a trial that failed is.
TEST(Why, LeavesOutNumbersThatNoTrialHas) {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  for (const double rate : {kInfinite, 0.0, -1.0, std::nan("")}) {
    std::vector<TrialRow> rows = two_variants();
    rows[0].record.samples_per_s = rate;
    const Why answer = why(rows, "hop", "allreduce").at(0);
    EXPECT_EQ(answer.n, 2) << rate;
    EXPECT_THAT(why_text(answer), HasSubstr("1 of 3 repeats are left out")) << rate;
  }
  std::vector<TrialRow> rows = two_variants();
  for (TrialRow& row : rows) row.record.path = {{"compute", milliseconds(-5)}};
  EXPECT_THAT(why_text(why(rows, "hop", "allreduce").at(0)), HasSubstr("n = 3"));
}

TEST(Why, LetsNoEscapeOfAReasonOut) {
  std::vector<TrialRow> rows = two_variants();
  for (TrialRow& row : rows)
    row.record.path["waiting, \x1b[2J"] = milliseconds(row.labels.variant == "hop" ? 100 : 900);
  const std::string text = why_text(why(rows, "hop", "allreduce").at(0));
  EXPECT_THAT(text, HasSubstr("waiting, \\u001b[2J"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
}

TEST(Why, NamesTheVariantsThereAre) {
  try {
    why(two_variants(), "hop", "dpsgd");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("no variant 'dpsgd' in this run: there are allreduce, hop"));
  }
}

}  // namespace
}  // namespace hopbench
