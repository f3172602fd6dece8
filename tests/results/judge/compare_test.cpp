// Results held against results: what counts as a change, and what is refused. Of timed rows see gate_test.cpp.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>

#include "backends/base/error.h"
#include "results/files/csv.h"
#include "results/files/record_json.h"
#include "results/judge/compare.h"
#include "results/tables/drawing.h"
#include "tests/folder.h"
#include "tests/paths.h"

namespace hopbench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kContext = R"({"hopbench": {"compiler": "g++ 12", "flags": "-O3"},
  "machine": {"cpu": "A", "memory_bytes": 1000000000, "load": "0.1"}, "environment": {"OMP_NUM_THREADS": "1"}})";

TrialRow row_of(const std::string& variant, std::uint32_t repeat, double samples_per_s, bool virtual_time = false) {
  TrialRow row;
  row.labels.suite = "s";
  row.labels.measure = "rate";
  row.labels.what = "rate";
  row.labels.scenario = "one slow";
  row.labels.variant = variant;
  row.labels.protocol = "hop";
  row.labels.clock = virtual_time ? "virtual" : "real";
  row.labels.transport = virtual_time ? "sim" : "gloo";
  row.labels.batch = 32;
  row.labels.seed = 1;
  row.labels.repeat = repeat;
  row.record.id = variant + "/" + std::to_string(repeat);
  row.record.samples_per_s = samples_per_s;
  return row;
}

Results source_of(const std::vector<TrialRow>& rows, const std::string& context = kContext) {
  return {"source", outcomes_in_order(rows), context, ""};
}

std::vector<TrialRow> real(const std::vector<double>& rates) {
  std::vector<TrialRow> rows;
  for (const double rate : rates) rows.push_back(row_of("hop", std::uint32_t(rows.size()), rate));
  return rows;
}

Comparison only(const Results& base, const Results& head, const CompareOptions& options = {}) {
  const std::vector<Comparison> all = compare(base, head, options);
  EXPECT_EQ(all.size(), 1u);
  return all.at(0);
}

Verdict verdict_of(const std::vector<double>& base, const std::vector<double>& head) {
  return only(source_of(real(base)), source_of(real(head))).verdict;
}

TEST(Compare, RealTimesChangeBeyondChanceAndThreshold) {
  EXPECT_EQ(verdict_of({100, 101, 99, 100}, {90, 91, 89, 90}), Verdict::kRegression);
  EXPECT_EQ(verdict_of({100, 101, 99, 100}, {110, 112, 109, 110}), Verdict::kImprovement);
  EXPECT_EQ(verdict_of({100, 101, 99, 100}, {98, 99, 97, 98}), Verdict::kWithin) << "2 % is below the threshold";
  EXPECT_EQ(verdict_of({100, 130, 80, 100}, {90, 91, 89, 90}), Verdict::kInconclusive);
  EXPECT_EQ(verdict_of({100, 100}, {50, 50}), Verdict::kInsufficient);
}

TEST(Compare, CountsPairsOfOneSeedAndRepeat) {
  const Comparison row = only(source_of(real({100, 200, 400})), source_of(real({110, 220, 440, 999})));
  EXPECT_EQ(row.n, 3);
  EXPECT_DOUBLE_EQ(row.base, 200);
  EXPECT_DOUBLE_EQ(row.head, 220);
  EXPECT_NEAR(row.speed_up, 1.1, 1e-12);
  EXPECT_EQ(row.metric, "samples/s");
}

TEST(Compare, VirtualTimeIsEqualOrNot) {
  const auto verdict = [](double base, double head) {
    return only(source_of({row_of("hop", 0, base, true)}), source_of({row_of("hop", 0, head, true)})).verdict;
  };
  EXPECT_EQ(verdict(100, 100), Verdict::kNoChange);
  EXPECT_EQ(verdict(100, 99.9999), Verdict::kWithin);
  EXPECT_EQ(verdict(100, 98.1), Verdict::kWithin) << "1.9 % is below the threshold";
  EXPECT_EQ(verdict(100, 100.0001), Verdict::kWithin);
  EXPECT_EQ(verdict(100, 90), Verdict::kRegression);
  EXPECT_EQ(verdict(100, 110), Verdict::kImprovement);
}

TEST(Compare, NothingIsChanceInRatesOfVirtualTime) {
  const auto row = [](const std::vector<double>& head) {
    std::vector<TrialRow> before, after;
    for (const double rate : head) {
      before.push_back(row_of("hop", std::uint32_t(before.size()), 100, true));
      after.push_back(row_of("hop", std::uint32_t(after.size()), rate, true));
    }
    return only(source_of(before), source_of(after));
  };
  EXPECT_EQ(row({100, 100, 70}).verdict, Verdict::kRegression);
  EXPECT_FALSE(row({100, 100, 70}).interval);
  EXPECT_EQ(row({80, 130}).verdict, Verdict::kWithin);
  EXPECT_EQ(row({60, 130}).verdict, Verdict::kRegression);
  EXPECT_EQ(row({90, 91, 89}).verdict, Verdict::kRegression);
  const std::vector<Compared> heads{{"head", {row({100, 100, 70})}}};
  EXPECT_EQ(comparison_tables("base", heads)[0].rows[0][4], "0.888x (0.700 .. 1.00)");
}

// Ten pairs with two modes were a regression beside an interval with 1 in it, and below every --fail-above.
TEST(Compare, VerdictIntervalAndLimitAgree) {
  std::mt19937_64 random(1);
  std::map<Verdict, int> seen;
  for (int draw = 0; draw < 400; ++draw) {
    const double change = 0.8 + 0.1 * double(random() % 5), noise = draw % 4 == 0 ? 0.3 : 0.04;
    std::vector<double> base, head;
    for (int pair = 0; pair < 3 + draw % 8; ++pair) {
      base.push_back(random() % 2 == 0 ? 1000 : 1000 * (1 + noise));
      head.push_back(change * (random() % 2 == 0 ? 1000 : 1000 * (1 + noise)));
    }
    const Comparison row = only(source_of(real(base)), source_of(real(head)));
    const bool has_1 = row.interval->low <= 1 && row.interval->high >= 1;
    ++seen[row.verdict];
    EXPECT_EQ(row.verdict == Verdict::kRegression, slower_than(row, 0.05));
    if (row.verdict == Verdict::kRegression || row.verdict == Verdict::kImprovement) {
      EXPECT_FALSE(has_1);
    }
    if (row.verdict == Verdict::kWithin) {
      EXPECT_TRUE(row.interval->low >= 1 / 1.05 && row.interval->high <= 1.05);
    }
    if (row.verdict == Verdict::kNotSlower) {
      EXPECT_TRUE(row.interval->low >= 1 / 1.05 && row.interval->high > 1.05);
    }
  }
  for (const Verdict verdict :
       {Verdict::kRegression, Verdict::kImprovement, Verdict::kWithin, Verdict::kNotSlower, Verdict::kInconclusive}) {
    EXPECT_GT(seen[verdict], 0) << to_string(verdict);
  }
}

TEST(Compare, PairsThatAreLeftSayNothingOfThoseThatAreLost) {
  const Comparison row = only(source_of(real({100, 100, 100, 100})), source_of(real({200, 200, 200, 0})));
  EXPECT_EQ(row.verdict, Verdict::kRegression);
  EXPECT_FALSE(row.interval);
  EXPECT_TRUE(slower_than(row, 0.5));
}

TEST(Compare, SlowerThanALimitWantsNoChanceInRealTimeOnly) {
  const auto row = [](bool virtual_time, const std::vector<double>& head) {
    std::vector<TrialRow> before, after;
    for (const double rate : head) {
      before.push_back(row_of("hop", std::uint32_t(before.size()), 100, virtual_time));
      after.push_back(row_of("hop", std::uint32_t(after.size()), rate, virtual_time));
    }
    return only(source_of(before), source_of(after));
  };
  EXPECT_NEAR(slower_by(row(true, {80})), 0.25, 1e-12);
  EXPECT_EQ(slower_by(row(true, {120})), 0);
  EXPECT_TRUE(slower_than(row(true, {100, 100, 70}), 0.05));
  EXPECT_FALSE(slower_than(row(false, {100, 100, 70}), 0.05)) << "chance";
  EXPECT_FALSE(slower_than(row(false, {70, 70}), 0.05)) << "two pairs";
  EXPECT_TRUE(slower_than(row(false, {70, 71, 70}), 0.05));
  EXPECT_FALSE(slower_than(row(true, {96}), 0.05));
  EXPECT_FALSE(slower_than(row(true, {150}), 0));
}

TEST(Compare, RowsStandInTheOrderOfTheTables) {
  std::vector<TrialRow> rows;
  for (const char* variant : {"third", "first", "second"}) {  // as they ran
    rows.push_back(row_of(variant, 0, 100, true));
    rows.back().labels.order = int(rows.size());
    rows.back().labels.row_order = *variant == 't' ? 3 : *variant == 'f' ? 1 : 2;
  }
  std::vector<std::string> variants;
  for (const Comparison& row : compare(source_of(rows), source_of(rows), {})) variants.push_back(row.variant);
  EXPECT_THAT(variants, ElementsAre("first", "second", "third"));
}

TEST(Compare, RefusesOtherKnobsWhereBothAreRecorded) {
  const auto with_knobs = [](const char* knobs) {
    TrialRow row = row_of("mine", 0, 100, true);
    row.labels.knobs = knobs;
    return source_of({row});
  };
  const Comparison refused = only(with_knobs("period=3"), with_knobs("period=4"));
  EXPECT_EQ(refused.verdict, Verdict::kIncomparable);
  EXPECT_EQ(refused.note, "knobs: period=3; period=4");
  EXPECT_EQ(only(with_knobs(""), with_knobs("period=4")).verdict, Verdict::kNoChange) << "an old table";
}

TEST(Compare, SaysHowManyRowsAndWhyNotTheOthers) {
  TrialRow other = row_of("dpsgd", 0, 100, true), base = other;
  other.labels.batch = 64;
  const TrialRow same = row_of("hop", 0, 100, true), gone = row_of("adpsgd", 0, 100, true);
  const std::vector<Compared> heads{{"head", compare(source_of({same, base, gone}), source_of({same, other}), {})}};
  EXPECT_EQ(coverage_text(heads),
            "compared 1 of 3 rows\n"
            "1 row not compared, batch: 32; 64: s / rate / one slow / dpsgd\n"
            "1 row not compared, missing in head: s / rate / one slow / adpsgd\n");
}

TEST(Compare, VirtualTimeDoesNotDependOnTheMachine) {
  const std::vector<TrialRow> rows{row_of("hop", 0, 100, true)};
  EXPECT_EQ(only(source_of(rows), source_of(rows, R"({"machine": {"cpu": "B"}})")).verdict, Verdict::kNoChange);
}

TEST(Compare, RefusesOtherMachinesUnlessTold) {
  const std::string other = R"({"hopbench": {"compiler": "g++ 12", "flags": "-O3"},
    "machine": {"cpu": "B", "memory_bytes": 1010000000, "load": "9"}, "environment": {"OMP_NUM_THREADS": "1"}})";
  const Results base = source_of(real({1, 1, 1})), head = source_of(real({1, 1, 1}), other);
  const Comparison refused = only(base, head);
  EXPECT_EQ(refused.verdict, Verdict::kIncomparable);
  EXPECT_EQ(refused.note, "cpu: A; B");
  EXPECT_EQ(refused.n, 0);
  EXPECT_EQ(only(base, head, {.any_context = true}).verdict, Verdict::kNoChange);
  EXPECT_THAT(
      context_differences(R"({"hopbench": {"flags": "-O3 -Wall -Werror"}})", R"({"hopbench": {"flags": "-O3"}})"),
      IsEmpty());
  EXPECT_THAT(context_differences("", kContext), ElementsAre(HasSubstr("not recorded")));
  EXPECT_THAT(context_differences(kContext, kContext), IsEmpty());
}

TEST(Compare, RefusesOtherSettings) {
  std::vector<TrialRow> other = real({1, 1, 1});
  for (TrialRow& row : other) row.labels.batch = 64;
  const Comparison row = only(source_of(real({1, 1, 1})), source_of(other));
  EXPECT_EQ(row.verdict, Verdict::kIncomparable);
  EXPECT_EQ(row.note, "batch: 32; 64");
}

TEST(Compare, TellsWhatIsMissingNewAndFailed) {
  std::vector<TrialRow> head = real({1, 1, 1});
  head.push_back(row_of("dpsgd", 0, 1));
  head[1].record.status = TrialStatus::kFailed;
  head[1].record.failure = {FailureKind::kError, -1, "rank 3 died"};
  const Results base =
      source_of({row_of("adpsgd", 0, 1), row_of("hop", 0, 1), row_of("hop", 1, 1), row_of("hop", 2, 1)});
  const std::vector<Comparison> rows = compare(base, source_of(head), {});
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].variant, "adpsgd");
  EXPECT_EQ(rows[0].verdict, Verdict::kMissing);
  EXPECT_EQ(rows[1].verdict, Verdict::kFailed);
  EXPECT_THAT(rows[1].note, HasSubstr("rank 3 died"));
  EXPECT_EQ(rows[2].verdict, Verdict::kNew);
}

TrialRow learning(std::uint32_t repeat, double seconds, double last_loss) {
  TrialRow row = row_of("hop", repeat, 100, true);
  row.labels.what = "convergence";
  row.labels.target_loss = 0.5;
  row.labels.target_hold = 1;
  const auto at = [](double s) { return Time{} + std::chrono::milliseconds(int(1000 * s)); };
  row.record.curve = {{"mean", at(0), 0, 0, 1.0, 0, 0}, {"mean", at(seconds), 9, 90, last_loss, 0, 0}};
  return row;
}

TEST(Compare, TimeToTargetIsBetterWhereItIsLess) {
  std::vector<TrialRow> base, head;
  for (std::uint32_t repeat = 0; repeat < 3; ++repeat) {
    base.push_back(learning(repeat, 10 + 0.01 * repeat, 0));
    head.push_back(learning(repeat, 8, 0));
  }
  const Comparison row = only(source_of(base), source_of(head));
  EXPECT_EQ(row.metric, "time to target, s");
  EXPECT_NEAR(row.base, 5, 0.01);
  EXPECT_DOUBLE_EQ(row.head, 4);
  EXPECT_NEAR(row.speed_up, 1.25, 0.01);
  EXPECT_EQ(row.verdict, Verdict::kImprovement);
}

TEST(Compare, OneSeedSaysNothingOfHowFastItLearns) {
  EXPECT_EQ(only(source_of({learning(0, 10, 0)}), source_of({learning(0, 8, 0)})).verdict, Verdict::kInsufficient);
  EXPECT_FALSE(slower_than(only(source_of({learning(0, 8, 0)}), source_of({learning(0, 10, 0)})), 0.05));
  EXPECT_EQ(only(source_of({learning(0, 10, 0)}), source_of({learning(0, 10, 0)})).verdict, Verdict::kNoChange);
}

TEST(Compare, ATargetThatIsReachedNoMoreIsARegression) {
  const Results base = source_of({learning(0, 10, 0), learning(1, 10, 0)});
  const Results head = source_of({learning(0, 1, 0), learning(1, 10, 0.9)});
  const Comparison row = only(base, head);
  EXPECT_EQ(row.verdict, Verdict::kRegression);
  EXPECT_EQ(row.note, "base alone reached the target 1 times, head alone 0 times");
  EXPECT_THAT(why_slower(row, 1), ElementsAre("no longer reaches its target"));
}

TEST(Compare, ALossThatIsNotFiniteIsNone) {
  const auto final_loss = [](double loss) {
    TrialRow row = learning(0, 10, loss);
    row.labels.target_loss = 0;
    return source_of({row});
  };
  const Comparison row = only(final_loss(0.25), final_loss(1 / 0.0));
  EXPECT_EQ(row.metric, "final loss");
  EXPECT_EQ(row.verdict, Verdict::kRegression);
  EXPECT_EQ(row.note, "base alone has a finite loss 1 times, head alone 0 times");
  EXPECT_THAT(why_slower(row, 1), ElementsAre("has no finite loss any more"));
}

// A rate of 0 is none: it was left out of the pairs, and the row passed.
TEST(Compare, ARateThatIsThereNoMoreIsARegression) {
  for (const bool virtual_time : {false, true}) {
    const auto rows = [&](const std::vector<double>& rates) {
      std::vector<TrialRow> all;
      for (const double rate : rates) all.push_back(row_of("hop", std::uint32_t(all.size()), rate, virtual_time));
      return source_of(all);
    };
    const Comparison all = only(rows({100, 101, 99}), rows({0, 0, 0})),
                     one = only(rows({100, 101, 99}), rows({100, 101, 0}));
    EXPECT_EQ(all.verdict, Verdict::kRegression);
    EXPECT_EQ(all.lost, 3);
    EXPECT_EQ(one.verdict, Verdict::kRegression);
    EXPECT_TRUE(slower_than(all, 0.5) && slower_than(one, 0.5));
    EXPECT_EQ(one.note, "base alone has a rate above 0 1 times, head alone 0 times");
    EXPECT_EQ(only(rows({0, 100}), rows({100, 100})).verdict, Verdict::kImprovement);
  }
}

// A missing trial may be the slower one.
TEST(Compare, SaysWhichTrialsHeadLacks) {
  const Results all = source_of(real({100, 101, 99})), one = source_of(real({100}));
  const Comparison lacking = only(all, one), more = only(one, all);
  const std::string missing = "head lacks 2 trials that base has: hop/1, hop/2";
  EXPECT_EQ(lacking.note, missing);
  EXPECT_THAT(why_slower(lacking, 1), ElementsAre(missing));
  EXPECT_TRUE(slower_than(lacking, 1));
  EXPECT_EQ(more.note, "");
  EXPECT_FALSE(slower_than(more, 0));
}

TEST(Compare, TableHasARowForEachVariantAndColumnsForEachHead) {
  const Results base = source_of(real({100, 100, 100})), slower = source_of(real({50, 50, 50}));
  const std::vector<Compared> heads{{"same", compare(base, base, {})}, {"slower", compare(base, slower, {})}};
  const std::vector<Table> tables = comparison_tables("base", heads);
  ASSERT_EQ(tables.size(), 1u);
  EXPECT_EQ(tables[0].title, "s / rate / one slow");
  EXPECT_THAT(texts_of(tables[0]),
              ElementsAre(ElementsAre("variant", "metric", "base", "same", "speed-up", "n", "verdict", "slower",
                                      "speed-up", "n", "verdict"),
                          ElementsAre("hop", "samples/s", "100.0", "100.0", "1.00x [1.00, 1.00]", "3", "no-change",
                                      "50.00", "0.500x [0.500, 0.500]", "3", "regression")));
  EXPECT_THAT(comparison_csv(heads),
              HasSubstr("s,rate,one slow,hop,slower,samples/s,regression,3,100,50,0.5,0.5,0.5,\n"));
}

// --- Sources
TEST(Sources, AreFoldersDocumentsTablesAndBaselines) {
  const Folder folder;
  const std::vector<TrialRow> rows = real({100, 101, 99});
  RunFolder run = RunFolder::create(folder / "run", "schema = 1\n", kContext);
  for (const TrialRow& row : rows) run.add(row);
  run.write_tables();
  std::ofstream(folder / "run.json") << run_to_json(rows, kContext);
  std::filesystem::create_directories(folder / "published");
  std::filesystem::copy(folder / "run/trials.csv", folder / "published");
  std::filesystem::create_directories(folder / "baselines");
  std::filesystem::copy(folder / "run", folder / "baselines/kept", std::filesystem::copy_options::recursive);

  const std::string baselines = folder / "baselines";
  for (const std::string& what : {folder / "run", folder / "run.json", std::string("kept")}) {
    const Results source = load_results(what, baselines);
    EXPECT_EQ(source.name, what);
    EXPECT_EQ(source.outcomes.size(), 3u) << what;
    EXPECT_EQ(source.outcomes.at(1).number("samples_per_s"), 101) << what;
    EXPECT_THAT(context_differences(source.context, kContext), IsEmpty()) << what;
  }
  for (const std::string& what : {folder / "published", folder / "run/trials.csv"}) {
    const Results source = load_results(what, baselines);
    EXPECT_EQ(source.outcomes.at(2).number("samples_per_s"), 99) << what;
    EXPECT_EQ(source.context, "") << what;
  }
}

// Tables of schema 1.0 must stay readable, and comparable with themselves.
TEST(Sources, TheFirstPublishedTablesAreReadStill) {
  const Results first = load_results(source_dir() + "/tests/data/published_schema_1.0", "");
  EXPECT_EQ(first.outcomes.size(), 84u);
  EXPECT_EQ(first.outcomes.at(0).text("suite"), "cnn_hetero");
  EXPECT_TRUE(first.outcomes.at(0).number("samples_per_s").has_value());
  EXPECT_FALSE(first.outcomes.at(0).number("gap_bound").has_value()) << "a column that came later";
  const std::vector<Comparison> rows = compare(first, first, {.threshold = 0.05, .any_context = true});
  EXPECT_EQ(rows.size(), 28u);
  for (const Comparison& row : rows) EXPECT_EQ(row.verdict, Verdict::kNoChange) << row.scenario << " " << row.variant;
}

TEST(Sources, SayWhatIsWrong) {
  const Folder folder;
  const auto error_of = [&](const std::string& name) {
    try {
      load_results(folder / name, folder / "baselines");
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::kUsage);
      return std::string(error.what());
    }
    return std::string("none");
  };
  EXPECT_THAT(error_of("nowhere"), HasSubstr("neither a folder, a file nor a baseline"));
  std::ofstream(folder / "a.csv") << "trial,scenario\n1,2\n";
  EXPECT_THAT(error_of("a.csv"), HasSubstr("no column 'variant'"));
  std::ofstream(folder / "b.csv") << "trial,scenario,variant,measure,status,clock\n1,2,3\n";
  EXPECT_THAT(error_of("b.csv"), HasSubstr("b.csv: row 1: it has 3 fields, the head 6: take the table"));
  std::ofstream(folder / "c.csv") << "trial,\"scen";
  EXPECT_THAT(error_of("c.csv"), HasSubstr("a quote never ends"));
  std::ofstream(folder / "d.json") << "[]";
  EXPECT_THAT(error_of("d.json"), HasSubstr("not a result of run --json"));
  std::ofstream(folder / "g.csv") << "trial,scenario,variant,measure,status,clock,time_s\na,b,c,d,ok,real,1\n"
                                  << "e,b,c,d,failed,real,inf\nf,b,c,d,ok,real,inf\n";
  EXPECT_THAT(error_of("g.csv"), HasSubstr("g.csv: row 3: its 'time_s' is inf: take the table from the run again"));
  TrialRow infinite = row_of("hop", 0, 1);
  infinite.record.time_s = 1 / 0.0;
  std::ofstream(folder / "h.json") << run_to_json(std::vector{infinite}, "{}");
  EXPECT_THAT(error_of("h.json"), HasSubstr("h.json: trial hop/0 cannot be compared: its 'time_s' is inf"));
  const std::string head = "trial,scenario,variant,measure,status,clock,reason\n";
  std::ofstream(folder / "f.csv") << head << "a,b,\"c\x1b\nd\",e,ok,real,\"free\n\x1b text\"\n";
  EXPECT_THAT(error_of("f.csv"),
              HasSubstr("f.csv: row 1: 'variant' is 'c\\u001b\\nd', and no name has control characters"));
  std::ofstream(folder / "e.csv") << trials_csv({});
  EXPECT_THAT(error_of("e.csv"), HasSubstr("has no trials"));
}

TEST(Sources, ThatArePipesAreRefused) {
  const Folder folder;
  RunFolder::create(folder.path() + "/run", "", "{}");
  const std::string trials = folder.path() + "/run/trials.jsonl";
  std::filesystem::remove(trials);
  ASSERT_EQ(::mkfifo(trials.c_str(), 0600), 0);
  try {
    load_results(folder.path() + "/run", "baselines");
    ADD_FAILURE() << "was read";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("trials.jsonl is not a file"));
  }
}

TEST(Csv, ReadsWhatItWrites) {
  const std::vector<std::string> fields{"a", "", "with, comma", "with \"quotes\"", "two\nlines", "\""};
  std::string text;
  for (std::size_t i = 0; i < fields.size(); ++i) text += (i > 0 ? "," : "") + csv_field(fields[i]);
  EXPECT_THAT(read_csv(text + "\n" + text + "\r\n", "x"), ElementsAre(fields, fields));
  EXPECT_THAT(read_csv("a,\n", "x"), ElementsAre(ElementsAre("a", "")));
  EXPECT_THAT(read_csv("", "x"), IsEmpty());
}

}  // namespace
}  // namespace hopbench
