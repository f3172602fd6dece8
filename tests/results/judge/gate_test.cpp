// The regression gate: virtual time is exact, and a baseline does not change in silence.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "results/files/record_json.h"
#include "results/judge/baseline.h"
#include "results/judge/exact.h"
#include "results/judge/gate.h"
#include "tests/folder.h"
#include "tests/results/results_samples.h"

namespace hopbench {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

TrialRow virtual_row(const std::string& variant = "hop") {
  TrialRow row = full_row(variant);
  row.record.status = TrialStatus::kOk;
  row.record.wait_share = 0.5;
  row.record.iters_per_s = 2;
  return row;
}

/// A run's folder with these rows and their event logs.
RunFolder run_of(const Folder& folder, const std::string& name, const std::vector<TrialRow>& rows) {
  RunFolder run = RunFolder::create(folder / name, "schema = 1\n", "{}");
  for (const TrialRow& row : rows) {
    run.add(row);
    std::ofstream(run.event_log(row.record.id), std::ios::binary) << event_log_head(row.record.id);
  }
  run.write_tables();
  return run;
}

GateRow only(const TrialRow& base, const TrialRow& head) {
  const Folder folder;
  const std::vector<GateRow> rows = compare_exact(run_of(folder, "base", {base}), run_of(folder, "head", {head}));
  EXPECT_EQ(rows.size(), 1u);
  return rows.at(0);
}

// --- T0

TEST(Exact, EqualRunsAreEqualWhateverTheHostDid) {
  TrialRow head = virtual_row();
  head.record.wall_s *= 2;
  head.record.cpu_s *= 2;
  head.record.max_rss_bytes *= 2;
  head.record.ranks[0].cpu_wait_s *= 2;
  head.record.failure.text = "in other words";
  for (Warning& warning : head.record.warnings) warning.text = "in other words";
  const GateRow row = only(virtual_row(), head);
  EXPECT_EQ(row.verdict, Verdict::kNoChange);
  EXPECT_THAT(row.notes, IsEmpty());
}

TEST(Exact, EveryNumberOfARankCounts) {
  const std::vector<std::function<void(TrialRecord&)>> changes{
      [](TrialRecord& r) { r.time_s = std::nextafter(r.time_s, 0); },
      [](TrialRecord& r) { r.ranks[0].messages_sent += 1; },
      [](TrialRecord& r) { r.ranks[0].bytes_sent -= 1; },
      [](TrialRecord& r) { r.ranks[0].waits["parameters"] += Duration{1}; },
      [](TrialRecord& r) { r.ranks[0].gap_max += 1; },
      [](TrialRecord& r) { r.ranks[0].staleness_mean *= 2; },
      [](TrialRecord& r) { r.params_hash = "other"; },
      [](TrialRecord& r) { r.curve[1].loss = 0.25; },
      [](TrialRecord& r) { r.warnings.clear(); },
      [](TrialRecord& r) { r.warnings[0].kind = WarningKind::kDiverged; },
      [](TrialRecord& r) { r.failure.kind = FailureKind::kKilled; },
      [](TrialRecord& r) { r.failure.rank += 1; }};
  for (const auto& change : changes) {
    TrialRow head = virtual_row();
    change(head.record);
    const GateRow row = only(virtual_row(), head);
    EXPECT_NE(row.verdict, Verdict::kNoChange);
    EXPECT_THAT(row.notes, Not(IsEmpty()));
  }
}

TEST(Exact, TellsTheDirectionAndThePlace) {
  TrialRow faster = virtual_row(), slower = virtual_row();
  faster.record.time_s -= 0.1;
  slower.record.time_s += 0.1;
  slower.record.ranks[0].messages_sent = 23;
  EXPECT_EQ(only(virtual_row(), faster).verdict, Verdict::kImprovement);
  const GateRow row = only(virtual_row(), slower);
  EXPECT_EQ(row.verdict, Verdict::kRegression);
  EXPECT_THAT(row.notes, testing::Contains("ranks[0].messages_sent: base 22, head 23"));
}

TEST(Exact, ValuesCountOnTheReferenceBackendOnly) {
  TrialRow base = virtual_row(), head = virtual_row();
  base.labels.backend = head.labels.backend = "onednn";
  head.record.params_hash = "other";
  head.record.curve[1].loss = 0.25;
  EXPECT_EQ(only(base, head).verdict, Verdict::kNoChange);
}

TEST(Exact, OtherSettingsAndFailuresAreNoComparison) {
  TrialRow other = virtual_row(), failed = virtual_row();
  other.record.hash = "fedcba9876543210";
  failed.record.status = TrialStatus::kFailed;
  failed.record.failure = {FailureKind::kError, -1, "rank 1 died"};
  EXPECT_EQ(only(virtual_row(), other).verdict, Verdict::kIncomparable);
  EXPECT_EQ(only(virtual_row(), failed).verdict, Verdict::kFailed);
}

TEST(Exact, RowsOfOneSideAreMissingOrNew) {
  const Folder folder;
  const RunFolder base = run_of(folder, "base", {virtual_row("a"), virtual_row("b")});
  const RunFolder head = run_of(folder, "head", {virtual_row("b"), virtual_row("c")});
  std::vector<Verdict> verdicts;
  for (const GateRow& row : compare_exact(base, head)) verdicts.push_back(row.verdict);
  EXPECT_THAT(verdicts, ElementsAre(Verdict::kMissing, Verdict::kNoChange, Verdict::kNew));
}

TEST(Exact, FirstDifferingEventIsToldInWords) {
  const Folder folder;
  const std::string head = "{\"schema_version\":\"1.0\",\"trial\":\"x\"}\n",
                    same = R"({"t":5,"rank":0,"what":"enter","iter":1})";
  folder.write("a", head + same + "\n" +
                        R"({"t":2500000000,"rank":3,"what":"wait","iter":7,"since":1000000000,"text":"token"})" + "\n");
  folder.write("b", head + same + "\n" +
                        R"({"t":2500000000,"rank":3,"what":"send","iter":7,"peer":2,"kind":1,"text":"params"})" + "\n");
  folder.write("c", head + same + "\n");
  EXPECT_EQ(first_difference(folder / "a", folder / "a"), "");
  EXPECT_EQ(
      first_difference(folder / "a", folder / "b"),
      "base at 2.5 s rank 3 in iteration 7: wait 'token' since 1 s; head at 2.5 s rank 3 in iteration 7: send 'params' "
      "kind 1 peer 2");
  EXPECT_THAT(first_difference(folder / "a", folder / "c"), HasSubstr("head the log ends"));
  folder.write("server", head + same + "\n" + R"({"t":3,"rank":4,"what":"send","iter":-1})" + "\n");
  EXPECT_THAT(first_difference(folder / "a", folder / "server"), HasSubstr("rank 4: send"));
  EXPECT_EQ(first_difference(folder / "a", folder / "nowhere"), "");
  folder.write("old", "{\"schema_version\":\"1.0\",\"trial\":\"x\"}\n" + same + "\n");
  folder.write("new", "{\"schema_version\":\"1.1\",\"trial\":\"x\"}\n" + same + "\n");
  EXPECT_EQ(first_difference(folder / "old", folder / "new"), "") << "schemas are no event";
}

TEST(Exact, RowsOfSchema10AreNotComparedOnTheIdealThatTheyDoNotHave) {
  TrialRow old = virtual_row(), today = virtual_row();
  old.record.window_ideal_samples_per_s = -1;
  today.record.window_ideal_samples_per_s = 400;
  EXPECT_EQ(only(old, today).verdict, Verdict::kNoChange);
  EXPECT_EQ(only(today, old).verdict, Verdict::kRegression);
  TrialRow other = today;
  other.record.window_ideal_samples_per_s = 399;
  EXPECT_EQ(only(today, other).verdict, Verdict::kRegression);
}

// --- Baselines

TEST(Baselines, KeepARunAndTellOfIt) {
  const Folder folder;
  RunFolder run = run_of(folder, "run", {virtual_row()});
  save_baseline(folder / "baselines", "main", run, "");
  const std::vector<Baseline> all = list_baselines(folder / "baselines");
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].name, "main");
  EXPECT_EQ(all[0].trials, 1u);
  EXPECT_EQ(all[0].history.size(), 1u);
  const RunFolder kept = RunFolder::open(folder / "baselines/main");
  EXPECT_THAT(kept.rows().at(0).record.ranks.at(0).marks, IsEmpty());
  const std::string id = run.rows()[0].record.id;
  EXPECT_EQ(first_difference(kept.event_log(id) + ".gz", run.event_log(id)), "") << "the log is kept, compressed";
  remove_baseline(folder / "baselines", "main");
  EXPECT_THAT(list_baselines(folder / "baselines"), IsEmpty());
}

TEST(Baselines, ChangedExactRowsWantAReason) {
  const Folder folder;
  TrialRow changed = virtual_row();
  changed.record.ranks[0].messages_sent += 1;
  const RunFolder before = run_of(folder, "before", {virtual_row()}), after = run_of(folder, "after", {changed});
  save_baseline(folder / "baselines", "main", before, "");
  save_baseline(folder / "baselines", "main", before, "");  // nothing changes: nothing to explain
  EXPECT_THROW(save_baseline(folder / "baselines", "main", after, ""), Error);
  EXPECT_EQ(RunFolder::open(folder / "baselines/main").rows()[0].record.ranks[0].messages_sent, 22);
  save_baseline(folder / "baselines", "main", after, "one message more");
  const Baseline kept = read_baseline(folder / "baselines", "main");
  ASSERT_EQ(kept.history.size(), 2u) << "a save that changes nothing is not a history";
  EXPECT_EQ(kept.history[1].reason, "one message more");
  EXPECT_THAT(kept.history[1].changed, ElementsAre(changed.record.id));
}

TEST(Baselines, KeepNothingThatCannotBeCompared) {
  const Folder folder;
  const auto said = [&](const std::function<void(TrialRecord&)>& change) -> std::string {
    TrialRow row = virtual_row();
    change(row.record);
    std::filesystem::remove_all(folder / "run");
    try {
      save_baseline(folder / "baselines", "main", run_of(folder, "run", {row}), "why not");
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::kUsage);
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(said([](TrialRecord&) {}), "");
  EXPECT_THAT(said([](TrialRecord& r) { r.samples_per_s = kNone; }), HasSubstr("its 'samples_per_s' is nan"));
  EXPECT_THAT(said([](TrialRecord& r) { r.time_s = 1 / 0.0; }), HasSubstr("its 'time_s' is inf"));
  for (const char* id : {"../../../../x", "a//b", "a/./b", "/a", "a/b/", "a\nb", ""})
    EXPECT_THAT(said([&](TrialRecord& r) { r.id = id; }), HasSubstr("its id is not an id of hopbench")) << id;
  run_of(folder, "cut", {virtual_row("a"), virtual_row("b")});
  const std::string trials = text_of(folder / "cut/trials.jsonl");
  folder.write("cut/trials.jsonl", trials.substr(0, trials.size() - 9));
  EXPECT_THROW(save_baseline(folder / "baselines", "main", RunFolder::open(folder / "cut"), "why not"), Error);
  EXPECT_EQ(read_baseline(folder / "baselines", "main").history.size(), 1u);
}

TEST(Baselines, KeepNoEventLogThatIsNotWhole) {
  const Folder folder;
  TrialRow row = virtual_row();
  row.record.ranks[0].lost.clear();  // rank 3 finished
  const RunFolder run = run_of(folder, "run", {row});
  const std::string log = run.event_log(row.record.id), head = event_log_head(row.record.id),
                    begin = "{\"t\":5,\"rank\":3,\"what\":\"enter\"}\n",
                    end = "{\"t\":9,\"rank\":3,\"what\":\"finished\"}\n";
  const auto saved = [&](const std::string& name, const RunFolder& what) -> std::string {
    try {
      save_baseline(folder / "baselines", name, what, "");
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::kUsage);
      EXPECT_THAT(error.what(), AllOf(HasSubstr("cannot be kept: "), HasSubstr("(take its line out of ")));
      return error.what();
    }
    return "";
  };
  const auto said = [&](const std::string& text) {
    std::ofstream(log, std::ios::binary) << text;
    return saved("main", run);
  };
  EXPECT_THAT(said("garbage\n" + end), HasSubstr(".jsonl:1: damaged: no head of an event log"));
  EXPECT_THAT(said(event_log_head("x") + end), HasSubstr(".jsonl:1: the log is of trial x"));
  EXPECT_THAT(said(head + "garbage\n" + end), HasSubstr(".jsonl:2: damaged: "));
  EXPECT_THAT(said(head + begin + end.substr(0, 9)), HasSubstr(".jsonl:3: damaged: "));
  EXPECT_THAT(said(head + begin), HasSubstr("the log ends early: the end of rank 3 is not in it: run the trial again"));
  std::filesystem::remove(log);
  EXPECT_THAT(saved("main", run), HasSubstr(".jsonl is not there: run the trial again"));
  EXPECT_FALSE(std::filesystem::exists(folder / "baselines/main"));
  EXPECT_EQ(said(head + begin + end), "");
  EXPECT_EQ(saved("copy", RunFolder::open(folder / "baselines/main")), "") << "its logs are compressed";
  EXPECT_EQ(first_difference(RunFolder::open(folder / "baselines/copy").event_log(row.record.id) + ".gz", log), "");
  row.record.path.clear();  // run without events
  const RunFolder silent = run_of(folder, "silent", {row});
  std::filesystem::remove(silent.event_log(row.record.id));
  EXPECT_EQ(saved("silent", silent), "");
}

TEST(Baselines, LoseNothingOfTheUsers) {
  const Folder folder;
  const RunFolder run = run_of(folder, "run", {virtual_row()});
  save_baseline(folder / "baselines", "main", run, "");
  folder.write("baselines/main/NOTES.md", "mine");
  EXPECT_THROW(save_baseline(folder / "baselines", "main", run, ""), Error);
  EXPECT_THROW(remove_baseline(folder / "baselines", "main"), Error);
  EXPECT_EQ(text_of(folder / "baselines/main/NOTES.md"), "mine");
  std::filesystem::remove(folder / "baselines/main/NOTES.md");
  for (const char* mine : {"baselines/main/events/notes.txt", "baselines/main/events/n.jsonl.gz"}) {
    folder.write(mine, "mine");
    EXPECT_THROW(save_baseline(folder / "baselines", "main", run, ""), Error);
    EXPECT_THROW(remove_baseline(folder / "baselines", "main"), Error);
    EXPECT_EQ(text_of(folder / mine), "mine");
    std::filesystem::remove(folder / mine);
  }
  save_baseline(folder / "baselines", "main", run, "");
  EXPECT_EQ(text_of(folder / "baselines/main/trials.csv"), text_of(folder / "run/trials.csv"));
}

TEST(Baselines, RefuseWhatIsNone) {
  const Folder folder;
  TrialRow failed = virtual_row();
  failed.record.status = TrialStatus::kFailed;
  EXPECT_THROW(save_baseline(folder / "baselines", "main", run_of(folder, "failed", {failed}), ""), Error);
  const RunFolder run = run_of(folder, "run", {virtual_row()});
  for (const char* name : {"", "a/b", "..", ".a", "a b"}) {
    EXPECT_THROW(save_baseline(folder / "baselines", name, run, ""), Error) << name;
  }
  folder.write("baselines/other/file", "x");
  EXPECT_THROW(remove_baseline(folder / "baselines", "other"), Error);
  EXPECT_THROW(remove_baseline(folder / "baselines", "none"), Error);
  EXPECT_EQ(text_of(folder / "baselines/other/file"), "x");
}

TEST(Baselines, AreDamagedOrMissing) {
  const Folder folder;
  save_baseline(folder / "baselines", "main", run_of(folder, "run", {virtual_row()}), "");
  const auto said = [&](const char* name) -> std::string {
    try {
      read_baseline(folder / "baselines", name);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::kUsage);
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(said("main"), "");
  EXPECT_THAT(said("none"), HasSubstr("none is not a baseline: there is no baseline.json in it"));
  for (const char* text : {"", "{\"history\": [", "[]", "{}", "{\"history\": []}", "{\"history\": [{\"time\": 1}]}"}) {
    folder.write("baselines/main/baseline.json", text);
    EXPECT_THAT(said("main"), AllOf(HasSubstr("main/baseline.json is damaged: "), HasSubstr(": restore it, or ")))
        << text;
  }
}

// --- What a gate says

GateRow gate_row(Verdict verdict, const std::string& metric = "time_s") {
  return {"a <trial>", metric, verdict, 9, 1.0, 2.0, 0.5, Interval{0.4, 0.6}, {"a \"note\" & more"}};
}

TEST(GateExit, FollowsTheWorstRow) {
  const auto code = [](std::vector<GateRow> rows, bool strict) {
    return gate_exit(GateResult{"timed", "base", "head", std::move(rows), {}}, strict);
  };
  const GateRow good = gate_row(Verdict::kNoChange);
  EXPECT_EQ(code({good, gate_row(Verdict::kImprovement), gate_row(Verdict::kNew)}, true), ExitCode::kOk);
  for (const Verdict bad : {Verdict::kRegression, Verdict::kMissing, Verdict::kFailed}) {
    EXPECT_EQ(code({good, gate_row(bad), gate_row(Verdict::kInconclusive)}, false), ExitCode::kRegression);
  }
  for (const Verdict open : {Verdict::kInconclusive, Verdict::kInsufficient}) {
    EXPECT_EQ(code({good, gate_row(open)}, true), ExitCode::kInconclusive);
    EXPECT_EQ(code({good, gate_row(open)}, false), ExitCode::kOk);
  }
  EXPECT_EQ(code({good, gate_row(Verdict::kIncomparable)}, true), ExitCode::kNoBaseline);
  EXPECT_EQ(code({good, gate_row(Verdict::kIncomparable)}, false), ExitCode::kOk);
  EXPECT_EQ(code({}, true), ExitCode::kNoBaseline) << "a gate that looked at nothing does not pass";
  EXPECT_EQ(code({gate_row(Verdict::kNew)}, true), ExitCode::kNoBaseline);
}

TEST(GateExit, AnImprovementInVirtualTimeIsAChange) {
  const GateResult result{"exact", "base", "head", {gate_row(Verdict::kImprovement, "exact")}, {}};
  EXPECT_EQ(gate_exit(result, false), ExitCode::kRegression);
  EXPECT_THAT(gate_text(result, false), HasSubstr("--reason"));
}

TEST(GateReports, TellTheSameInEveryForm) {
  const GateResult result{
      "timed", "old", "new", {gate_row(Verdict::kRegression), gate_row(Verdict::kIncomparable)}, {"a note"}};
  EXPECT_THAT(gate_text(result, true), HasSubstr("compared 1 of 2 rows"));
  EXPECT_THAT(gate_markdown(result, true),
              HasSubstr("| regression | a \\<trial> | time_s | 0.5000x [0.4000, 0.6000] | - | 9 |"));
  const nlohmann::json json = nlohmann::json::parse(gate_json(result, true));
  EXPECT_EQ(json["exit"], 1);
  EXPECT_EQ(json["compared"], 1);
  EXPECT_EQ(json["rows"][0]["verdict"], "regression");
  EXPECT_EQ(json["rows"][0]["interval"][1], 0.6);
  EXPECT_THAT(gate_junit(result, true), HasSubstr("tests=\"2\" failures=\"2\" errors=\"0\" skipped=\"0\""));
  EXPECT_THAT(gate_junit(result, false), HasSubstr("tests=\"2\" failures=\"1\" errors=\"0\" skipped=\"1\""));
  EXPECT_THAT(gate_junit(result, true), HasSubstr("a &lt;trial&gt;"));
  EXPECT_THAT(gate_junit(result, true), Not(HasSubstr("<trial>")));
  const nlohmann::json benchmark = nlohmann::json::parse(gate_benchmark_json(result, "{}"));
  EXPECT_EQ(benchmark["benchmarks"].size(), 4u);
  EXPECT_EQ(benchmark["benchmarks"][1]["name"], "head/a <trial>/time_s");
  EXPECT_EQ(benchmark["benchmarks"][1]["real_time"], 2e9);
}

// compare.py of google/benchmark calls less better.
TEST(GateReports, ARateIsSecondsASampleWhereLessIsBetter) {
  GateRow row = gate_row(Verdict::kRegression, "virtual samples/s");
  row.base = 200;
  row.head = 160;
  row.rate = true;
  const nlohmann::json all =
      nlohmann::json::parse(gate_benchmark_json({"virtual", "old", "new", {row}, {}}, "{}"))["benchmarks"];
  EXPECT_EQ(all[0]["name"], "base/a <trial>/virtual seconds a sample");
  EXPECT_NEAR(all[0]["real_time"].get<double>(), 5e6, 1e-6);
  EXPECT_NEAR(all[1]["real_time"].get<double>(), 6.25e6, 1e-6);
}

TEST(GateReports, ThresholdsAreNamed) {
  GateRow row = gate_row(Verdict::kWithin);
  row.threshold = 0.073;
  const GateResult result{"timed", "old", "new", {row}, {}};
  EXPECT_THAT(gate_text(result, true),
              AllOf(HasSubstr("within 7.3 % a <trial>"), HasSubstr(", 1 within the threshold")));
  EXPECT_THAT(gate_markdown(result, true), HasSubstr("| within 7.3 % | a"));
  EXPECT_EQ(nlohmann::json::parse(gate_json(result, true))["rows"][0]["verdict"], "within_threshold");
}

TEST(GateReports, AreShortEnoughForAComment) {
  for (const std::size_t length : {10u, 300u, 2'000u}) {
    for (const int rows : {1, 200}) {
      GateResult result{"virtual", std::string(length, 'o'), std::string(length, '|'), {}, {std::string(length, '<')}};
      for (int i = 0; i < rows; ++i) {
        const Verdict verdict = i % 3 == 0   ? Verdict::kIncomparable
                                : i % 3 == 1 ? Verdict::kNoChange
                                             : Verdict::kWithin;
        result.rows.push_back(gate_row(verdict));
        result.rows.back().name = std::to_string(i) + std::string(length, i % 2 == 0 ? '|' : '\x01');
        result.rows.back().notes.assign(9, std::to_string(i) + std::string(length, '`'));
      }
      result.rows.push_back(gate_row(Verdict::kRegression));
      const std::string text = gate_markdown(result, true);
      EXPECT_LE(text.size(), 65'536u) << length << " " << rows;
      EXPECT_THAT(text, HasSubstr("|---|---|---|---|---|---|---|\n| regression | a \\<trial>"));
      EXPECT_THAT(text, Not(HasSubstr("| no-change |")));
      EXPECT_EQ(text.find("lines are left out here") != std::string::npos, rows > 1 && length > 10);
    }
  }
}

TEST(GateReports, NamesAndNotesAreOnlyText) {
  GateRow failed = gate_row(Verdict::kFailed);
  failed.name = "a\x1b[2J|b";
  failed.notes = {"died\n```\n\x1b]0;x\x07 | <b>"};
  const GateResult result{"timed", "old\x1b", "new\nrun\xC2\x9B", {failed}, {"said\x1b"}};
  const std::string text = gate_text(result, true), markdown = gate_markdown(result, true);
  for (const std::string& each : {text, markdown})
    EXPECT_THAT(each, AllOf(Not(HasSubstr("\x1b")), Not(HasSubstr("\x07")), Not(HasSubstr("\x9B"))));
  EXPECT_THAT(text, AllOf(HasSubstr("a\\u001b[2J|b"), HasSubstr(" of new run\\u009b with old\\u001b")));
  EXPECT_THAT(markdown, HasSubstr("| a\\\\u001b[2J\\|b | time_s |"));
  EXPECT_THAT(markdown, HasSubstr("| died \\`\\`\\` \\\\u001b]0;x\\\\u0007 \\| \\<b> |"));
  EXPECT_THAT(markdown, Not(HasSubstr("\n```\n\\u001b"))) << "a reason does not end the block that it stands in";
}

TEST(GateReports, NumbersThatAreNoneAreNull) {
  GateRow row = gate_row(Verdict::kMissing);
  row.head = row.speed_up = kNone;
  row.interval = {};
  const nlohmann::json json = nlohmann::json::parse(gate_json({"exact", "old", "new", {row}, {}}, true));
  EXPECT_TRUE(json["rows"][0]["head"].is_null());
  EXPECT_TRUE(json["rows"][0]["interval"].is_null());
}

}  // namespace
}  // namespace hopbench
