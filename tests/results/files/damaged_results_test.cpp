// Results that were damaged or edited: tables, documents, event logs and contexts are refused with what is wrong,
// where, and what to do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "backends/base/error.h"
#include "results/files/csv.h"
#include "results/files/event_reader.h"
#include "results/files/outcome.h"
#include "results/files/possible.h"
#include "results/files/record_json.h"
#include "results/judge/exact.h"
#include "results/report/trace.h"
#include "tests/folder.h"
#include "tests/paths.h"
#include "tests/results/results_samples.h"
#include "tests/said.h"

namespace hopbench {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// --- trials.csv

using Cells = std::map<std::string, std::string>;

const Cells kUsual{{"trial", "s/m/one/hop/1/0"},
                   {"suite", "s"},
                   {"measure", "m"},
                   {"scenario", "one"},
                   {"variant", "hop"},
                   {"seed", "1"},
                   {"repeat", "0"},
                   {"status", "ok"},
                   {"clock", "virtual"},
                   {"what", "rate"},
                   {"time_s", "1.5"},
                   {"samples_per_s", "100"},
                   {"gap_bound", ""},
                   {"figure: of_its_own", "1"},
                   {"from_the_future", "?"}};

std::string table_of(const std::vector<Cells>& rows) {
  const auto line = [&](const auto& text) {
    std::string cells;
    for (const auto& entry : rows.front()) cells += csv_field(text(entry.first)) + ",";
    cells.back() = '\n';
    return cells;
  };
  std::string text = line([](const std::string& column) { return column; });
  for (const Cells& row : rows) text += line([&](const std::string& column) { return row.at(column); });
  return text;
}

std::string said_of_table(const std::vector<Cells>& rows) {
  return said_by([&] { outcomes_from_csv(table_of(rows), "t.csv"); });
}

/// Returns the error of a table whose second row has this cell.
std::string said_of_cell(const std::string& column, const std::string& cell) {
  Cells second = kUsual;
  second["trial"] = "s/m/one/hop/1/1";
  second[column] = cell;
  Cells first = kUsual;
  first.try_emplace(column);
  return said_of_table({first, second});
}

TEST(TrialsTable, RefusesWhatNoTrialHas) {
  const std::string where = "t.csv: row 2: ", advice = ": take the table from the run again";
  EXPECT_EQ(said_of_cell("samples_per_s", "-5"),
            where + "'samples_per_s' is -5, and no trial has less than 0" + advice);
  EXPECT_EQ(said_of_cell("samples_per_s", "12x"), where + "'samples_per_s' is '12x', expected a number" + advice);
  EXPECT_EQ(said_of_cell("clock", "sun"),
            where + "'clock' is 'sun', which no trial has: there are virtual and real" + advice);
  EXPECT_EQ(said_of_cell("status", "done"),
            where + "'done' is not a status of a trial: there are ok, failed and interrupted" + advice);
  EXPECT_THAT(said_of_cell("what", "guess"), HasSubstr("'what' is 'guess'"));
  for (const char* column : {"repeat", "world", "gap_bound", "time_to_target_s", "final_loss", "wait_share"})
    EXPECT_THAT(said_of_cell(column, "soon"), HasSubstr(std::string("'") + column + "' is 'soon', expected a number"));
  for (const char* column : {"batch", "time_s", "time_to_target_s", "bytes_sent"})
    EXPECT_THAT(said_of_cell(column, "-1"), HasSubstr(std::string("'") + column + "' is -1, and no trial"));
}

TEST(TrialsTable, RefusesATrialThatIsThereTwice) {
  EXPECT_EQ(said_of_table({kUsual, kUsual}),
            "t.csv: row 2: trial s/m/one/hop/1/0 is in row 1 already: take the table from the run again");
}

TEST(TrialsTable, IsReadWithColumnsOfAnyAge) {
  EXPECT_EQ(said_of_table({kUsual}), "");
  EXPECT_EQ(said_of_cell("samples_per_s", ""), "");
  EXPECT_EQ(said_of_cell("final_loss", "-3.5"), "") << "an objective may be below 0";
  EXPECT_EQ(said_of_cell("status", "interrupted"), "");
  const std::vector<TrialRow> rows{full_row("a", 0), full_row("b", 1)};
  EXPECT_EQ(outcomes_from_csv(trials_csv(rows), "t.csv").size(), 2u) << "as this version writes it";
}

TEST(TrialsTable, ThatWasPublishedIsReadStill) {
  const std::string& root = source_dir();
  int tables = 0;
  for (const char* folder : {"/results/published", "/results/baselines"}) {
    for (const auto& entry : std::filesystem::directory_iterator(root + folder)) {
      const std::string table = entry.path().string() + "/trials.csv";
      if (!std::filesystem::exists(table)) continue;
      EXPECT_FALSE(outcomes_from_csv(text_of(table), table).empty());
      ++tables;
    }
  }
  EXPECT_GE(tables, 3);
}

// --- trials.jsonl, and the document of `run --json`

nlohmann::json document_of(const std::vector<TrialRow>& rows) { return nlohmann::json::parse(run_to_json(rows, "{}")); }

std::string said_of_document(const nlohmann::json& document) {
  return said_by([&] { run_from_json(document.dump(), "run.json"); });
}

TEST(Documents, AnUnknownStatusIsRefused) {
  nlohmann::json document = document_of({full_row("a"), full_row("b")});
  EXPECT_EQ(said_of_document(document), "");
  document["trials"][1]["record"]["status"] = "done";
  const std::string why = "'status': 'done' is not a status of a trial: there are ok, failed and interrupted";
  EXPECT_EQ(said_of_document(document), "not a result of run --json (run.json): trial 2: " + why);
  nlohmann::json row = nlohmann::json::parse(to_json(full_row()));
  row["record"]["status"] = "done";
  EXPECT_EQ(said_by([&] { row_from_json(row.dump()); }), "not a finished trial: " + why);
}

TEST(Documents, ARateAboveItsIdealIsRefusedInVirtualTime) {
  const auto said = [](const char* clock, TrialStatus status, double rate, double ideal) {
    TrialRow row = full_row();
    row.labels.clock = clock;
    row.labels.transport = row.labels.clock == "virtual" ? "sim" : "gloo";
    row.record.status = status;
    row.record.samples_per_s = rate;
    row.record.window_ideal_samples_per_s = ideal;
    return said_by([&] { row_from_json(to_json(row)); });
  };
  const double infinite = std::numeric_limits<double>::infinity();
  EXPECT_EQ(said("virtual", TrialStatus::kOk, 101, 100),
            "not a finished trial: 'samples_per_s' is 101, above 'window_ideal_samples_per_s', which is 100");
  EXPECT_EQ(said("virtual", TrialStatus::kOk, 100.00001, 100), "") << "rounding";
  EXPECT_EQ(said("virtual", TrialStatus::kOk, 101, -1), "") << "a row of schema 1.0";
  EXPECT_EQ(said("virtual", TrialStatus::kFailed, 101, 100), "") << "as such a trial ends";
  EXPECT_EQ(said("virtual", TrialStatus::kOk, infinite, 100), "") << "refused where it is compared";
  EXPECT_EQ(said("real", TrialStatus::kOk, 101, 100), "") << "has a mark";
}

TEST(Documents, AClockThatTheTransportHasNotIsRefused) {
  const auto said = [](const char* clock, const char* transport) {
    TrialRow row = full_row();
    row.labels.clock = clock;
    row.labels.transport = transport;
    return said_by([&] { row_from_json(to_json(row)); });
  };
  EXPECT_EQ(
      said("real", "sim"),
      "not a finished trial: 'clock' is 'real' and 'transport' is 'sim': virtual time and transport sim go together");
  EXPECT_THAT(said("virtual", "gloo"), HasSubstr("'clock' is 'virtual' and 'transport' is 'gloo'"));
  EXPECT_EQ(said("", "gloo"), "not a finished trial: 'clock' is empty: a trial runs in virtual or in real time");
  EXPECT_EQ(said("real", "shm"), "");
  EXPECT_EQ(said("virtual", "sim"), "");
  EXPECT_THAT(said_by([] {
                check_possible(Cells{{"status", "ok"}, {"clock", "real"}, {"transport", "sim"}});
              }),
              HasSubstr("go together"));
  EXPECT_EQ(said_by([] {
              check_possible(Cells{{"status", "ok"}, {"clock", "real"}});
            }),
            "")
      << "a table of an older hopbench";
}

TEST(Documents, ATrialThatIsThereTwiceIsRefused) {
  EXPECT_THAT(said_of_document(document_of({full_row(), full_row()})), HasSubstr("is there twice"));
}

// --- Event logs

struct LoggedTrial {
  Folder folder;
  TrialRow row;
  RunFolder run;

  LoggedTrial() : row(usual_row()), run(RunFolder::create(folder / "run", "schema = 1\n", "{}")) { run.add(row); }
  static TrialRow usual_row() {
    TrialRow row = full_row();
    row.labels.world = 5;
    row.record.status = TrialStatus::kOk;
    row.record.ranks[0].lost.clear();
    return row;
  }
  std::string log() const { return run.event_log(row.record.id); }
  void write(const std::string& text) const { std::ofstream(log(), std::ios::binary) << text; }
  void write_events(const std::string& events) const { write(event_log_head(row.record.id) + events); }
};

constexpr const char* kEnd = "{\"t\":9,\"rank\":3,\"what\":\"finished\"}\n";

TEST(DamagedLogs, AnEmptyLogIsDamaged) {
  const LoggedTrial trial;
  trial.write("");
  const std::string empty = trial.log() + ":1: damaged: the event log is empty: run the trial again";
  EXPECT_EQ(said_by([&] { check_event_log(trial.run, trial.row); }), empty);
  EXPECT_EQ(said_by([&] { TraceWriter([](const std::string&) {}).add(trial.run, trial.row); }), empty);
  EXPECT_EQ(said_by([&] { compare_exact(trial.run, trial.run); }), empty) << "not made with another --events";
}

TEST(DamagedLogs, TheLogOfAnotherTrialIsRefused) {
  const LoggedTrial trial;
  trial.write(event_log_head("other") + kEnd);
  const std::string other = trial.log() + ":1: the log is of trial other: run the trial again";
  EXPECT_EQ(said_by([&] { TraceWriter([](const std::string&) {}).add(trial.run, trial.row); }), other);
  EXPECT_EQ(said_by([&] { compare_exact(trial.run, trial.run); }), other);
}

TEST(DamagedLogs, ImpossibleEventsAreRefused) {
  const LoggedTrial trial;
  trial.write_events(kEnd);
  EXPECT_EQ(said_by([&] { check_event_log(trial.run, trial.row); }), "");
  for (const auto& [event, why] : std::map<std::string, std::string>{
           {R"("t":-5,"rank":0)", "'t' is -5 ns, and a trial begins at 0"},
           {R"("t":5,"rank":0,"since":-1)", "'since' is -1 ns, and a trial begins at 0"},
           {R"("t":5,"rank":5)", "'rank' is 5, expected a rank from 0 to 4"},
           {R"("t":5,"rank":-1)", "'rank' is -1, expected a rank from 0 to 4"},
           {R"("t":5,"rank":0,"peer":7)", "'peer' is 7, expected a rank from 0 to 4"},
           {R"("t":5,"rank":0,"senders":[1,9])", "'senders' is 9, expected a rank from 0 to 4"}}) {
    trial.write_events("{" + event + ",\"what\":\"reduced\"}\n" + kEnd);
    const std::string said = trial.log() + ":2: damaged: " + why + ": run the trial again";
    EXPECT_EQ(said_by([&] { check_event_log(trial.run, trial.row); }), said);
    EXPECT_EQ(said_by([&] { TraceWriter([](const std::string&) {}).add(trial.run, trial.row); }), said);
  }
}

// Rows of tests and of old versions do not say how many ranks there are.
TEST(DamagedLogs, WhereNoRankIsRecordedAnyIsPossible) {
  TrialRow row;
  row.record.id = "a";
  const Folder folder;
  folder.write("log", event_log_head("a") + "{\"t\":5,\"rank\":70,\"what\":\"enter\"}\n");
  EXPECT_TRUE(EventReader(folder / "log", row).next());
  folder.write("log", event_log_head("a") + "{\"t\":5,\"rank\":-2,\"what\":\"enter\"}\n");
  EXPECT_THAT(said_by([&] { EventReader(folder / "log", row).next(); }), HasSubstr("expected a rank from 0 on"));
}

// --- Contexts

TEST(Contexts, WithWrongTypesAreDamaged) {
  const auto said = [](const std::string& text) { return said_by([&] { check_context(text, "c.json"); }); };
  EXPECT_EQ(said(R"({"hopbench": {}, "machine": {"cpu": 5}, "environment": {}, "command": ["a"], "later": 1})"), "");
  EXPECT_EQ(said("{}"), "") << "of an old version";
  EXPECT_EQ(said("[1]"), "c.json is damaged: it is not the context of a run: put the run's own file there");
  for (const char* section : {"hopbench", "machine", "environment"})
    EXPECT_EQ(said(std::string("{\"") + section + "\": [1]}"),
              std::string("c.json is damaged: '") + section + "' is no JSON object: put the run's own file there");
  EXPECT_THAT(said(R"({"command": "hopbench run"})"), HasSubstr("'command' is not a list of words"));
  EXPECT_THAT(said(R"({"command": [1]})"), HasSubstr("'command' is not a list of words"));
}

}  // namespace
}  // namespace hopbench
