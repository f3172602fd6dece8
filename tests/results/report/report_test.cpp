// The HTML page of a run: nothing from elsewhere, well formed, escaped, with the numbers that it draws.
#include "results/report/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <regex>
#include <set>

#include "backends/base/error.h"
#include "results/files/record_json.h"
#include "tests/results/report/page_checker.h"
#include "tests/results/results_samples.h"

namespace hopbench {
namespace {

using std::chrono::milliseconds;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// --- Runs

TrialRow rate_row(const std::string& variant, int place, std::uint32_t repeat, double rate) {
  TrialRow row;
  row.labels.suite = "s";
  row.labels.measure = "m";
  row.labels.what = "rate";
  row.labels.scenario = "one slow";
  row.labels.variant = variant;
  row.labels.row_order = place;
  row.labels.repeat = repeat;
  row.labels.tuned = true;
  row.record.id = "s/m/one slow/" + variant + "/1/" + std::to_string(repeat);
  row.record.time_s = 0.4;
  row.record.samples_per_s = rate;
  row.record.iters_per_s = rate / 10;
  row.record.median_iteration_s = 0.1;
  for (int r = 0; r < 2; ++r) {
    RankRecord rank;
    rank.rank = r;
    rank.compute = milliseconds(300);
    rank.injected_delay = milliseconds(100 * r);
    rank.waits = {{"a token", milliseconds(100 - 50 * r)}};
    row.record.ranks.push_back(rank);
  }
  return row;
}

TrialRow curve_row(const std::string& variant, int place, std::vector<double> losses) {
  TrialRow row = rate_row(variant, place, 0, 100);
  row.labels.what = "convergence";
  row.labels.measure = "c";
  row.labels.order = 1;
  row.labels.target_loss = 0.5;
  row.labels.target_hold = 1;
  row.record.id = "s/c/one slow/" + variant + "/1/0";
  for (std::size_t i = 0; i < losses.size(); ++i) {
    const auto n = static_cast<std::int64_t>(i);
    row.record.curve.push_back({"mean", Time{} + milliseconds(100 * n), double(i), 10 * n, losses[i], 0, 0});
  }
  return row;
}

std::string log_of(const TrialRow& row) {
  std::string text = event_log_head(row.record.id);
  const auto add = [&](int ms, int rank, EventKind what, Iter iter) {
    Event e;
    e.time = Time{} + milliseconds(ms);
    e.rank = rank;
    e.what = what;
    e.iter = iter;
    if (what == EventKind::kGradient) e.since = e.time - milliseconds(80), e.delay = milliseconds(30);
    if (what == EventKind::kWait) e.since = e.time - milliseconds(20), e.text = "a token";
    if (what == EventKind::kReduced) e.senders = {0, 1}, e.tags = {iter, iter - 3};
    append_event(text, e);
  };
  for (const int rank : {0, 1}) add(0, rank, EventKind::kEnter, 0);
  add(90, 0, EventKind::kGradient, 0);
  add(110, 0, EventKind::kWait, 0);
  for (const int iter : {1, 2, 3}) add(100 + iter * 50, 0, EventKind::kEnter, iter);
  add(260, 0, EventKind::kReduced, 3);
  add(300, 1, EventKind::kEnter, 1);
  return text;
}

struct SampleRun {
  Folder folder;
  std::string path = folder / "run";
  RunFolder run;

  explicit SampleRun(const std::vector<TrialRow>& rows, bool with_logs = true)
      : run(RunFolder::create(path, "schema = 1\n",
                              R"({"started":"2026-01-02T03:04:05Z","command":["hopbench","run","a b"],
               "hopbench":{"version":"9.8","commit":"abcdef0123456789"},"machine":{"cpu":"a <cpu>"}})")) {
    std::filesystem::create_directories(path + "/events");
    for (const TrialRow& row : rows) {
      run.add(row);
      if (with_logs) std::ofstream(run.event_log(row.record.id), std::ios::binary) << log_of(row);
    }
  }
};

std::string page_of(const std::vector<TrialRow>& rows, bool with_logs = true) {
  const SampleRun run(rows, with_logs);
  ReportOptions options;
  options.reference = "allreduce";
  for (const TrialRow& row : rows) options.bounds[row.record.id] = {5.0, 4.0};
  return report_html(run.run, options);
}

std::vector<TrialRow> usual_rows() {
  return {rate_row("allreduce", 0, 0, 1000),
          rate_row("allreduce", 0, 1, 1100),
          rate_row("hop", 1, 0, 2000),
          rate_row("hop", 1, 1, 2100),
          curve_row("allreduce", 0, {1, 0.75, 0.25}),
          curve_row("hop", 1, {1, 0.9, 0.8})};
}

TEST(Report, NeedsNothingFromElsewhere) {
  const std::string page = page_of(usual_rows());
  static const std::regex reference(R"re((?:href|src|url|action)\s*[=(]\s*"?([^")]*))re");
  for (auto it = std::sregex_iterator(page.begin(), page.end(), reference); it != std::sregex_iterator(); ++it) {
    const std::string to = (*it)[1].str().substr(0, 20);
    EXPECT_TRUE(to.starts_with("#") || to.starts_with("data:")) << to;
  }
  EXPECT_THAT(page, AllOf(Not(HasSubstr("@import")), Not(HasSubstr("<link")), Not(HasSubstr("<img"))));
  EXPECT_THAT(page,
              AllOf(HasSubstr("default-src 'none'"), HasSubstr("prefers-color-scheme"), HasSubstr("@media print")));
}

TEST(Report, IsWellFormed) { EXPECT_EQ(check_markup(page_of(usual_rows())), ""); }

TEST(Report, ItsPartsStandInOrder) {
  const std::string page = page_of(usual_rows());
  std::size_t last = 0;
  for (const char* id : {"<h1>s</h1>", "id=\"warnings\"", "id=\"summary\"", "id=\"bars\"", "id=\"curves\"",
                         "id=\"time\"", "id=\"gaps\"", "id=\"timelines\"", "id=\"context\""}) {
    const std::size_t at = page.find(id);
    ASSERT_NE(at, std::string::npos) << id;
    EXPECT_GT(at, last) << id;
    last = at;
  }
  EXPECT_THAT(page, HasSubstr("started 2026-01-02T03:04:05Z, hopbench 9.8 (abcdef012345)"));
  EXPECT_THAT(page, HasSubstr("hopbench run &#39;a b&#39;"));
  EXPECT_THAT(page, HasSubstr("<p class=\"\">none</p>"));
}

TEST(Report, TheDataAreTheNumbersDrawn) {
  const std::string page = page_of(usual_rows());
  const auto rates = data_of(figure_of(page, "samples/s, all workers"));
  ASSERT_EQ(rates.size(), 3u);
  EXPECT_EQ(rates[1], (std::vector<std::string>{"allreduce", "2", "1050", "1000", "1100", "1050 (1000 .. 1100)"}));
  const auto speed_ups = data_of(figure_of(page, "speed-up over allreduce"));
  EXPECT_NEAR(std::stod(speed_ups[2][2]), std::sqrt(2.0 * 2100 / 1100), 1e-12);
  EXPECT_EQ(speed_ups[2][1], "2");
  const auto reached = data_of(figure_of(page, "time to target, s"));
  EXPECT_NEAR(std::stod(reached[1][2]), 0.15, 1e-12);
  EXPECT_EQ(reached[2], (std::vector<std::string>{"hop", "1", "0.2", "", "", "> 0.2000 (0 of 1 reached)"}));
  EXPECT_EQ(data_of(figure_of(page, "speed-up over allreduce", 1))[2][2], "") << "no ratio without a time";
  const auto curve = data_of(figure_of(page, "loss over time"));
  ASSERT_EQ(curve.size(), 7u);
  EXPECT_EQ(curve[2], (std::vector<std::string>{"allreduce", "1", "0.1", "0.75", "", ""}));
  const auto parts = data_of(figure_of(page, "hop"));
  EXPECT_EQ(parts[1], (std::vector<std::string>{"rank 0", "compute", "75"}));
  EXPECT_EQ(parts.back(), (std::vector<std::string>{"rank 1", "rest", "12.5"}));
  // A bar of the largest part is as long as its number says: 75 of 100 on 300 units.
  EXPECT_THAT(figure_of(page, "hop"), HasSubstr("width=\"225\" height=\"14\" class=\"compute\""));
}

TEST(Report, TheLinksSaveTheSameData) {
  const std::string page = page_of(usual_rows());
  static const std::regex link("href=\"data:text/csv;charset=utf-8,([^\"]*)\">save as CSV</a>\n<pre>([^<]*)</pre>");
  int links = 0;
  for (auto it = std::sregex_iterator(page.begin(), page.end(), link); it != std::sregex_iterator(); ++it, ++links) {
    EXPECT_EQ(percent_decoded((*it)[1]), unescaped((*it)[2]));
  }
  std::size_t figures = 0;
  for (std::size_t at = 0; (at = page.find("<figure ", at)) != std::string::npos; ++at) ++figures;
  EXPECT_EQ(std::size_t(links), figures);
  EXPECT_GT(figures, 10u);
}

TEST(Report, GapsAndStalenessAreTheLogs) {
  const std::string page = page_of(usual_rows());
  const auto gaps = data_of(figure_of(page, "hop: largest 3, bound 5"));
  double most = 0;
  for (std::size_t r = 1; r < gaps.size(); ++r) {
    if (gaps[r][0] == "rank 0") most = std::max(most, std::stod(gaps[r][2]));
    if (gaps[r][0] == "rank 1") {
      EXPECT_EQ(gaps[r][2], "0");
    }
  }
  EXPECT_EQ(most, 3);
  const auto last = std::find_if(gaps.rbegin(), gaps.rend(), [](const auto& row) { return row[0] == "rank 0"; });
  EXPECT_EQ((*last)[2], "2") << "rank 1 has caught up by one";
  const auto staleness = data_of(figure_of(page, "hop: largest 3, bound 4"));
  ASSERT_EQ(staleness.size(), 2u) << "its own term is left out";
  EXPECT_EQ(staleness[1], (std::vector<std::string>{"3", "1"}));
}

TEST(Report, TimelinesHaveGradientsSlowdownsAndWaits) {
  const std::string page = page_of({rate_row("hop", 0, 0, 1000)});
  const std::string figure = figure_of(page, "hop", 1);
  const auto slices = data_of(figure);
  ASSERT_EQ(slices.size(), 3u);
  EXPECT_EQ(slices[1], (std::vector<std::string>{"rank 0", "waiting: a token", "0.09", "0.11", "0"}));
  EXPECT_EQ(slices[2], (std::vector<std::string>{"rank 0", "gradient", "0.01", "0.09", "0.03"}));
  EXPECT_THAT(figure, HasSubstr("[0,2,90000,20000,0,0,1,10000,80000,30000]"));
  EXPECT_THAT(figure, AllOf(HasSubstr("class=\"slow\""), HasSubstr("class=\"w0\""), HasSubstr("class=\"compute\"")));
}

TEST(Report, LongTimelinesAreCutAndSayIt) {
  TrialRow row = rate_row("hop", 0, 0, 1000);
  row.record.time_s = 30;
  const SampleRun run({row}, false);
  std::string log = event_log_head(row.record.id);
  for (int i = 0; i < 2500; ++i) {
    Event e;
    e.what = EventKind::kGradient;
    e.since = Time{} + milliseconds(10 * i);
    e.time = e.since + milliseconds(5);
    append_event(log, e);
  }
  std::ofstream(run.run.event_log(row.record.id), std::ios::binary) << log;
  EXPECT_THAT(report_html(run.run, {}), HasSubstr("2000 of 2500 slices are here, from 0 s to 20.00 s"));
}

TEST(Report, FailuresComeFirst) {
  std::vector<TrialRow> rows = usual_rows();
  rows[2].record.status = TrialStatus::kFailed;
  rows[2].record.failure = {FailureKind::kError, -1, "rank 3: signal 9, in <training>"};
  rows[3].record.warnings = {{WarningKind::kOverpaced, "the pace is 4 x the step"}};
  rows[3].labels.tuned = false;
  const std::string page = page_of(rows);
  EXPECT_EQ(check_markup(page), "");
  const std::string first = page.substr(0, page.find("id=\"summary\""));
  EXPECT_THAT(first, AllOf(HasSubstr("1 trial did not end well"), HasSubstr("s/m/one slow/hop/1/0"),
                           HasSubstr("rank 3: signal 9, in &lt;training&gt;"), HasSubstr("overpaced"),
                           HasSubstr("the pace is 4 x the step"), HasSubstr("untuned"), Not(HasSubstr(">none<"))));
  EXPECT_EQ(data_of(figure_of(page, "samples/s, all workers"))[2][1], "1");
}

std::string warnings_of(const std::string& page) { return page.substr(0, page.find("id=\"summary\"")); }

TEST(Report, WarnsOfRunsThatDiverged) {
  std::vector<TrialRow> rows = usual_rows();
  rows[5].record.warnings = {WarningKind::kDiverged};
  EXPECT_THAT(warnings_of(page_of(rows)),
              AllOf(HasSubstr("diverged</th><td>1</td><td>hop</td><td>a training loss"), Not(HasSubstr(">none<"))));
}

TEST(Report, WarnsOnceOfLearningRatesAtTheEdge) {
  const SampleRun run(usual_rows());
  ReportOptions options;
  options.at_the_edge = {"hop", "allreduce", "of no trial"};
  const std::string page = warnings_of(report_html(run.run, options));
  EXPECT_THAT(page,
              HasSubstr("learning rate at the edge</th><td>6</td><td>all variants</td><td>the best learning rate"));
  EXPECT_THAT(page, Not(HasSubstr(">none<")));
}

TEST(Report, WhatLearnsNothingIsNotUntuned) {
  std::vector<TrialRow> rows = usual_rows();
  for (TrialRow& row : rows) row.labels.tuned = row.labels.learns = false;
  EXPECT_THAT(warnings_of(page_of(rows)), AllOf(Not(HasSubstr("untuned")), HasSubstr(">none<")));
}

TEST(Report, WhoPaysFollowsTheFigures) {
  std::vector<TrialRow> rows = usual_rows();
  EXPECT_THAT(page_of(rows), Not(HasSubstr("id=\"who-pays\"")));
  for (TrialRow& row : rows) row.labels.split = "dirichlet(0.1)";
  const std::string page = page_of(rows);
  const std::size_t title = page.find(": who pays</h3>");
  ASSERT_NE(title, std::string::npos);
  EXPECT_LT(page.find("id=\"timelines\""), page.find("id=\"who-pays\""));
  EXPECT_LT(page.find("id=\"who-pays\""), title);
}

TEST(Report, LossesAreMediansWithABand) {
  std::vector<TrialRow> rows;
  const std::vector<std::vector<double>> losses{{1, 0.8, 0.6}, {1, 0.6, 0.2}, {1, 0.7, 0.7, 0.1}};
  for (std::uint32_t repeat = 0; repeat < 3; ++repeat) {
    rows.push_back(curve_row("hop", 0, losses[repeat]));
    rows.back().labels.repeat = repeat;
  }
  for (CurvePoint& point : rows[1].record.curve) point.time += (point.time - Time{}) / 3;  // 0, 0.133, 0.267
  const std::string page = page_of(rows);
  EXPECT_EQ(check_markup(page), "");
  const std::string figure = figure_of(page, "loss over time");
  const auto data = data_of(figure);
  using Row = std::vector<std::string>;
  ASSERT_EQ(data.size(), 4u) << "a row at each evaluation of the first repeat, up to where the shortest ends";
  EXPECT_EQ(data[0], (Row{"variant", "n", "time, s", "loss", "low", "high"}));
  EXPECT_EQ(data[1], (Row{"hop", "3", "0", "1", "1", "1"}));
  EXPECT_EQ((Row{data[2].begin(), data[2].begin() + 4}), (Row{"hop", "3", "0.1", "0.7"}));
  EXPECT_NEAR(std::stod(data[2][4]), 0.7, 1e-6);  // the second repeat: 1 - 0.4 x 0.1 / 0.133
  EXPECT_EQ(data[2][5], "0.8");
  EXPECT_NEAR(std::stod(data[3][4]), 0.4, 1e-6);  // its 0.6 - 0.4 / 2
  EXPECT_THAT(figure, AllOf(HasSubstr("class=\"band b0\""), HasSubstr("class=\"line l0 d0\"")));
  rows.resize(1);
  EXPECT_THAT(figure_of(page_of(rows), "loss over time"), Not(HasSubstr("class=\"band")));
}

TEST(Report, ALossThatDivergedBreaksTheLineAndOpensTheBand) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  std::vector<TrialRow> rows;
  for (std::uint32_t repeat = 0; repeat < 3; ++repeat) {
    rows.push_back(
        curve_row("hop", 0, repeat == 0 ? std::vector<double>{1, nan, nan} : std::vector<double>{1, 0.5, nan}));
    rows.back().labels.repeat = repeat;
  }
  const auto data = data_of(figure_of(page_of(rows), "loss over time"));
  EXPECT_EQ(data[2], (std::vector<std::string>{"hop", "3", "0.1", "0.5", "0.5", "inf"}));
  EXPECT_EQ(data[3], (std::vector<std::string>{"hop", "3", "0.2", "inf", "inf", "inf"}));
}

TEST(Report, RunsInWhichNothingWorkedAreReportsToo) {
  std::vector<TrialRow> rows = usual_rows();
  for (TrialRow& row : rows) {
    TrialRecord failed;
    failed.id = row.record.id;
    failed.status = TrialStatus::kFailed;
    failed.failure = {FailureKind::kError, -1, "it broke"};
    row.record = failed;
  }
  const std::string page = page_of(rows, false);
  EXPECT_EQ(check_markup(page), "");
  EXPECT_THAT(page, AllOf(HasSubstr("6 trials did not end well"), HasSubstr("no trial ended well")));
}

TEST(Report, WithoutEventLogsItSaysSo) {
  const std::string page = page_of(usual_rows(), false);
  EXPECT_EQ(check_markup(page), "");
  EXPECT_THAT(page, HasSubstr("hop: no event log"));
  EXPECT_NE(figure_of(page, "samples/s, all workers"), "");
}

TEST(Report, WithoutCurvesItSaysSo) {
  const std::string page = page_of({rate_row("allreduce", 0, 0, 5), curve_row("hop", 0, {})});
  EXPECT_EQ(check_markup(page), "");
  EXPECT_THAT(page, HasSubstr("no trial here was evaluated more than once"));
}

TEST(Report, NumbersThatAreNoneBreakNothing) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  const std::string page =
      page_of({full_row(), rate_row("a", 0, 0, nan), rate_row("b", 1, 0, inf), rate_row("c", 2, 0, 0),
               curve_row("hop", 0, {1, inf, nan, 0.4}), curve_row("x", 1, {nan, nan})});
  EXPECT_EQ(check_markup(page), "");
  EXPECT_THAT(page, AllOf(Not(HasSubstr("=\"nan")), Not(HasSubstr("=\"inf")), Not(HasSubstr("=\"-nan"))));
}

TEST(Report, HostileNamesAreOnlyNames) {
  const std::string hostile = "<script>alert('x')</script>\" onload=\"y\n&amp; \x01\xff-->]]>" + std::string(200, 'w');
  std::vector<TrialRow> rows = usual_rows();
  for (TrialRow& row : rows) {
    row.labels.scenario = row.labels.suite = hostile;
    row.record.warnings = {{WarningKind::kOther, hostile}, {WarningKind::kOverpaced, hostile}};
    row.record.failure = {FailureKind::kError, -1, hostile};
    row.record.ranks[0].waits[hostile] = milliseconds(7);
    if (row.labels.variant == "hop") row.labels.variant = hostile;
  }
  const SampleRun run(rows, false);
  for (const TrialRow& row : rows) {
    Event e;
    e.what = EventKind::kWait;
    e.time = Time{} + milliseconds(20);
    e.text = "</script><b>";
    std::string log = event_log_head(row.record.id);
    append_event(log, e);
    std::ofstream(run.run.event_log(row.record.id), std::ios::binary) << log;
  }
  const std::string page = report_html(run.run, {.reference = hostile, .wanted = {}, .bounds = {}});
  EXPECT_EQ(check_markup(page), "");
  EXPECT_THAT(page, AllOf(Not(HasSubstr("<script>alert")), Not(HasSubstr("\" onload=\"")), Not(HasSubstr("<b>")),
                          Not(HasSubstr("\x01"))));
  // A long name is cut where there is no room for it.
  static const std::regex words("<text [^>]*>([^<]*)");
  for (auto it = std::sregex_iterator(page.begin(), page.end(), words); it != std::sregex_iterator(); ++it) {
    EXPECT_LT(unescaped((*it)[1]).size(), 80u);
  }
}

TEST(Report, OnlyTheTrialsWanted) {
  const SampleRun run(usual_rows());
  ReportOptions options;
  options.wanted = [](const TrialRow& row) { return row.labels.variant == "hop"; };
  EXPECT_THAT(report_html(run.run, options), AllOf(HasSubstr("3 trials"), Not(HasSubstr("allreduce"))));
  options.wanted = [](const TrialRow&) { return false; };
  EXPECT_THROW(report_html(run.run, options), Error);
}

}  // namespace
}  // namespace hopbench
