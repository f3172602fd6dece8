// The files of a run: the CSV tables, the folder and its torn lines.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <optional>
#include <sstream>
#include <string>

#include "backends/base/error.h"
#include "results/files/csv.h"
#include "results/files/event_reader.h"
#include "results/files/files.h"
#include "results/files/record_json.h"
#include "results/files/run_folder.h"
#include "tests/results/results_samples.h"

namespace hopbench {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// --- CSV

TEST(Csv, QuotesWhatHasToBe) {
  EXPECT_EQ(csv_field("plain text"), "plain text");
  EXPECT_EQ(csv_field("a,b"), "\"a,b\"");
  EXPECT_EQ(csv_field("say \"hop\""), "\"say \"\"hop\"\"\"");
  EXPECT_EQ(csv_field("two\nlines"), "\"two\nlines\"");
  EXPECT_EQ(csv_field("two\rlines"), "\"two\rlines\"");
  EXPECT_EQ(csv_field(""), "");
}

TEST(Csv, NumbersAreTheShortestThatReadBack) {
  EXPECT_EQ(csv_number(0.1), "0.1");
  EXPECT_EQ(csv_number(0.1 + 0.2), "0.30000000000000004");
  EXPECT_EQ(csv_number(3), "3");
  EXPECT_EQ(csv_number(-0.0), "0");
  EXPECT_EQ(csv_number(1e-7), "1e-07");
  EXPECT_EQ(csv_number(std::numeric_limits<double>::quiet_NaN()), "");
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

TEST(Csv, RowsStandInTheOrderOfTheRunHoweverTheyCame) {
  const std::vector<TrialRow> rows{full_row("a", 0), full_row("b", 1), full_row("c", 2)};
  const std::vector<TrialRow> mixed{rows[2], rows[0], rows[1]};
  EXPECT_EQ(trials_csv(rows), trials_csv(mixed));
  EXPECT_EQ(ranks_csv(rows), ranks_csv(mixed));
  EXPECT_EQ(curve_csv(rows), curve_csv(mixed));
  EXPECT_EQ(host_csv(rows), host_csv(mixed));
}

TEST(Csv, TablesWithoutRowsHaveTheirHeadAllTheSame) {
  TrialRow failed = full_row();
  failed.record.ranks.clear();
  failed.record.curve.clear();
  const std::vector<TrialRow> rows{failed}, whole{full_row()};
  EXPECT_EQ(lines_of(curve_csv(rows)), std::vector{lines_of(curve_csv(whole))[0]});
  const std::vector<std::string> head = lines_of(ranks_csv(rows));
  ASSERT_EQ(head.size(), 1u);
  EXPECT_EQ(lines_of(ranks_csv(whole))[0].rfind(head[0] + ",", 0), 0u) << "all but figures and reasons of waits";
}

TEST(Csv, WhatMeasuresTheHostStandsInItsOwnTableOnly) {
  TrialRow one = full_row(), other = full_row();
  other.record.wall_s = 1;
  other.record.cpu_s = 2;
  other.record.max_rss_bytes = 3;
  other.record.ranks[0].cpu_s = 4;
  other.record.ranks[0].cpu_wait_s = 5;
  other.record.ranks[0].contended_s = 6;
  other.record.ranks[0].max_rss_bytes = 7;
  other.record.ranks[0].link_late_median_s = 8;
  other.record.ranks[0].link_late_p99_s = 9;
  other.record.ranks[0].machine = "b";
  const std::vector<TrialRow> a{one}, b{other};
  EXPECT_EQ(trials_csv(a), trials_csv(b));
  EXPECT_EQ(ranks_csv(a), ranks_csv(b));
  EXPECT_EQ(curve_csv(a), curve_csv(b));
  EXPECT_NE(host_csv(a), host_csv(b));
}

TEST(Csv, TablesAreStableByteForByte) {
  std::vector<TrialRow> rows{full_row()};
  EXPECT_EQ(
      curve_csv(rows),
      "trial,scenario,variant,seed,repeat,model,time_s,iteration,samples,loss,accuracy,consensus_distance\n"
      "s/m/one/hop backup=1/1/2,\"one, \"\"slow\"\"\",hop backup=1,18446744073709551615,2,mean,0,0,0,1,0,0\n"
      "s/m/one/hop backup=1/1/2,\"one, \"\"slow\"\"\",hop backup=1,18446744073709551615,2,mean,2,10,640,0,0.5,1\n");
  EXPECT_EQ(
      host_csv(rows),
      "trial,scenario,variant,seed,repeat,rank,wall_s,cpu_s,cpu_wait_s,contended_s,overruns,max_rss_bytes,"
      "state_vectors,awaited_bodies,carriers,congestion_control,gpu,gpu_mps,gpu_fallbacks,gpu_remarks,staged_bodies,"
      "link_late_median_"
      "s,link_late_p99_s,machine\n"
      "s/m/one/hop backup=1/1/2,\"one, \"\"slow\"\"\",hop backup=1,18446744073709551615,2,"
      "all,77.7,88.8,0.4,0.5,25,99,2.5,3,,,,0,3,,12,0.1,0.2,\n"
      "s/m/one/hop backup=1/1/2,\"one, \"\"slow\"\"\",hop backup=1,18446744073709551615,2,"
      "3,,0.3,0.4,0.5,25,29,2.5,3,gloo: 1-3,reno,0000:3b:00.0,1,3,\"graph of batch 8: yes, 370 nodes\",12,0.1,0.2,a\n");
  const auto ranks = lines_of(ranks_csv(rows));
  EXPECT_THAT(ranks[0], HasSubstr(",\"wait_s: a \"\"token\"\"\",wait_s: parameters"));
  EXPECT_THAT(ranks[1], HasSubstr(",server,leave,9.87654321,1.1e-08,3.1e-08,1.3e-08,1.4e-08,17,18,19,20,21,"));
}

TEST(Csv, TrialsHaveTheColumnsOfTheInterface) {
  const std::vector<TrialRow> rows{full_row()};
  const std::string head = "," + lines_of(trials_csv(rows))[0] + ",";
  for (const char* column : {"suite",
                             "scenario",
                             "protocol",
                             "variant",
                             "backend",
                             "transport",
                             "clock",
                             "world",
                             "model",
                             "dataset",
                             "seed",
                             "repeat",
                             "order",
                             "status",
                             "reason",
                             "time_s",
                             "iters_total",
                             "iters_min_rank",
                             "samples",
                             "samples_per_s",
                             "iters_per_s",
                             "time_to_target_s",
                             "iters_to_target",
                             "final_loss",
                             "best_accuracy",
                             "bytes_sent",
                             "messages",
                             "overrun_share",
                             "params_hash"}) {
    EXPECT_THAT(head, HasSubstr(std::string(",").append(column).append(","))) << column;
  }
  for (const char* column : {"wall_s", "cpu_s", "max_rss_bytes"}) {
    EXPECT_THAT(head, Not(HasSubstr(std::string(",").append(column).append(",")))) << column;
  }
}

TEST(Csv, ARankWithoutThatWaitHasZeroThereAndWithoutThatFigureNothing) {
  TrialRow other = full_row("other", 1);
  other.record.ranks[0].waits = {{"an answer", Duration(5000000000)}};
  other.record.ranks[0].figures.clear();
  const std::vector<TrialRow> rows{full_row(), other};
  const auto lines = lines_of(ranks_csv(rows));
  EXPECT_THAT(lines[0], testing::EndsWith("wait_s: an answer,wait_s: parameters,figure: prediction error"));
  EXPECT_THAT(lines[1], testing::EndsWith(",0.6"));
  EXPECT_THAT(lines[2], testing::EndsWith(",0,5,0,"));
}

// --- The folder

TEST(RunFolderTest, HoldsWhatARunNeedsToGoOn) {
  const Folder temp;
  const std::string path = temp / "new/run";
  {
    RunFolder run = RunFolder::create(path, "schema = 1\n", "{}\n");
    run.add(full_row("a", 0));
    run.add(full_row("b", 1));
    run.write_tables();
    run.write_text("summary.md", "# s\n");
  }
  const RunFolder run = RunFolder::open(path);
  ASSERT_EQ(run.rows().size(), 2u);
  EXPECT_EQ(to_json(run.rows()[1]), to_json(full_row("b", 1)));
  EXPECT_EQ(run.suite_toml(), "schema = 1\n");
  EXPECT_EQ(run.context_json(), "{}\n");
  EXPECT_EQ(text_of(path + "/trials.csv"), trials_csv(run.rows()));
  EXPECT_EQ(text_of(path + "/host.csv"), host_csv(run.rows()));
  EXPECT_EQ(text_of(path + "/summary.md"), "# s\n");
  for (const auto& entry : fs::directory_iterator(path)) EXPECT_NE(entry.path().extension(), ".new");
}

TEST(RunFolderTest, ATornLastLineIsCutOff) {
  const Folder temp;
  for (const std::string& torn :
       {std::string("{\"schema_version\":\"1.1\",\"lab"), to_json(full_row("b", 1)), std::string(10, '\0') + "\n"}) {
    const std::string path = temp / std::to_string(torn.size());
    RunFolder::create(path, "", "{}").add(full_row("a", 0));
    const std::string whole = text_of(path + "/trials.jsonl");
    std::ofstream(path + "/trials.jsonl", std::ios::app | std::ios::binary) << torn;
    RunFolder run = RunFolder::open(path);
    ASSERT_EQ(run.rows().size(), 1u);
    EXPECT_EQ(text_of(path + "/trials.jsonl"), whole + torn) << "only reading";
    run.claim();
    ASSERT_EQ(run.rows().size(), 1u);
    EXPECT_EQ(text_of(path + "/trials.jsonl"), whole);
    run.add(full_row("c", 2));
    EXPECT_EQ(RunFolder::open(path).rows().size(), 2u);
  }
}

TEST(RunFolderTest, IsReadPackedButNotGoneOnWith) {
  const Folder temp;
  const std::string path = temp / "run";
  RunFolder made = RunFolder::create(path, "", "{}");
  made.add(full_row("a", 0));
  made.add(full_row("b", 1));
  ASSERT_EQ(std::system(("gzip '" + path + "/trials.jsonl'").c_str()), 0);
  EXPECT_TRUE(holds_run(path));
  RunFolder run = RunFolder::open(path);
  ASSERT_EQ(run.rows().size(), 2u);
  EXPECT_EQ(to_json(run.rows()[1]), to_json(full_row("b", 1)));
  EXPECT_FALSE(run.cut_off());
  const auto said = [](const auto& action) -> std::string {
    try {
      action();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::kUsage);
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(said([&] { run.claim(); }), HasSubstr("trials.jsonl.gz is packed"));
  temp.write("run/trials.jsonl", "");
  EXPECT_THAT(said([&] { RunFolder::open(path); }), HasSubstr("trials.jsonl and trials.jsonl.gz, which may differ"));
  fs::remove(path + "/trials.jsonl");
  const std::string packed = text_of(path + "/trials.jsonl.gz");
  temp.write("run/trials.jsonl.gz", packed.substr(0, packed.size() / 2));
  EXPECT_THAT(said([&] { RunFolder::open(path); }), HasSubstr("trials.jsonl.gz is damaged"));
}

TEST(RunFolderTest, ADamagedLineInTheMiddleIsNamedAndKept) {
  const Folder temp;
  const std::string path = temp / "run";
  RunFolder::create(path, "", "{}");
  const std::string text = to_json(full_row()) + "\n{\"oops\n" + to_json(full_row()) + "\n";
  std::ofstream(path + "/trials.jsonl", std::ios::binary) << text;
  try {
    RunFolder::open(path);
    FAIL() << "a damaged line was read";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kUsage);
    EXPECT_THAT(error.what(), testing::AllOf(HasSubstr("trials.jsonl:2"), HasSubstr("take the line out")));
  }
  EXPECT_EQ(text_of(path + "/trials.jsonl"), text);
}

TEST(RunFolderTest, SaysWhatCannotBeReadAndWhy) {
  const Folder temp;
  const auto said = [&](const std::function<void(const RunFolder&)>& read) -> std::string {
    try {
      read(RunFolder::open(temp / "run"));
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::kUsage);
      return error.what();
    }
    return "";
  };
  const auto open = [](const RunFolder&) {};
  const auto context = [](const RunFolder& run) { run.context_json(); };
  RunFolder::create(temp / "run", "", "{}").add(full_row());
  EXPECT_EQ(said(context), "");
  for (const char* broken : {"[1,2", "[1,2]", "", "7"}) {
    temp.write("run/context.json", broken);
    EXPECT_THAT(said(context),
                AllOf(HasSubstr("run/context.json is damaged"), HasSubstr("put the run's own file there")));
  }
  fs::remove(temp / "run/context.json");
  EXPECT_THAT(said(context), HasSubstr("context.json cannot be read: No such file or directory: put the run's own"));
  temp.write("run/trials.jsonl", "{\"labels\": {}, \"record\": {}}\n");
  EXPECT_THAT(said(open), AllOf(HasSubstr("trials.jsonl:1: records without a schema_version cannot be read"),
                                Not(HasSubstr("take the line out"))));
  fs::remove(temp / "run/trials.jsonl");
  fs::create_directory(temp / "run/trials.jsonl");
  EXPECT_THAT(said(open), HasSubstr("run/trials.jsonl cannot be read: Is a directory"));
}

TEST(RunFolderTest, ATrialThatIsThereTwiceIsNamed) {
  const Folder temp;
  const std::string path = temp / "run";
  RunFolder run = RunFolder::create(path, "", "{}");
  run.add(full_row("a", 0));
  run.add(full_row("b", 1));
  run.add(full_row("a", 2));
  try {
    RunFolder::open(path);
    FAIL() << "one trial counted as two repeats";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::AllOf(HasSubstr("trials.jsonl:3"), HasSubstr("there twice")));
  }
}

TEST(RunFolderTest, RowsThatAreToRunAgainAreDropped) {
  const Folder temp;
  const std::string path = temp / "run";
  RunFolder run = RunFolder::create(path, "", "{}");
  for (int i = 0; i < 4; ++i) run.add(full_row(std::to_string(i), i));
  run.drop_if([](const TrialRow& row) { return row.labels.order % 2 == 0; });
  for (const auto& rows : {run.rows(), RunFolder::open(path).rows()}) {
    ASSERT_EQ(rows.size(), 2u);
    EXPECT_EQ(rows[0].labels.order, 1);
    EXPECT_EQ(rows[1].labels.order, 3);
  }
}

TEST(RunFolderTest, IsClaimedByOneAtATime) {
  const Folder temp;
  const std::string path = temp / "run";
  std::optional<RunFolder> first = RunFolder::create(path, "", "{}");
  RunFolder late = RunFolder::open(path);
  EXPECT_THROW(late.claim(), Error) << "who makes a folder has it";
  first->claim();
  first->add(full_row());
  EXPECT_EQ(late.rows().size(), 0u);
  first.reset();
  late.claim();
  EXPECT_EQ(late.rows().size(), 1u) << "what the first one added";
}

TEST(RunFolderTest, RowsCanBeGivenAWarningOnce) {
  const Folder temp;
  const std::string path = temp / "run";
  RunFolder run = RunFolder::create(path, "", "{}");
  run.add(full_row("a", 0));
  run.add(full_row("b", 1));
  const std::size_t before = run.rows()[1].record.warnings.size();
  const auto second = [](const TrialRow& row) { return row.labels.order == 1; };
  for (int time = 0; time < 2; ++time) run.warn_if(second, {WarningKind::kKept, "because"});
  const RunFolder again = RunFolder::open(path);
  EXPECT_EQ(again.rows()[0].record.warnings.size(), before);
  ASSERT_EQ(again.rows()[1].record.warnings.size(), before + 1);
  EXPECT_EQ(again.rows()[1].record.warnings.back(), Warning(WarningKind::kKept, "because"));
}

TEST(RunFolderTest, IsNotMadeOverAnotherRun) {
  const Folder temp;
  RunFolder::create(temp / "run", "first", "{}");
  EXPECT_THROW(RunFolder::create(temp / "run", "second", "{}"), Error);
  EXPECT_EQ(text_of(temp / "run/suite.toml"), "first");
}

TEST(RunFolderTest, SaysWhereItCannotBeMadeOrOpened) {
  const Folder temp;
  temp.write("file", "");
  try {
    RunFolder::create(temp / "file/run", "", "{}");
    FAIL() << "a folder was made in a file";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kEnvironment);
  }
  try {
    RunFolder::open(temp / "nothing");
    FAIL() << "nothing was opened";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kUsage);
  }
}

TEST(RunFolderTest, EventLogsHaveNamesOfTheirOwn) {
  const Folder temp;
  const RunFolder run = RunFolder::create(temp / "run", "", "{}");
  const auto name = [&](const std::string& id) { return fs::path(run.event_log(id)).filename().string(); };
  EXPECT_EQ(name("s/rate/one 4x/hop a=1/1/0"), "s+rate+one%204x+hop%20a=1+1+0.jsonl");
  EXPECT_EQ(name("a+b"), "a%2Bb.jsonl");
  EXPECT_EQ(name("../x"), "%2E.+x.jsonl");
  const std::string long_id(300, 'a');
  EXPECT_LE(name(long_id).size(), 255u);
  EXPECT_NE(name(long_id + "b"), name(long_id + "c"));
  std::ofstream(run.event_log("s/ä/\n")) << "x";
  EXPECT_TRUE(fs::exists(run.event_log("s/ä/\n")));
}

// --- Event logs

/// Returns the error of reading a log of this one event; "": it was read.
std::string said_of(const std::string& event) {
  const Folder temp;
  TrialRow row;
  row.record.id = "a";
  row.labels.world = 4;
  std::ofstream(temp / "log.jsonl") << event_log_head("a") << event << "\n";
  try {
    EventReader(temp / "log.jsonl", row).next();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kUsage);
    return error.what();
  }
  return "";
}

TEST(EventReaderTest, DoesNotReadALineWithoutEnd) {
  const Folder temp;
  temp.write("log.jsonl", "{}\n" + std::string(std::size_t{65} << 20, ' '));
  EventLines lines(temp / "log.jsonl");
  EXPECT_TRUE(lines.next());
  try {
    lines.next();
    FAIL() << "it was read";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("log.jsonl: a line does not end"));
  }
}

// The JSON library would take 1e30 as some integer, and 70000 as one of its lower 16 bits.
TEST(EventReaderTest, RefusesNumbersThatItsFieldsCannotHold) {
  const std::string begin = R"({"t":1,"rank":0,"what":"send")";
  EXPECT_EQ(said_of(begin + R"(,"kind":3,"iter":4,"tags":[5,6]})"), "");
  for (const char* wrong : {R"("iter":1e30)", R"("peer":0.5)", R"("count":"many")", R"("tags":[1,1e30])"}) {
    const std::string name = std::string(wrong).substr(1, std::string(wrong).find(':') - 2);
    EXPECT_THAT(said_of(begin + "," + wrong + "}"), AllOf(HasSubstr("log.jsonl:2: damaged: '" + name + "': "),
                                                          HasSubstr("stands where an integer belongs")));
  }
  EXPECT_THAT(said_of(R"({"t":1e30,"rank":0,"what":"send"})"), HasSubstr("1e+30 stands where an integer belongs"));
  for (const std::string& large :
       {begin + R"(,"kind":70000})", std::string(R"({"t":1,"rank":4294967296,"what":"send"})")})
    EXPECT_THAT(said_of(large), HasSubstr("is too large or too small for what it counts"));
}

TEST(RunFolderTest, IsUnpackedNoFurtherThanItsFirstMistake) {
  const auto said_of_packed = [](char byte) -> std::string {
    const Folder temp;
    fs::create_directory(temp / "run");
    const gzFile file = gzopen((temp / "run/trials.jsonl.gz").c_str(), "wb1");
    const std::string mebibyte(1 << 20, byte);
    for (int i = 0; i < 300; ++i) gzwrite(file, mebibyte.data(), unsigned(mebibyte.size()));
    gzclose(file);
    try {
      RunFolder::open(temp / "run");
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(said_of_packed('0'), HasSubstr("trials.jsonl.gz:1: damaged: a line of more than 64 MiB"));
  EXPECT_THAT(said_of_packed('\n'), HasSubstr("trials.jsonl.gz:1: damaged: "));
}

TEST(RunFolderTest, IsNotPromisedWhereNothingCanBeMade) {
  for (const char* folder : {"/proc/x", "/proc/x/y"}) {
    try {
      check_free(folder);
      ADD_FAILURE() << folder;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::kEnvironment);
      EXPECT_THAT(error.what(), HasSubstr(std::string("cannot make ") + folder));
    }
  }
  const Folder temp;
  check_free(temp / "a/b");
  EXPECT_TRUE(fs::is_empty(temp.path()));
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename());
  return names;
}

TEST(NewFileTest, HasItsNameOnceItIsWhole) {
  const Folder temp;
  temp.write("a", "old");
  fs::permissions(temp / "a", fs::perms(0640));
  fs::create_hard_link(temp / "a", temp / "twin");
  {
    NewFile file(temp / "a");
    file.out() << "half" << std::flush;
    EXPECT_EQ(text_of(temp / "a"), "old");
  }
  EXPECT_EQ(text_of(temp / "a"), "old") << "it was not finished";
  write_file(temp / "a", "new");
  EXPECT_EQ(text_of(temp / "a"), "new");
  EXPECT_EQ(fs::status(temp / "a").permissions(), fs::perms(0640));
  EXPECT_EQ(text_of(temp / "twin"), "old");
  EXPECT_EQ(names_in(temp.path()).size(), 2u) << "nothing else is left";
}

TEST(NewFileTest, IsNotThereIfTheDiskIsFull) {
  const Folder temp;
  temp.write("a", "old");
  const auto write_much = [&] {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit small{1 << 16, 1 << 16};
    setrlimit(RLIMIT_FSIZE, &small);
    for (const char* name : {"a", "b"}) {
      try {
        write_file(temp / name, std::string(1 << 20, 'x'));
        _exit(1);
      } catch (const Error& error) {
        if (error.code() != ExitCode::kEnvironment) _exit(2);
        if (std::string(error.what()).find("File too large: allow larger files") == std::string::npos) _exit(4);
      }
    }
    _exit(text_of(temp / "a") == "old" && names_in(temp.path()).size() == 1 ? 0 : 3);
  };
  EXPECT_EXIT(write_much(), testing::ExitedWithCode(0), "");
}

TEST(NewFileTest, IsWrittenWhereItIsIfItIsAPipeOrDevice) {
  const Folder temp;
  ASSERT_EQ(mkfifo((temp / "pipe").c_str(), 0600), 0);
  const int reader = open((temp / "pipe").c_str(), O_RDONLY | O_NONBLOCK);
  write_file(temp / "pipe", "text");
  char text[8] = {};
  EXPECT_EQ(read(reader, text, sizeof text), 4);
  EXPECT_STREQ(text, "text");
  close(reader);
  write_file("/dev/null", "text");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST(UnfinishedFolderTest, IsThereOnceItIsFinished) {
  const Folder temp;
  fs::create_directory(temp / "empty");
  for (const char* name : {"new", "empty", "slash/"}) {
    {
      const UnfinishedFolder lost(temp / name);
      fs::create_directories(lost.path());
      std::ofstream(lost.path() + "/a") << "a";
    }
    EXPECT_FALSE(fs::exists(temp / name + "/a"));
    UnfinishedFolder place(temp / name);
    fs::create_directories(place.path());
    std::ofstream(place.path() + "/a") << "a";
    EXPECT_FALSE(fs::exists(temp / name + "/a"));
    place.finish();
    EXPECT_EQ(text_of(temp / name + "/a"), "a");
  }
  EXPECT_EQ(names_in(temp.path()).size(), 3u);
}

}  // namespace
}  // namespace hopbench
