// Records as JSON and back, events as lines.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "backends/base/error.h"
#include "backends/base/printable.h"
#include "backends/base/record/kinds.h"
#include "results/files/record_json.h"
#include "results/tables/table.h"
#include "tests/results/results_samples.h"

namespace hopbench {
namespace {

using testing::HasSubstr;

// --- JSON. That the text is the same after a round trip shows that no field got lost, as every field has a value.

TEST(Json, ATrialComesBackAsItWas) {
  const TrialRow row = full_row();
  const std::string text = to_json(row);
  EXPECT_EQ(text.find('\n'), std::string::npos);
  const TrialRow back = row_from_json(text);
  EXPECT_EQ(to_json(back), text);
  EXPECT_EQ(back.labels.seed, row.labels.seed);
  EXPECT_EQ(back.labels.scenario, row.labels.scenario);
  EXPECT_EQ(back.record.status, TrialStatus::kInterrupted);
  EXPECT_EQ(back.record.failure.kind, FailureKind::kInterrupted);
  EXPECT_EQ(back.record.failure.rank, 3);
  EXPECT_EQ(back.record.failure.text, "line\nbreak");
  EXPECT_EQ(back.record.time_s, 0.1 + 0.2);
  EXPECT_TRUE(std::isinf(back.record.iters_per_s));
  EXPECT_TRUE(std::isnan(back.record.wait_share));
  ASSERT_EQ(back.record.ranks.size(), 1u);
  const RankRecord& rank = back.record.ranks[0];
  EXPECT_EQ(rank.marks[0].end, row.record.ranks[0].marks[0].end);
  EXPECT_EQ(rank.marks[0].loss, 0.1f);
  EXPECT_TRUE(std::isnan(rank.marks[1].loss));
  EXPECT_EQ(rank.waits, row.record.ranks[0].waits);
  EXPECT_EQ(rank.figures, row.record.ranks[0].figures);
  EXPECT_EQ(back.record.curve[1].samples, 640);
}

/// A failed row with this text, as schema 1.1 had it.
TrialRecord older_record(const std::string& status, const std::string& text) {
  nlohmann::json row = nlohmann::json::parse(to_json(full_row()));
  row["schema_version"] = "1.1";
  row["record"].erase("failure_kind");
  row["record"].erase("failure_rank");
  row["record"]["status"] = status;
  row["record"]["reason"] = text;
  return row_from_json(row.dump()).record;
}

TEST(Json, FailuresOfOlderRowsGetTheKindThatTheirTextNames) {
  const auto kind = [](const std::string& text) { return older_record("failed", text).failure.kind; };
  EXPECT_EQ(kind("rank 3 left in iteration 5, as the scenario says: allreduce stops when a worker is lost"),
            FailureKind::kScenario);
  EXPECT_EQ(kind("rank 3 was killed by signal 9 (SIGKILL) while finished, as the scenario says: a stops"),
            FailureKind::kScenario);
  EXPECT_EQ(kind("stalled: nothing happened for 60s: rank 1 hangs: raise --stall-timeout if a step may take longer"),
            FailureKind::kStalled);
  EXPECT_EQ(kind("rank 1 has been stopped for 60s while ready"), FailureKind::kStopped);
  EXPECT_EQ(kind("rank 1 (starting) not ready within 30s: raise --rendezvous-timeout"), FailureKind::kNotReady);
  EXPECT_EQ(kind("the trial took longer than its limit of 30min: raise --trial-timeout"), FailureKind::kTimeLimit);
  EXPECT_EQ(kind("rank 0 was killed by signal 11 (SIGSEGV) while running"), FailureKind::kKilled);
  EXPECT_EQ(kind("rank 0 exited with code 3 while running"), FailureKind::kExited);
  EXPECT_EQ(kind("rank 2 (b) was lost: its connection has ended, while running"), FailureKind::kLost);
  for (const char* lacking : {"cannot write the event log", "cannot open data file", "cannot start a thread",
                              "out of memory: use a smaller model", "could not be started (see ulimit -n)"}) {
    EXPECT_EQ(kind(lacking), FailureKind::kEnvironment) << lacking;
  }
  EXPECT_EQ(kind("rank 1: nothing can happen any more\n  rank 0: killed by signal"), FailureKind::kError);
  EXPECT_EQ(kind(""), FailureKind::kError);
  EXPECT_EQ(older_record("failed", "rank 31 left in iteration 5").failure.rank, 31);
  EXPECT_EQ(older_record("failed", "ranking is off").failure.rank, -1);
  EXPECT_EQ(older_record("interrupted", "interrupted").failure.kind, FailureKind::kInterrupted);
  EXPECT_EQ(older_record("ok", "").failure.kind, FailureKind::kNone);
}

TEST(Json, AFailuresKindIsNotReadFromItsText) {
  nlohmann::json row = nlohmann::json::parse(to_json(full_row()));
  row["record"]["failure_kind"] = "scenario";
  row["record"]["reason"] = "out of memory";
  EXPECT_EQ(row_from_json(row.dump()).record.failure.kind, FailureKind::kScenario);
  row["record"]["failure_kind"] = "of a later version";
  EXPECT_EQ(row_from_json(row.dump()).record.failure.kind, FailureKind::kError);
}

TEST(Json, EveryKindOfFailureHasAWord) {
  std::set<std::string> words;
  for (int k = 0; k < kFailureKinds; ++k) {
    const auto kind = static_cast<FailureKind>(k);
    EXPECT_EQ(failure_kind(to_string(kind)), kind);
    words.insert(to_string(kind));
  }
  EXPECT_EQ(words.size(), std::size_t(kFailureKinds));
}

TEST(Json, WarningsOfOlderRowsGetTheKindThatTheyBeginWith) {
  nlohmann::json row = nlohmann::json::parse(to_json(full_row()));
  row["schema_version"] = "1.1";
  row["record"].erase("warning_kinds");
  row["record"]["warnings"] = {"no steady window", "overpaced: the pace: above", "kept by --force: its settings",
                               "odd: because",     "not steady at all",          ""};
  const std::vector<Warning> expected = {WarningKind::kNoSteadyWindow,
                                         {WarningKind::kOverpaced, "the pace: above"},
                                         {WarningKind::kKept, "its settings"},
                                         {WarningKind::kOther, "odd: because"},
                                         {WarningKind::kOther, "not steady at all"},
                                         {WarningKind::kOther, ""}};
  const TrialRow back = row_from_json(row.dump());
  EXPECT_EQ(back.record.warnings, expected);
  EXPECT_EQ(nlohmann::json::parse(to_json(back))["record"]["warnings"], row["record"]["warnings"]);
}

TEST(Json, AWarningsKindIsNotReadFromItsText) {
  nlohmann::json row = nlohmann::json::parse(to_json(full_row()));
  row["record"]["warnings"] = {"x", "not steady: x", "x"};
  row["record"]["warning_kinds"] = {"not steady", "overpaced", "of a later version"};
  const std::vector<Warning> expected = {
      {WarningKind::kNotSteady, "x"}, {WarningKind::kOverpaced, "not steady: x"}, {WarningKind::kOther, "x"}};
  EXPECT_EQ(row_from_json(row.dump()).record.warnings, expected);
  row["record"]["warnings"] = {"x", "x"};
  EXPECT_THROW(row_from_json(row.dump()), Error);
}

TEST(Json, EveryKindOfWarningHasAWord) {
  std::set<std::string> words;
  for (int k = 0; k < kWarningKinds; ++k) {
    const auto kind = static_cast<WarningKind>(k);
    EXPECT_EQ(warning_kind(to_string(kind)), kind);
    words.insert(to_string(kind));
  }
  EXPECT_EQ(words.size(), std::size_t(kWarningKinds));
}

TEST(Json, EveryFieldOfARankIsWritten) {
  // Neighbouring defaults would hide a field that is missing: all fields of full_rank() differ from theirs.
  const nlohmann::json full = nlohmann::json::parse(to_json(full_rank())),
                       empty = nlohmann::json::parse(to_json(RankRecord()));
  for (const auto& [name, value] : full.items()) EXPECT_NE(value, empty.at(name)) << name;
  EXPECT_EQ(full.size(), 46u);  // fields of RankRecord
}

TEST(Json, RecordsComeBackAlone) {
  EXPECT_EQ(to_json(rank_from_json(to_json(full_rank()))), to_json(full_rank()));
  const TrialRecord record = full_row().record;
  EXPECT_EQ(to_json(record_from_json(to_json(record))), to_json(record));
}

TEST(Json, UnknownFieldsAreIgnoredAndMissingOnesKeepTheirDefault) {
  const RankRecord rank = rank_from_json(R"({"rank": 4, "from_the_future": [1, 2]})");
  EXPECT_EQ(rank.rank, 4);
  EXPECT_EQ(rank.iters, 0);
}

TEST(Json, SaysWhatIsNoRecord) {
  EXPECT_THROW(rank_from_json("{\"rank\": "), Error);
  EXPECT_THROW(rank_from_json("[1]"), Error);
  EXPECT_THROW(rank_from_json(R"({"rank": "three"})"), Error);
  for (const char* wrong : {R"({"rank": 1e30})", R"({"rank": 4294967296})", R"({"waits": {"updates": 1e44}})"}) {
    try {
      rank_from_json(wrong);
      ADD_FAILURE() << wrong;
    } catch (const Error& error) {
      const bool whole = std::string(wrong).find('e') == std::string::npos;
      EXPECT_THAT(error.what(), HasSubstr(whole ? "4294967296 is too large or too small for what it counts"
                                                : "stands where an integer belongs"));
    }
  }
  EXPECT_THROW(row_from_json("{}"), Error);
  try {
    row_from_json(R"({"schema_version": "2.0", "labels": {}, "record": {}})");
    FAIL() << "a later major version was read";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("schema 2.0"));
  }
  EXPECT_NO_THROW(row_from_json(R"({"schema_version": "1.7", "labels": {"clock": "real"}, "record": {}})"));
}

/// Returns the error of reading a row with this change; "": it is read.
std::string said_of(const std::function<void(nlohmann::json&)>& change) {
  nlohmann::json row = nlohmann::json::parse(to_json(full_row()));
  change(row);
  try {
    row_from_json(row.dump());
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kUsage);
    EXPECT_EQ(std::string(error.what()).find("json.exception"), std::string::npos) << error.what();
    return error.what();
  }
  return "";
}

TEST(Json, NamesTheFieldThatIsWrongInPlainWords) {
  const std::string none = "not a finished trial: ";
  EXPECT_EQ(said_of([](auto&) {}), "");
  EXPECT_EQ(said_of([](auto& row) { row["record"]["time_s"] = "inf"; }), "");
  EXPECT_EQ(said_of([](auto& row) { row["record"]["samples_per_s"] = "fast"; }),
            none + "'samples_per_s': fast stands where a number belongs");
  EXPECT_EQ(said_of([](auto& row) { row["record"]["time_s"] = nullptr; }),
            none + "'time_s': null stands where a number belongs");
  EXPECT_EQ(said_of([](auto& row) { row["record"]["id"] = 3; }), none + "'id': its value has the wrong type");
  EXPECT_EQ(said_of([](auto& row) { row["record"]["ranks"][0]["iters"] = 0.5; }),
            none + "'ranks': 'iters': 0.5 stands where an integer belongs");
  EXPECT_EQ(said_of([](auto& row) { row["record"]["ranks"] = nlohmann::json::object(); }),
            none + "'ranks': object stands where a list belongs");
  EXPECT_EQ(said_of([](auto& row) { row["record"]["ranks"][0] = nullptr; }),
            none + "'ranks': null stands where an object belongs");
  EXPECT_THAT(said_of([](auto& row) { row["record"] = nlohmann::json::array(); }),
              HasSubstr("array stands where an object"));
  EXPECT_EQ(said_of([](auto& row) { row.erase("labels"); }), none + "'labels' is missing");
  EXPECT_EQ(said_of([](auto& row) { row = nlohmann::json::array(); }), none + "the text is no JSON object");
  for (const char* text : {"{\"a\": ", "{\"a\": 1e999}", "\"\xff\""}) {
    try {
      row_from_json(text);
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), testing::Not(HasSubstr("json.exception")));
    }
  }
}

TEST(Json, RefusesValuesThatNoTrialHas) {
  const std::string none = "not a finished trial: ";
  EXPECT_EQ(said_of([](auto& row) { row["labels"]["world"] = -1; }),
            none + "'world' is -1, and no trial has less than 0");
  EXPECT_EQ(said_of([](auto& row) { row["labels"]["clock"] = "sun"; }),
            none + "'clock' is 'sun', which no trial has: there are virtual and real");
  EXPECT_THAT(said_of([](auto& row) { row["labels"]["what"] = "x"; }), HasSubstr("'what' is 'x'"));
  EXPECT_THAT(said_of([](auto& row) { row["labels"]["cost_s"] = -0.5; }), HasSubstr("'cost_s' is -0.5"));
  EXPECT_THAT(said_of([](auto& row) { row["record"]["samples_per_s"] = -5; }), HasSubstr("'samples_per_s' is -5"));
  EXPECT_THAT(said_of([](auto& row) { row["record"]["time_s"] = "-inf"; }), HasSubstr("'time_s' is -inf"));
  EXPECT_THAT(said_of([](auto& row) { row["record"]["ranks"][0]["samples"] = -3; }), HasSubstr("'samples' is -3"));
}

// The validator refuses them in a suite, too: names stand in tables and on terminals.
TEST(Json, RefusesNamesWithControlCharacters) {
  for (const char* label : {"suite", "measure", "scenario", "protocol", "variant", "knobs", "backend", "transport",
                            "model", "dataset", "split", "topology", "network", "optimizer", "source", "reading"}) {
    for (const char* name : {"a\x1b[2J", "a\nb", "a\xC2\x9B", "a\xE2\x80\xAE"}) {
      const std::string said = said_of([&](auto& row) { row["labels"][label] = name; });
      EXPECT_EQ(said, std::string("not a finished trial: '") + label + "' is '" + printable(name) +
                          "', and no name has control characters");
    }
  }
  EXPECT_THAT(said_of([](auto& row) { row["record"]["id"] = "s/\x1b"; }), HasSubstr("'id' is 's/\\u001b'"));
  EXPECT_EQ(said_of([](auto& row) { row["record"]["reason"] = "free \x1b text\n"; }), "");
}

TEST(Json, ARecordWithoutItsSchemaIsOfAnotherVersion) {
  for (const char* text :
       {"{\"labels\": {}, \"record\": {}}", "{\"schema_version\": 1, \"labels\": {}, \"record\": {}}",
        "{\"schema_version\": \"0.9\", \"labels\": {}, \"record\": {}}"})
    EXPECT_THROW(row_from_json(text), SchemaError) << text;
  try {
    row_from_json("{\"schema_version\": 1.3, \"labels\": {}, \"record\": {}}");
    ADD_FAILURE();
  } catch (const SchemaError& error) {
    EXPECT_THAT(error.what(), HasSubstr("whose schema_version is 1.3 instead of a text such as \"1.3\""));
  }
}

TEST(Json, TextThatIsNoUtf8IsStillWritten) {
  TrialRow row = full_row();
  row.record.failure = {FailureKind::kError, -1, "bad \xff byte"};
  EXPECT_EQ(row_from_json(to_json(row)).record.failure.text, "bad \xEF\xBF\xBD byte");
}

TEST(Json, ARunIsOneDocumentWithoutMarks) {
  const std::vector<TrialRow> rows{full_row()};
  const auto run = nlohmann::json::parse(run_to_json(rows, R"({"host": "a"})"));
  EXPECT_EQ(run["schema_version"], kSchemaVersion);
  EXPECT_EQ(run["context"]["host"], "a");
  EXPECT_EQ(run["trials"][0]["labels"]["protocol"], "hop");
  EXPECT_FALSE(run["trials"][0]["record"]["ranks"][0].contains("marks"));
  EXPECT_TRUE(nlohmann::json::parse(run_to_json(rows, "broken"))["context"].is_null());
  EXPECT_FALSE(run.contains("tables"));
  const Table table{.title = "s / rate", .columns = {"variant", "samples/s"}, .rows = {{"hop", "12"}}};
  const auto with_tables = nlohmann::json::parse(run_to_json(rows, "{}", to_json(std::span(&table, 1))));
  EXPECT_EQ(with_tables["tables"][0]["title"], "s / rate");
  EXPECT_EQ(with_tables["tables"][0]["rows"][0]["samples_per_s"], "12");
}

TEST(EventLog, IsALineOfJsonAnEvent) {
  std::string lines = event_log_head("s/\"x\"");
  append_event(lines, {.time = Time(Duration(5)), .rank = 2, .what = EventKind::kEnter, .iter = 7});
  append_event(lines, {.time = Time(Duration(6)),
                       .what = EventKind::kReduced,
                       .iter = 1,
                       .value = std::numeric_limits<double>::quiet_NaN(),
                       .senders = {0, 1},
                       .tags = {1, 0},
                       .weights = {0.5f, 0.1f}});
  append_event(
      lines,
      {.what = EventKind::kWait, .peer = 0, .kind = 3, .count = 4, .since = Time(Duration(9)), .text = "a \"b\"\n"});
  EXPECT_EQ(lines,
            "{\"schema_version\":\"1.3\",\"trial\":\"s/\\\"x\\\"\"}\n"
            "{\"t\":5,\"rank\":2,\"what\":\"enter\",\"iter\":7}\n"
            "{\"t\":6,\"rank\":0,\"what\":\"reduced\",\"iter\":1,\"value\":\"nan\",\"senders\":[0,1],\"tags\":[1,0],"
            "\"weights\":[0.5,0.1]}\n"
            "{\"t\":0,\"rank\":0,\"what\":\"wait\",\"iter\":0,\"peer\":0,\"kind\":3,\"count\":4,\"since\":9,"
            "\"text\":\"a \\\"b\\\"\\u000a\"}\n");
}

}  // namespace
}  // namespace hopbench
