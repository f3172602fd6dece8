// Workers that were lost, in tables and rates; GPUs that were not used as they should be.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "results/arithmetic/steady.h"
#include "results/files/csv.h"
#include "results/tables/summary.h"

namespace hopbench {
namespace {

using std::chrono::milliseconds;

void lose(RankRecord& rank, const std::string& how, milliseconds at) {
  rank.lost = how;
  rank.finished = Time(at);
}

/// Returns a row of repeat `repeat` with four workers; `lost` < 0: in a scenario without faults.
TrialRow faulty_row(const std::string& variant, std::uint32_t repeat, int lost, double rate, double loss) {
  TrialRow row;
  row.labels.suite = "s";
  row.labels.measure = row.labels.what = "rate";
  row.labels.scenario = lost < 0 ? "no faults" : "crash";
  row.labels.variant = variant;
  row.labels.repeat = repeat;
  row.labels.order = lost < 0 ? 0 : 1;
  row.labels.row_order = variant == "allreduce" ? 0 : 1;
  row.labels.faults = lost >= 0;
  row.labels.unharmed = variant + std::to_string(repeat);
  row.record.ranks_lost = std::max(0, lost);
  row.record.first_lost_s = lost > 0 ? 0.5 : -1;
  row.record.samples_per_s = rate;
  row.record.time_s = 1000 / rate;
  row.record.curve = {{"mean", Time(milliseconds(1000)), 1, 1000, loss, 0, 0}};
  row.record.window_start_s = 0.4;
  row.record.window_end_s = 0.9;
  row.record.ranks.resize(4);
  for (int r = 0; r < 4; ++r) row.record.ranks[std::size_t(r)].rank = r;
  for (int r = 0; r < lost; ++r) lose(row.record.ranks[std::size_t(r)], "crash", milliseconds(500));
  return row;
}

std::string cell_of(const Table& table, std::size_t row, const std::string& column) {
  return table.has(column) ? table.rows.at(row).at(table.place_of(column)).text : "no column";
}

bool has_note(const Table& table, const std::string& part) {
  const std::vector<std::string> notes = notes_of(table);
  return std::any_of(notes.begin(), notes.end(),
                     [&](const std::string& note) { return note.find(part) != std::string::npos; });
}

std::vector<std::string> fact_texts(const Table& table) { return notes_of(table, Note::Kind::kFact); }

TEST(FaultColumns, AreNotThereWithoutFaults) {
  const Table table = summarise(std::vector{faulty_row("hop", 0, -1, 100, 1)}, "hop")[0];
  EXPECT_EQ(cell_of(table, 0, "ranks lost"), "no column");
}

TEST(FaultColumns, TellTheCostAgainstTheSameTrialsWithoutFaults) {
  std::vector<TrialRow> rows;
  for (const std::uint32_t repeat : {0, 1}) {
    const double machine = 1 + repeat;
    rows.push_back(faulty_row("hop", repeat, -1, 100 * machine, 0.5));
    rows.push_back(faulty_row("allreduce", repeat, -1, 1000, 9));
    rows.push_back(faulty_row("hop", repeat, 1, 75 * machine, 1.0));
  }
  rows.push_back(faulty_row("allreduce", 0, 0, 0, 0));
  rows.back().record.status = TrialStatus::kFailed;
  const std::vector<Table> tables = summarise(rows, "hop");
  ASSERT_EQ(tables.size(), 2u);
  EXPECT_EQ(cell_of(tables[0], 0, "ranks lost"), "no column");
  EXPECT_EQ(tables[1].rows[0][0].text, "allreduce");
  EXPECT_EQ(cell_of(tables[1], 0, "ranks lost"), "-");
  EXPECT_EQ(cell_of(tables[1], 0, "against no faults"), "-");
  EXPECT_EQ(tables[1].rows[1][0].text, "hop");
  EXPECT_EQ(cell_of(tables[1], 1, "ranks lost"), "1");
  EXPECT_EQ(cell_of(tables[1], 1, "against no faults"), "rate 0.750x, a survivor 1.00x, loss +0.500");
  EXPECT_TRUE(has_note(tables[1], "rate: of the survivors (3 of 4 workers) over that of all"));
  EXPECT_FALSE(has_note(tables[1], "outside of the measured"));
}

TEST(FaultColumns, TellOfRatesThatSawNothingOfTheFault) {
  std::vector<TrialRow> rows = {faulty_row("hop", 0, -1, 100, 1), faulty_row("hop", 1, -1, 100, 1),
                                faulty_row("hop", 0, 2, 50, 1), faulty_row("hop", 1, 1, 75, 1)};
  lose(rows[2].record.ranks[1], "leave", milliseconds(205));
  EXPECT_TRUE(has_note(summarise(rows, "hop")[1],
                       "hop: the fault of rank 1 at 0.205 s is outside of the measured 0.4 .. 0.9 s (1 of 2 "));
  EXPECT_TRUE(has_note(summarise(rows, "hop")[1], "(2 of 4, 3 of 4 workers)"));
  lose(rows[2].record.ranks[1], "leave", milliseconds(950));
  EXPECT_TRUE(has_note(summarise(rows, "hop")[1], "the fault of rank 1 at 0.95 s is outside"));
}

TEST(FaultColumns, TellOfNoSurvivorsWhereAllAre) {
  const std::vector<TrialRow> rows = {faulty_row("hop", 0, -1, 100, 1), faulty_row("hop", 0, 0, 90, 0.75)};
  const Table table = summarise(rows, "hop")[1];
  EXPECT_EQ(cell_of(table, 0, "against no faults"), "rate 0.900x, loss -0.250");
  EXPECT_FALSE(has_note(table, "survivors"));
}

TEST(FaultColumns, TellOfNoLostRanksWhereNoneWas) {
  const std::vector<TrialRow> rows = {faulty_row("hop", 0, -1, 100, 1), faulty_row("hop", 0, 0, 90, 0.75)};
  const Table table = summarise(rows, "hop")[1];
  EXPECT_EQ(cell_of(table, 0, "ranks lost"), "no column");
  EXPECT_FALSE(has_note(table, "ranks lost"));
}

TEST(FaultColumns, TellOfNoLossWhereNothingIsLearnt) {
  std::vector<TrialRow> rows = {faulty_row("hop", 0, -1, 100, 0), faulty_row("hop", 0, 0, 90, 0)};
  for (TrialRow& row : rows) row.labels.learns = false;
  const Table table = summarise(rows, "hop")[1];
  EXPECT_EQ(cell_of(table, 0, "against no faults"), "rate 0.900x");
  EXPECT_FALSE(has_note(table, "loss: by how much"));
}

TEST(FaultColumns, TellOfALossThatDiverged) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<TrialRow> rows = {faulty_row("hop", 0, -1, 100, 1), faulty_row("hop", 0, 0, 90, nan)};
  EXPECT_EQ(cell_of(summarise(rows, "hop")[1], 0, "against no faults"), "rate 0.900x, loss diverged");
}

TEST(FaultColumns, TellTheTimeOfAMeasureOfConvergence) {
  std::vector<TrialRow> rows = {faulty_row("hop", 0, -1, 100, 1), faulty_row("hop", 0, 1, 80, 1.5)};
  for (TrialRow& row : rows) row.labels.what = "convergence";
  const Table table = summarise(rows, "hop")[1];
  EXPECT_EQ(cell_of(table, 0, "against no faults"), "time of the trial 1.25x, loss +0.500");
  EXPECT_FALSE(has_note(table, "not of equal work"));
  rows[1].record.curve[0].samples = 880;
  EXPECT_TRUE(has_note(summarise(rows, "hop")[1],
                       "time of the trial, loss: not of equal work: samples done against no faults: hop 0.880x"));
}

TEST(FaultColumns, TellOfLossesThatAreNotOfEqualWork) {
  std::vector<TrialRow> rows = {faulty_row("hop", 0, -1, 100, 1), faulty_row("hop", 0, 1, 80, 1.5)};
  EXPECT_FALSE(has_note(summarise(rows, "hop")[1], "not of equal work"));
  rows[1].record.curve[0].samples = 750;
  const Table table = summarise(rows, "hop")[1];
  EXPECT_EQ(fact_texts(table),
            std::vector<std::string>{"loss: not of equal work: samples done against no faults: hop 0.750x"});
}

TEST(FaultColumns, TellTheTimeToTheTargetWhereAllReachedIt) {
  std::vector<TrialRow> rows = {faulty_row("hop", 0, -1, 100, 1), faulty_row("hop", 0, 1, 80, 1.5)};
  for (TrialRow& row : rows) {
    row.labels.what = "convergence";
    row.labels.target_loss = 2;
    row.labels.target_hold = 1;
    row.record.curve.insert(row.record.curve.begin(), {"mean", Time(milliseconds(0)), 0, 0, 3, 0, 0});
  }
  rows[1].record.curve[1].samples = 500;
  const Table table = summarise(rows, "hop")[1];  // reached after 1/2 and 2/3 of the second
  EXPECT_EQ(cell_of(table, 0, "against no faults"), "time to target 1.33x, loss +0.500");
  EXPECT_EQ(fact_texts(table),
            std::vector<std::string>{"loss: not of equal work: samples done against no faults: hop 0.500x"});
  rows[1].record.curve[1].loss = 2.5;
  const Table never = summarise(rows, "hop")[1];
  EXPECT_EQ(cell_of(never, 0, "against no faults"), "time of the trial 1.25x, loss +1.50");
  EXPECT_TRUE(has_note(never, "samples done against no faults: hop 0.500x"));
}

TEST(FaultColumns, SayWhereThereIsNothingToCompareWith) {
  const Table table = summarise(std::vector{faulty_row("hop", 0, 2, 80, 1.5)}, "hop")[0];
  EXPECT_EQ(cell_of(table, 0, "ranks lost"), "2");
  EXPECT_EQ(cell_of(table, 0, "against no faults"), "-");
  const std::string note = "against no faults: no trial ended well that is the same but for its scenario's faults";
  EXPECT_TRUE(has_note(table, note));
}

TEST(FaultColumns, TellWhichFaultsNeverCame) {
  const Warning never(WarningKind::kFaultNeverCame, "crash of rank 2 at 100s: the trial was over before");
  std::vector<TrialRow> rows = {faulty_row("hop", 0, -1, 100, 1), faulty_row("hop", 0, 0, 100, 1),
                                faulty_row("hop", 1, 0, 100, 1)};
  for (TrialRow& row : rows) {
    if (row.labels.faults) row.record.warnings = {never};
  }
  const std::vector<Table> tables = summarise(rows, "hop");
  EXPECT_FALSE(has_note(tables[0], "never came"));
  EXPECT_EQ(cell_of(tables[1], 0, "marks"), "fault never came");
  EXPECT_EQ(fact_texts(tables[1]), std::vector<std::string>{"fault never came: " + never.text});
}

// Two workers of 10 ms an iteration, and a third that was lost.
TEST(Lost, AreNotInRatesAndGaps) {
  TrialRecord record;
  for (int r = 0; r < 3; ++r) {
    RankRecord& rank = record.ranks.emplace_back();
    rank.rank = r;
    const int iterations = r == 2 ? 3 : 40;
    for (int k = 0; k < iterations; ++k)
      rank.marks.push_back({.end = Time(milliseconds(10 * (k + 1))), .iter = k, .samples = 8});
    rank.finished = rank.marks.back().end;
    rank.waits["x"] = r == 2 ? milliseconds(30) : milliseconds(40);
  }
  record.ranks[2].lost = "leave";
  record.time_s = 0.4;
  fill_gaps(record, 3);
  fill_rates(record, 5, Duration{}, 3);
  EXPECT_NEAR(record.samples_per_s, 1600, 1e-6);
  EXPECT_NEAR(record.iters_per_s, 100, 1e-6);
  EXPECT_NEAR(record.wait_share, 0.1, 1e-9);
  EXPECT_EQ(record.ranks[0].gap_max, 0);
}

// The third worker is away from 100 to 250 ms, and returns with the iteration of the others.
TEST(Away, MakesNoGapAndIsInTheRate) {
  TrialRecord record;
  for (int r = 0; r < 3; ++r) {
    RankRecord& rank = record.ranks.emplace_back();
    rank.rank = r;
    for (int k = 0; k < 40; ++k) {
      if (r == 2 && k == 10) rank.marks.push_back({.end = Time(milliseconds(250)), .iter = 9});
      const bool missed = r == 2 && k >= 10 && k < 25;
      const Time end = missed ? Time(milliseconds(250)) : Time(milliseconds(10 * (k + 1)));
      rank.marks.push_back({.end = end, .iter = k, .samples = missed ? 0 : 8});
    }
    rank.finished = rank.marks.back().end;
  }
  record.time_s = 0.4;
  fill_gaps(record, 3);
  fill_rates(record, 5, Duration{}, 3);
  for (const RankRecord& rank : record.ranks) EXPECT_EQ(rank.gap_max, 0) << rank.rank;
  const double window = 0.35, iterations = 35 + 35 + 20;  // 50 to 400 ms
  EXPECT_NEAR(record.samples_per_s, 8 * iterations / window, 1e-6);

  // One that returns where it was is behind: the others' gap is to it, from then on.
  TrialRecord behind = record;
  std::vector<IterationMark>& marks = behind.ranks[2].marks;
  marks.erase(marks.begin() + 11, marks.begin() + 26);
  for (std::size_t i = 11; i < marks.size(); ++i) marks[i].iter = Iter(i) - 1;
  fill_gaps(behind, 3);
  EXPECT_EQ(behind.ranks[0].gap_max, 15);
  EXPECT_EQ(behind.ranks[2].gap_max, 0);
}

TEST(Lost, AreToldInTheTables) {
  TrialRow row = faulty_row("hop", 0, 1, 80, 1.5);
  row.record.first_lost_s = to_seconds(milliseconds(205));  // 0.20500000000000002
  const std::vector<std::vector<std::string>> trials = read_csv(trials_csv(std::vector{row}), "t"),
                                              ranks = read_csv(ranks_csv(std::vector{row}), "r");
  const auto cell = [](const std::vector<std::vector<std::string>>& table, const std::string& column) {
    const auto at = std::find(table[0].begin(), table[0].end(), column);
    return at == table[0].end() ? "no column" : table[1][std::size_t(at - table[0].begin())];
  };
  EXPECT_EQ(cell(trials, "ranks_lost"), "1");
  EXPECT_EQ(cell(trials, "first_lost_s"), "0.205");
  EXPECT_EQ(cell(ranks, "lost"), "crash");
  const auto whole = read_csv(trials_csv(std::vector{faulty_row("hop", 0, -1, 80, 1.5)}), "t");
  EXPECT_EQ(cell(whole, "ranks_lost"), "0");
  EXPECT_EQ(cell(whole, "first_lost_s"), "");
}

TEST(SummaryNotes, TellHowGpusWereUsed) {
  TrialRow row = faulty_row("hop", 0, -1, 100, 1);
  row.record.ranks = std::vector<RankRecord>(3);
  const auto notes = [&] { return notes_of(summarise(std::vector<TrialRow>{row}, "hop")[0]); };
  EXPECT_THAT(notes(), testing::Not(testing::Contains(testing::HasSubstr("GPU"))));
  for (RankRecord& rank : row.record.ranks) rank.gpu = "0000:3b:00.0";
  row.record.ranks[0].machine = "another";
  EXPECT_THAT(notes(),
              testing::Contains("up to 2 ranks shared a GPU, in turns: a rank's step holds parts of the others'"));
  EXPECT_THAT(notes(), testing::Not(testing::Contains(testing::HasSubstr("gpu_remarks"))));
  for (RankRecord& rank : row.record.ranks) rank.gpu_shared_well = true;
  row.record.ranks[1].gpu_fallbacks = 1;
  EXPECT_THAT(notes(), testing::Contains("up to 2 ranks shared a GPU, side by side (MPS)"));
  EXPECT_THAT(notes(), testing::Contains(testing::HasSubstr("gpu_remarks in host.csv")));
}

}  // namespace
}  // namespace hopbench
