// Runs of many ranks and of many trials: what reports, traces and tables of cost do grows no faster than the run, and a
// page stays small. Costs are ratios of CPU times between two sizes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>
#include <functional>

#include "results/files/event_reader.h"
#include "results/files/record_json.h"
#include "results/report/report.h"
#include "results/report/report_parts.h"
#include "results/report/trace.h"
#include "results/tables/cost.h"
#include "tests/results/results_samples.h"

namespace hopbench {
namespace {

using std::chrono::milliseconds;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TrialRow row_of(const std::string& variant, int ranks) {
  TrialRow row;
  row.labels.suite = "s";
  row.labels.measure = "m";
  row.labels.what = "rate";
  row.labels.scenario = "h";
  row.labels.variant = variant;
  row.labels.tuned = true;
  row.record.id = "s/m/h/" + variant + "/1/0";
  row.record.time_s = 0.4;
  row.record.samples_per_s = 100;
  row.record.median_iteration_s = 0.1;
  for (int r = 0; r < ranks; ++r) {
    RankRecord rank;
    rank.rank = r;
    rank.compute = milliseconds(300);
    rank.gradients = 10;
    rank.samples = 10 + r % 2;
    row.record.ranks.push_back(rank);
  }
  return row;
}

std::string log_of(const TrialRow& row) {
  std::string text = event_log_head(row.record.id);
  for (Iter k = 0; k < 2; ++k) {
    for (const RankRecord& rank : row.record.ranks) {
      Event e;
      e.time = Time{} + milliseconds(100 * k);
      e.rank = rank.rank;
      e.what = EventKind::kEnter;
      e.iter = k;
      append_event(text, e);
    }
  }
  return text;
}

struct LoggedRun {
  Folder folder;
  std::string path = folder / "run";
  RunFolder run;

  explicit LoggedRun(const std::vector<TrialRow>& rows) : run(RunFolder::create(path, "schema = 1\n", "{}")) {
    std::filesystem::create_directories(path + "/events");
    for (const TrialRow& row : rows) {
      run.add(row);
      std::ofstream(run.event_log(row.record.id), std::ios::binary) << log_of(row);
    }
  }
};

double cpu_seconds(const std::function<void()>& work) {
  const std::clock_t begin = std::clock();
  work();
  return double(std::clock() - begin) / CLOCKS_PER_SEC;
}

/// CPU time of `work` over that of merely reading the trial's log.
double over_reading(const LoggedRun& run, const TrialRow& row, const std::function<void()>& work) {
  const double reading = cpu_seconds([&] {
    EventReader reader(run.run.event_log(row.record.id), row);
    std::size_t events = 0;
    while (reader.next()) ++events;
    EXPECT_EQ(events, 2 * row.record.ranks.size());
  });
  return cpu_seconds(work) / reading;
}

// Something over 1 where an event costs the same whatever the number of ranks, 5 and more where it costs a look at each
// of so many.
constexpr int kRanks = 16'000;
constexpr double kMostOverReading = 2.5;

TEST(LargeRuns, AnEventOfALogCostsAReportNoLookAtAllRanks) {
  const TrialRow row = row_of("v", kRanks);
  const LoggedRun run({row});
  const auto read = [&] { EXPECT_EQ(report::digest_of(run.run, row).gap_most, 1); };
  EXPECT_LT(over_reading(run, row, read), kMostOverReading);
}

TEST(LargeRuns, AnEventOfALogCostsATraceNoLookAtAllRanks) {
  const TrialRow row = row_of("v", kRanks);
  const LoggedRun run({row});
  const auto write = [&] {
    TraceWriter trace([](const std::string&) {});
    trace.add(run.run, row);
    trace.finish();
  };
  EXPECT_LT(over_reading(run, row, write), kMostOverReading);
}

// Sixteen times as many ranks: 16 where each rank is looked at once, 256 where each pair is.
TEST(LargeRuns, WhoPaysGrowsWithTheRanks) {
  const auto cost = [](int ranks) {
    const std::vector<TrialRow> rows{row_of("v", ranks)};
    return cpu_seconds([&] {
      for (int i = 0; i < 3; ++i) EXPECT_EQ(who_pays_tables(rows, PayersShown::kEachWorker).size(), 1U);
    });
  };
  const double few = cost(500);
  EXPECT_LT(cost(8000), 60 * few + 0.01);
}

std::vector<TrialRow> variants(int number, int ranks) {
  std::vector<TrialRow> rows;
  for (int v = 0; v < number; ++v) {
    rows.push_back(row_of("v" + std::to_string(1000 + v), ranks));
    rows.back().labels.row_order = v;
  }
  return rows;
}

std::string page_of(int number, std::size_t drawn, int ranks = 4) {
  const LoggedRun run(variants(number, ranks));
  ReportOptions options;
  options.drawn = drawn;
  return report_html(run.run, options);
}

TEST(LargeRuns, APageDrawsSoManyTrialsAndSaysWhatItLeavesOut) {
  const std::string page = page_of(3, 2);
  EXPECT_THAT(page, HasSubstr("Only the first 2 of 3 variants are drawn here"));
  EXPECT_THAT(page, AllOf(HasSubstr("v1000: timeline"), HasSubstr("v1001: timeline"), Not(HasSubstr("v1002: timeline")),
                          Not(HasSubstr("v1002: iteration gap")), HasSubstr("--trials N")));
  EXPECT_THAT(page_of(3, 3), AllOf(HasSubstr("v1002: timeline"), Not(HasSubstr("Only the first"))));
}

// 39 kB were added by each trial. What is left are rows of tables and bars.
TEST(LargeRuns, ATrialThatIsNotDrawnAddsLittleToAPage) {
  const std::size_t few = page_of(20, 5).size(), many = page_of(220, 5).size();
  EXPECT_LT((many - few) / 200, 2000U);
}

TEST(LargeRuns, APageDrawsSoManyLinesOfLosses) {
  std::vector<TrialRow> rows;
  for (const char* scenario : {"first", "second", "third"}) {
    rows.push_back(row_of("v", 1));
    TrialRow& row = rows.back();
    row.labels.what = "convergence";
    row.labels.scenario = scenario;
    row.record.id = std::string("s/m/") + scenario + "/v/1/0";
    row.record.curve = {{"mean", Time{}, 0, 0, 1, 0, 0}, {"mean", Time{} + milliseconds(100), 1, 10, 0.5, 0, 0}};
  }
  ReportOptions options;
  const LoggedRun run(rows);
  EXPECT_THAT(report_html(run.run, options), Not(HasSubstr("lines of losses are left out")));
  options.lines = 2;
  EXPECT_THAT(report_html(run.run, options), HasSubstr("1 lines of losses are left out"));
}

TEST(LargeRuns, TheNumbersBelowAFigureAreOfSoManyRanks) {
  const std::string page = page_of(1, 1, 300);
  EXPECT_THAT(page, HasSubstr("drawn are 32 of 300 workers, and the data are of 256"));
  EXPECT_THAT(page, AllOf(HasSubstr("rank 255,"), Not(HasSubstr("rank 256,"))));
  EXPECT_THAT(page_of(1, 1, 40), HasSubstr("drawn are 32 of 40 workers</p>"));
}

}  // namespace
}  // namespace hopbench
