// The tables a run prints: what they say and when, and how they look.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "results/tables/summary.h"

namespace hopbench {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

using Values = std::vector<double>;

// --- A small language: rows of a run

TrialRow rate_row(const std::string& variant, std::uint32_t repeat, double samples_per_s) {
  static int order = 0;
  TrialRow row;
  row.labels.suite = "suite";
  row.labels.measure = "rate";
  row.labels.what = "rate";
  row.labels.scenario = "one slow";
  row.labels.variant = variant;
  row.labels.clock = "real";
  row.labels.repeat = repeat;
  row.labels.order = order++;
  row.labels.row_order = variant == "allreduce" ? 0 : 1;
  row.record.id = "suite/rate/one slow/" + variant + "/1/" + std::to_string(repeat);
  row.record.samples_per_s = samples_per_s;
  row.record.iters_per_s = samples_per_s / 10;
  row.record.wait_share = 0.25;
  row.record.main_wait = "parameters";
  row.record.window_ideal_samples_per_s = 200;
  row.record.slowest_rank_samples_per_s = 50;
  row.record.without_slowest_samples_per_s = 75;
  RankRecord rank;
  rank.iters = rank.gradients = 100;
  row.record.ranks = {rank};
  return row;
}

/// A curve of the mean model that falls by 0.1 a second from 1.0, for so many seconds.
TrialRow curve_row(const std::string& variant, std::uint32_t repeat, double seconds, double rate = 0.1) {
  TrialRow row = rate_row(variant, repeat, 100);
  row.labels.what = row.labels.measure = "convergence";
  row.labels.target_loss = 0.5;
  row.labels.target_hold = 2;
  for (const char* model : {"mean", "median rank", "worst rank"}) {
    const double worse = *model == 'w' ? 0.1 : 0;
    for (int t = 0; t <= seconds; ++t) {
      row.record.curve.push_back(
          {model, Time(std::chrono::seconds(t)), double(t), 100 * t, 1 - rate * t + worse, 0, 0});
    }
  }
  return row;
}

TableRow row_of(const Table& table, const std::string& name) {
  for (const TableRow& row : table.rows) {
    if (row[0] == name) return row;
  }
  ADD_FAILURE() << "no row " << name;
  return TableRow(20);
}

std::string cell(const Table& table, const std::string& name, const std::string& column) {
  if (!table.has(column)) return "no column " + column;
  const TableRow row = row_of(table, name);
  return table.place_of(column) < row.size() ? row[table.place_of(column)].text : "";
}

std::vector<std::string> names_of(const Table& table) {
  std::vector<std::string> names;
  for (const Head& head : table.columns) names.push_back(head.name);
  return names;
}

std::vector<std::string> facts_of(const Table& table) { return notes_of(table, Note::Kind::kFact); }

// --- Numbers as text

TEST(NumberText, KeepsTheDigitsThatCarrySomething) {
  EXPECT_EQ(number_text(12345.6), "12346");
  EXPECT_EQ(number_text(1234.5678), "1235");
  EXPECT_EQ(number_text(12.345678), "12.35");
  EXPECT_EQ(number_text(0.012345678), "0.01235");
  EXPECT_EQ(number_text(99.99999), "100.0");
  EXPECT_EQ(number_text(0), "0");
  EXPECT_EQ(number_text(-1.5, 3), "-1.50");
  EXPECT_EQ(number_text(1.2e-9, 3), "1.20e-09");
  EXPECT_EQ(number_text(1e14, 3), "100000000000000");
  EXPECT_EQ(number_text(1e308, 3), "1.00e+308");
  EXPECT_EQ(number_text(std::nan("")), "-");
  EXPECT_EQ(percent_text(0.412), "41 %");
  EXPECT_EQ(percent_text(0.015), "1.5 %");
  EXPECT_EQ(percent_text(0), "0 %");
}

std::string median_text(const Values& values) { return text_of(median_of(values)); }
std::string ratio_text(const Values& a, const Values& b) { return text_of(paired_ratio(a, b), kRatioNumber); }

TEST(MedianText, ShowsTheSpreadThatItsCountCarries) {
  EXPECT_EQ(median_text(Values{}), "-");
  EXPECT_EQ(median_text(Values{5}), "5.000");
  EXPECT_EQ(median_text(Values{812, 790, 830}), "812.0 (790.0 .. 830.0)");
  EXPECT_EQ(median_text(Values{7, 7, 7}), "7.000");
  EXPECT_EQ(median_text(Values{1, 2, 3, 4, 5, 6}), "3.500 [1.000, 6.000]");
}

TEST(RatioText, HasAnIntervalOnlyFromThreePairs) {
  EXPECT_EQ(ratio_text(Values{}, Values{}), "-");
  EXPECT_EQ(ratio_text(Values{3}, Values{2}), "1.50x");
  EXPECT_EQ(ratio_text(Values{4, 1}, Values{1, 1}), "2.00x (1.00 .. 4.00)");
  const std::string three = ratio_text(Values{std::exp(-0.1), 1, std::exp(0.1)}, Values{1, 1, 1});
  EXPECT_EQ(three, "1.00x [0.780, 1.28]");
}

// --- Rates

TEST(RateTable, PairsTheSpeedUpByRepeat) {
  // Repeats differ by a lot, the ratio does not.
  std::vector<TrialRow> rows;
  for (std::uint32_t repeat = 0; repeat < 3; ++repeat) {
    const double machine = repeat + 1;
    rows.push_back(rate_row("hop", repeat, 150 * machine));
    rows.push_back(rate_row("allreduce", repeat, 100 * machine));
  }
  const auto tables = summarise(rows, "allreduce");
  ASSERT_EQ(tables.size(), 1u);
  EXPECT_EQ(tables[0].title, "suite / rate / one slow");
  EXPECT_EQ(tables[0].rows[0][0].text, "allreduce");  // the suite's order, not the run's
  EXPECT_EQ(cell(tables[0], "hop", "n"), "3");
  EXPECT_EQ(cell(tables[0], "hop", "samples/s"), "300.0 (150.0 .. 450.0)");
  EXPECT_EQ(cell(tables[0], "hop", "speed-up"), "1.50x [1.50, 1.50]");
  EXPECT_EQ(cell(tables[0], "allreduce", "speed-up"), "1 (reference)");
  const Number speed_up = *row_of(tables[0], "hop")[tables[0].place_of("speed-up")].number();
  EXPECT_DOUBLE_EQ(speed_up.value, 1.5);
  EXPECT_EQ(speed_up.n, 3);
  EXPECT_EQ(cell(tables[0], "hop", "waiting"), "25 %");
  EXPECT_EQ(cell(tables[0], "hop", "mostly for"), "parameters");
}

TEST(RateTable, HasNoSpeedUpOfRatesOverTheWholeTrialAgainstSteadyOnes) {
  std::vector<TrialRow> rows;
  for (std::uint32_t repeat = 0; repeat < 3; ++repeat) {
    for (const char* variant : {"allreduce", "dssp", "hop"}) rows.push_back(rate_row(variant, repeat, 100));
    if (repeat < 2) rows[rows.size() - 2].record.warnings = {WarningKind::kNoSteadyWindow};  // dssp: 2 of 3
    if (repeat > 0) continue;
    rows.back().record.warnings = {WarningKind::kNoSteadyWindow};  // hop: 1 of 3, which is no pair
    rows.back().record.samples_per_s = 900;
  }
  const Table table = summarise(rows, "allreduce")[0];
  EXPECT_EQ(cell(table, "dssp", "speed-up"), "-");
  EXPECT_EQ(cell(table, "hop", "speed-up"), "1.00x");
  EXPECT_THAT(notes_of(table), Contains("speed-up: without the 3 pairs of which only one trial has a steady window"));
}

TEST(RateTable, EndsWithTheBounds) {
  std::vector<TrialRow> rows{rate_row("hop", 0, 150), rate_row("allreduce", 0, 100), rate_row("hop", 1, 150)};
  rows[2].record.window_ideal_samples_per_s = 300;
  const Table table = summarise(rows, "allreduce")[0];
  EXPECT_EQ(table.rows[table.rows.size() - 3][0].text, "ideal");
  EXPECT_EQ(table.rows[table.rows.size() - 2][0].text, "slowest rank");
  EXPECT_EQ(table.rows.back()[0].text, "slowest left out");
  EXPECT_EQ(cell(table, "ideal", "n"), "2");
  EXPECT_EQ(cell(table, "ideal", "samples/s"), "250.0 (200.0 .. 300.0)");
  EXPECT_EQ(cell(table, "ideal", "speed-up"), "2.00x");  // the one repeat that the reference has
  EXPECT_EQ(cell(table, "slowest rank", "speed-up"), "0.500x");
  EXPECT_EQ(cell(table, "slowest left out", "speed-up"), "0.750x");
}

TEST(RateTable, HasNoBoundRowsWhereThereIsNoBound) {
  std::vector<TrialRow> rows{rate_row("hop", 0, 150)};
  TrialRecord& record = rows[0].record;
  record.window_ideal_samples_per_s = record.slowest_rank_samples_per_s = record.without_slowest_samples_per_s = 0;
  EXPECT_EQ(summarise(rows, "hop")[0].rows.size(), 1u);
}

TEST(RateTable, AFailedTrialIsCountedAndNamed) {
  std::vector<TrialRow> rows{rate_row("hop", 0, 100), rate_row("hop", 1, 1), rate_row("allreduce", 0, 50),
                             rate_row("allreduce", 1, 50)};
  rows[1].record.status = TrialStatus::kFailed;
  rows[1].record.failure = {FailureKind::kError, -1, "rank 3 died (signal 9)\n  rank 0 waits for updates"};
  const Table table = summarise(rows, "allreduce")[0];
  EXPECT_EQ(cell(table, "hop", "n"), "1 of 2");
  EXPECT_EQ(cell(table, "hop", "samples/s"), "100.0");
  EXPECT_EQ(cell(table, "hop", "speed-up"), "2.00x");
  EXPECT_EQ(cell(table, "hop", "marks"), "failed (1 of 2)");
  // A list of what every rank did at that time fills a screen; trials.jsonl has it.
  EXPECT_THAT(facts_of(table),
              Contains(AllOf(HasSubstr(rows[1].record.id), HasSubstr("signal 9"), Not(HasSubstr("rank 0 waits")))));
}

TEST(RateTable, OfManyFailedTrialsTheFirstAreNamedAndTheOthersCounted) {
  std::vector<TrialRow> rows;
  for (std::uint32_t repeat = 0; repeat < 7; ++repeat) rows.push_back(rate_row("hop", repeat, 100));
  for (TrialRow& row : rows) row.record.status = TrialStatus::kFailed;
  const Table table = summarise(rows, "hop")[0];
  ASSERT_EQ(facts_of(table).size(), 6u);
  EXPECT_EQ(facts_of(table).back(), "and 2 more that did not finish: see trials.csv");
  EXPECT_THAT(to_text(table, false), HasSubstr("\n  and 2 more that did not finish: see trials.csv\n"));
  EXPECT_THAT(to_markdown(table), HasSubstr("\n* and 2 more that did not finish: see trials.csv\n"));
}

TEST(RateTable, AVariantOfWhichEveryTrialFailedStillHasItsRow) {
  std::vector<TrialRow> rows{rate_row("hop", 0, 0), rate_row("allreduce", 0, 50)};
  rows[0].record = {};
  rows[0].record.status = TrialStatus::kFailed;
  const Table table = summarise(rows, "allreduce")[0];
  EXPECT_EQ(cell(table, "hop", "n"), "0 of 1");
  EXPECT_EQ(cell(table, "hop", "samples/s"), "-");
  EXPECT_EQ(cell(table, "hop", "speed-up"), "-");
}

TEST(RateTable, MarksSayHowManyTrialsTheyConcernAndAreExplained) {
  std::vector<TrialRow> rows{rate_row("hop", 0, 100), rate_row("hop", 1, 100)};
  rows[0].record.warnings = {WarningKind::kNotSteady, {WarningKind::kOverpaced, "by so much"}};
  rows[1].record.warnings = {{WarningKind::kOverpaced, "by so much"}};
  for (TrialRow& row : rows) row.labels.experimental = true;
  const Table table = summarise(rows, "hop")[0];
  EXPECT_EQ(cell(table, "hop", "marks"), "experimental, not steady (1 of 2), overpaced");
  EXPECT_THAT(notes_of(table), Contains(StartsWith("not steady: ")));
  EXPECT_THAT(notes_of(table), Contains(StartsWith("overpaced: the pace")));
  EXPECT_THAT(notes_of(table), Not(Contains(StartsWith("oversubscribed"))));
}

TEST(RateTable, CountsLostGradientsAndJumpedIterations) {
  std::vector<TrialRow> rows{rate_row("hop", 0, 100)};
  rows[0].record.ranks[0].gradients_lost = 5;
  rows[0].record.ranks[0].iters_jumped = 25;
  const Table table = summarise(rows, "hop")[0];
  EXPECT_EQ(cell(table, "hop", "gradients lost"), "5.000 (5.0 %)");
  EXPECT_EQ(cell(table, "hop", "iterations jumped"), "25.00 (20 %)");  // of 100 done and 25 jumped
}

TEST(RateTable, LeavesColumnsOfZerosOutOnAScreen) {
  std::vector<TrialRow> rows{rate_row("hop", 0, 100), rate_row("allreduce", 0, 100)};
  const std::string lost = "gradients lost", jumped = "iterations jumped";
  EXPECT_EQ(cell(summarise(rows, "hop")[0], "hop", lost), "0");
  EXPECT_THAT(names_of(for_a_screen(summarise(rows, "hop")[0])),
              ElementsAre("variant", "n", "samples/s", "iterations/s", "speed-up", "waiting", "mostly for"));
  rows[1].record.ranks[0].gradients_lost = 5;
  const Table table = for_a_screen(summarise(rows, "hop")[0]);
  EXPECT_EQ(cell(table, "hop", lost), "0");
  EXPECT_EQ(cell(table, "allreduce", lost), "5.000 (5.0 %)");
  EXPECT_EQ(cell(table, "hop", jumped), "no column " + jumped);
}

TEST(RateTable, ShowsHostsWhereTheyDiffer) {
  std::vector<TrialRow> rows{rate_row("ps", 0, 90), rate_row("allreduce", 0, 80)};
  rows[0].labels.hosts = 9;
  rows[1].labels.hosts = 8;
  Table table = summarise(rows, "allreduce")[0];
  EXPECT_EQ(cell(table, "ps", "hosts"), "9");
  EXPECT_EQ(cell(table, "ps", "samples/s a host"), "10.00");
  rows[0].labels.hosts = 8;
  table = summarise(rows, "allreduce")[0];
  EXPECT_THAT(names_of(table), Not(Contains("hosts")));
}

TEST(Summary, NotesSayWhatTheNumbersRestOn) {
  TrialRow row = rate_row("hop", 0, 100);
  row.labels.clock = "virtual";
  row.labels.cost_s = 0.04;
  row.labels.world = 8;
  row.labels.model = "lenet";
  row.labels.dataset = "fashion_mnist";
  row.labels.batch = 32;
  row.labels.network = "100us, 1Gbit/s";
  row.labels.source = "memory";
  row.labels.reading = "hop/H1-H14";
  const auto notes = notes_of(summarise(std::vector<TrialRow>{row}, "allreduce")[0]);
  EXPECT_THAT(notes, Contains("virtual time, a step costs 40ms"));
  EXPECT_THAT(notes, Contains(AllOf(HasSubstr("8 ranks"), HasSubstr("network 100us, 1Gbit/s"))));
  EXPECT_THAT(notes, Contains(AllOf(HasSubstr("lenet on fashion_mnist"), HasSubstr("batch 32"), HasSubstr("untuned"))));
  EXPECT_THAT(notes, Contains("rests on: hop: not checked (hop/H1-H14)"));
  row.labels.source = "own";
  EXPECT_THAT(notes_of(summarise(std::vector<TrialRow>{row}, "allreduce")[0]),
              Contains("rests on: hop: proposed here (hop/H1-H14)"));
  EXPECT_THAT(notes, Contains(HasSubstr("jumped iteration is not an iteration")));
  EXPECT_THAT(notes, Contains(HasSubstr("reference 'allreduce' has no trial")));
  row.labels.clock = "real";
  EXPECT_THAT(notes_of(summarise(std::vector<TrialRow>{row}, "hop")[0]), Contains("real time, a step paced to 40ms"));
  row.labels.learns = false;
  EXPECT_THAT(notes_of(summarise(std::vector<TrialRow>{row}, "hop")[0]), Not(Contains(HasSubstr("untuned"))));
}

TEST(Summary, NotesThatTcpWasBbr) {
  TrialRow row = rate_row("hop", 0, 100);
  for (const char* other : {"", "reno", "cubic"}) {
    row.record.ranks[0].congestion_control = other;
    EXPECT_THAT(notes_of(summarise(std::vector<TrialRow>{row}, "hop")[0]), Not(Contains(HasSubstr("TCP")))) << other;
  }
  row.record.ranks.back().congestion_control = "bbr";
  EXPECT_THAT(notes_of(summarise(std::vector<TrialRow>{row}, "hop")[0]),
              Contains(HasSubstr("TCP's congestion control was bbr")));
}

TEST(Summary, IsATableAMeasureAndScenarioInTheOrderOfTheRun) {
  std::vector<TrialRow> rows{rate_row("hop", 0, 1), rate_row("hop", 0, 1), curve_row("hop", 0, 2)};
  rows[0].labels.scenario = "z first";
  rows[1].labels.scenario = "a second";
  std::vector<std::string> titles;
  for (const Table& table : summarise(rows, "hop")) titles.push_back(table.title);
  EXPECT_THAT(titles,
              ElementsAre("suite / rate / z first", "suite / rate / a second", "suite / convergence / one slow"));
  EXPECT_TRUE(summarise(std::vector<TrialRow>{}, "hop").empty());
}

// --- Convergence

TEST(ConvergenceTable, ShowsTimeAndSamplesToTheTarget) {
  std::vector<TrialRow> rows;
  for (std::uint32_t repeat = 0; repeat < 3; ++repeat) {
    rows.push_back(curve_row("allreduce", repeat, 10, 0.1));
    rows.push_back(curve_row("hop", repeat, 10, 0.2));
  }
  const Table table = summarise(rows, "allreduce")[0];
  EXPECT_EQ(cell(table, "allreduce", "time to target"), "5.000");
  EXPECT_EQ(cell(table, "hop", "time to target"), "2.500");
  EXPECT_EQ(cell(table, "hop", "samples to target"), "250.0");
  EXPECT_EQ(cell(table, "hop", "time held"), "3.000");
  EXPECT_EQ(cell(table, "hop", "samples held"), "300.0");
  EXPECT_THAT(cell(table, "hop", "speed-up"), StartsWith("2.00x ["));
  EXPECT_EQ(cell(table, "allreduce", "loss"), "0 / 0 / 0.1000");
  EXPECT_THAT(notes_of(table), Contains(AllOf(HasSubstr("loss 0.5"), HasSubstr("first of 2 evaluations"))));
  EXPECT_THAT(notes_of(table), Contains(HasSubstr("every 100 samples")));
}

TEST(ConvergenceTable, ATargetThatIsNotReachedIsLaterThanTheEnd) {
  std::vector<TrialRow> rows{curve_row("hop", 0, 4), curve_row("hop", 1, 3), curve_row("hop", 2, 10)};
  const Table table = summarise(rows, "hop")[0];
  EXPECT_EQ(cell(table, "hop", "n"), "3");
  EXPECT_EQ(cell(table, "hop", "time to target"), "> 4.000 (1 of 3 reached)");
  EXPECT_EQ(cell(table, "hop", "samples to target"), "> 400.0 (1 of 3 reached)");
}

TEST(ConvergenceTable, AMinorityThatDoesNotReachTheTargetLeavesTheMedianKnown) {
  std::vector<TrialRow> rows{curve_row("hop", 0, 4), curve_row("hop", 1, 10), curve_row("hop", 2, 10, 0.2)};
  const Table table = summarise(rows, "hop")[0];
  EXPECT_EQ(cell(table, "hop", "time to target"), "5.000 (2 of 3 reached)");
}

TEST(ConvergenceTable, GivesNoSpeedUpWhereAPairLacksTheTarget) {
  std::vector<TrialRow> rows{curve_row("allreduce", 0, 10), curve_row("allreduce", 1, 10), curve_row("hop", 0, 4),
                             curve_row("hop", 1, 10, 0.2)};
  EXPECT_EQ(cell(summarise(rows, "allreduce")[0], "hop", "speed-up"), "-");
}

/// The table of three repeats, of which the first so many diverged.
Table with_diverged(std::size_t diverged, double loss) {
  std::vector<TrialRow> rows{curve_row("hop", 0, 4), curve_row("hop", 1, 3), curve_row("hop", 2, 10)};
  for (std::size_t i = 0; i < diverged; ++i) {
    for (CurvePoint& point : rows[i].record.curve) point.loss = point.samples > 200 ? loss : point.loss;
    rows[i].record.warnings = {WarningKind::kDiverged};
  }
  return summarise(rows, "hop")[0];
}

TEST(ConvergenceTable, SaysDivergedWhereLossesAreNotFinite) {
  for (const double loss : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    const Table all = with_diverged(3, loss);
    EXPECT_EQ(cell(all, "hop", "n"), "3");
    EXPECT_EQ(cell(all, "hop", "loss"), "diverged");
    EXPECT_EQ(cell(all, "hop", "time to target"), "> 4.000 (0 of 3 reached)");
    EXPECT_EQ(cell(all, "hop", "marks"), "diverged");
    EXPECT_THAT(notes_of(all), Contains(StartsWith("diverged: a training loss")));
    EXPECT_EQ(cell(with_diverged(2, loss), "hop", "loss"), "diverged");
  }
}

TEST(ConvergenceTable, ATrialThatDivergedIsWorseThanTheOthers) {
  const Table one = with_diverged(1, std::nan(""));
  EXPECT_EQ(cell(one, "hop", "n"), "3");
  EXPECT_EQ(cell(one, "hop", "loss"), "0.7000 / 0.7000 / 0.8000");
  EXPECT_EQ(cell(one, "hop", "marks"), "diverged (1 of 3)");
}

TEST(ConvergenceTable, HasNoTargetColumnsWithoutATarget) {
  TrialRow row = curve_row("hop", 0, 3);
  row.labels.target_loss = 0;
  row.record.curve.back().accuracy = row.record.curve[3].accuracy = 0.8125;
  row.record.warnings = {WarningKind::kNoSteadyWindow, WarningKind::kContended};
  const Table table = summarise(std::vector<TrialRow>{row}, "hop")[0];
  EXPECT_THAT(names_of(table), Not(Contains(HasSubstr("target"))));
  EXPECT_EQ(cell(table, "hop", "accuracy"), "81.25 / 0 / 81.25");
  EXPECT_EQ(cell(table, "hop", "marks"), "cpu-contended");  // whether a rate is steady is no matter here
}

}  // namespace
}  // namespace hopbench
