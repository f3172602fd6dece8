// Commands over results, from outside: compare, why, trace, baseline, gate, cite.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/cli/over_results.h"
#include "tests/paths.h"

namespace hopbench {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

TEST_F(OverResults, ACommonWayThroughAGate) {
  fine({"baseline", "save", "main", "run"});
  EXPECT_THAT(fine({"baseline", "list"}).out, HasSubstr("main"));
  EXPECT_THAT(fine({"baseline", "show", "main"}).out, HasSubstr("small/rate/random/hop/1/0"));
  fine({"run", "a.toml", "-o", "again", "--events", "all", "--strands", "threads"});
  EXPECT_THAT(fine({"gate", "--baseline", "main", "again"}).out, HasSubstr("compared 4 of 4 rows of again with main"));
  fine({"baseline", "rm", "main"});
  EXPECT_THAT(run({"gate", "--baseline", "main", "again"}, {"CI=1"}).out, HasSubstr("there is no baseline main"));
  EXPECT_EQ(run({"gate", "--baseline", "main", "again"}, {"CI=1"}).code, 5);
  EXPECT_EQ(run({"gate", "--baseline", "main", "again", "--advisory"}).code, 5) << "nothing was compared";
}

TEST_F(OverResults, AGateSaysWhereTheSuitesDiffer) {
  fine({"baseline", "save", "main", "run"});
  EXPECT_THAT(run({"gate", "--baseline", "mian", "run"}).out, HasSubstr("Did you mean 'main'?"));
  fine({"run", "a.toml", "-o", "other", "--events", "all", "--set", "compute.noise=0.01", "--set", "run.warmup=12"});
  for (const Args& more : {Args{}, Args{"--virtual-threshold", "5"}}) {
    Args words{"gate", "--baseline", "main", "other"};
    words.insert(words.end(), more.begin(), more.end());
    const Ended ended = run(words);
    EXPECT_EQ(ended.code, 5);
    EXPECT_THAT(ended.out, HasSubstr("the suites differ (baseline; this run): compute.noise: "));
    EXPECT_THAT(ended.out, HasSubstr("; 0.01, run.warmup: "));
  }
  EXPECT_THAT(fine({"gate", "--baseline", "main", "run"}).out, Not(HasSubstr("the suites differ")));
  EXPECT_THAT(run({"gate", "--baseline", "main", "nowhere"}).err,
              HasSubstr("nowhere is not there, so it holds no run"));
  std::filesystem::remove(at("other/suite.toml"));
  EXPECT_THAT(run({"gate", "--baseline", "main", "other"}).err, HasSubstr("put the run's own file there"));
}

TEST_F(OverResults, AGateSaysThatATraceHasChanged) {
  const Args with_trace{"run", "a.toml", "--set",
                        "scenario.random.compute=[{ kind = \"trace\", file = \"t.csv\", map = \"resample_ranks\", "
                        "slot = \"1s\" }]",
                        "-o"};
  const auto runs = [&](const std::string& factor, const std::string& folder) {
    folder_.write("t.csv", "rank,time,factor\n0,0,1\n0,1," + factor + "\n");
    Args words = with_trace;
    words.push_back(folder);
    fine(words);
  };
  runs("2", "before");
  fine({"baseline", "save", "traced", "before"});
  runs("3", "after");
  const Ended ended = fine({"gate", "--baseline", "traced", "after"});  // the other scenario's rows are comparable
  EXPECT_THAT(ended.out, HasSubstr("the suites differ (baseline; this run): scenario 'random' compute 1.digest: \""));
  EXPECT_THAT(ended.out, HasSubstr("compared 2 of 4 rows of after with traced"));
}

TEST_F(OverResults, ATornRunIsSaid) {
  fine({"run", "a.toml", "-o", "torn"});
  const std::string rows = text_of(at("torn/trials.jsonl"));
  folder_.write("torn/trials.jsonl", rows.substr(0, rows.size() - 20));
  const char* const told = "torn/trials.jsonl ends in the middle of a line: 3 trials are left";
  EXPECT_THAT(fine({"why", "torn", "hop", "allreduce"}).err, HasSubstr(told));
  EXPECT_THAT(fine({"compare", "run", "torn"}).err, HasSubstr(told));
  EXPECT_THAT(fine({"compare", "run", "run"}).err, Not(HasSubstr("in the middle")));
}

TEST_F(OverResults, ABaselineIsOfAWholeSuiteUnlessAskedOtherwise) {
  fine({"run", "a.toml", "-o", "part", "-f", "hop"});
  const Ended part = run({"baseline", "save", "main", "part"});
  EXPECT_EQ(part.code, 2) << part.err;
  EXPECT_THAT(
      part.err,
      HasSubstr("part lacks 2 of the 4 trials of its suite, for example small/rate/homogeneous/allreduce/1/0: run them "
                "(run --resume part), or keep the others alone with --partial"));
  fine({"baseline", "save", "main", "part", "--partial"});
  EXPECT_THAT(run({"run", "--resume", "results/baselines/main"}).err,
              HasSubstr("results/baselines/main is a baseline"));
  folder_.write("part/suite.toml", "x = [");
  EXPECT_THAT(run({"baseline", "save", "main", "part", "--partial"}).err, HasSubstr("part/suite.toml:1:"));
}

TEST_F(OverResults, ADamagedContextIsSaid) {
  fine({"run", "a.toml", "-o", "odd"});
  folder_.write("odd/context.json", "[1,2");
  for (const Args& words : {Args{"compare", "run", "odd"}, Args{"report", "odd"}, Args{"report", "odd", "--latex"},
                            Args{"baseline", "save", "main", "odd"}, Args{"run", "--resume", "odd"},
                            Args{"run", "--resume", "odd", "--force"}, Args{"gate", "--baseline", "run", "odd"},
                            Args{"gate", "--baseline", "odd", "run"},
                            Args{"gate", "--baseline", "run", "odd", "--virtual-threshold", "5"}}) {
    const Ended ended = run(words);
    EXPECT_EQ(ended.code, 2) << words.front();
    EXPECT_THAT(ended.err, HasSubstr("odd/context.json is damaged")) << words.front();
  }
}

TEST_F(OverResults, ANameWithAnEscapeIsRefused) {
  fine({"run", "a.toml", "-o", "odd"});
  const std::string rows = text_of(at("odd/trials.jsonl"));
  folder_.write("odd/trials.jsonl", with(rows, "\"variant\":\"hop", "\"variant\":\"\\u001b[2Jhop"));
  for (const Args& words : {Args{"compare", "run", "odd"}, Args{"report", "odd", "--latex"},
                            Args{"why", "odd", "a", "b"}, Args{"gate", "--baseline", "run", "odd"},
                            Args{"baseline", "save", "main", "odd"}, Args{"run", "--resume", "odd", "--csv=-"}}) {
    const Ended ended = run(words);
    EXPECT_EQ(ended.code, 2) << words.front();
    EXPECT_THAT(ended.err, AllOf(HasSubstr("odd/trials.jsonl:"), HasSubstr("'variant' is '\\u001b[2Jhop"),
                                 HasSubstr("take the line out")));
    EXPECT_THAT(ended.out + ended.err, Not(HasSubstr("\x1b")));
  }
}

TEST_F(OverResults, WhatIsNoRunIsNoInternalError) {
  folder_.write("odd/trials.jsonl/x", "");
  folder_.write("odd/suite.toml", "");
  folder_.write("odd/context.json", "{}");
  for (const Args& words :
       {Args{"compare", "run", "odd"}, Args{"report", "odd"}, Args{"baseline", "save", "main", "odd"},
        Args{"why", "odd", "a", "b"}, Args{"trace", "odd"}, Args{"gate", "--baseline", "run", "odd"}}) {
    const Ended ended = run(words);
    EXPECT_EQ(ended.code, 2) << words.front() << ended.err;
    EXPECT_THAT(ended.err, HasSubstr("odd/trials.jsonl cannot be read: Is a directory")) << words.front();
  }
}

TEST_F(OverResults, WhoSaysCiIsFalseIsNotHeldToIt) {
  fine({"baseline", "save", "main", "run"});
  const char* const lenient = "not strict: inconclusive and incomparable rows do not count";
  EXPECT_THAT(run({"gate", "--baseline", "main", "run"}, {"CI=1"}).out, Not(HasSubstr(lenient)));
  for (const char* ci : {"CI=false", "CI=0", "CI="})
    EXPECT_THAT(run({"gate", "--baseline", "main", "run"}, {ci}).out, HasSubstr(lenient)) << ci;
}

// A side that is no hopbench, and takes its time.
TEST_F(OverResults, ATimedGateThatIsEndedLeavesNothing) {
  folder_.write("tmp/x", "");
  std::filesystem::remove(at("tmp/x"));
  Running gate(folder_.path(), {"gate", "--base", "sh -c 'sleep 60'", "--head", "true", "a.toml"},
               {"TMPDIR=" + at("tmp")});
  EXPECT_TRUE(soon([&] { return contents(at("tmp")).find(".log") != std::string::npos; }));
  ::kill(-gate.pid(), SIGTERM);  // as a terminal or a scheduler does: to all of them
  EXPECT_EQ(gate.wait().code, 128 + SIGTERM);
  EXPECT_EQ(contents(at("tmp")), "");
}

TEST_F(OverResults, AReportsChecksTakeNothingThatWouldNotCount) {
  for (const char* flag : {"-o", "--filter"}) {
    const Ended refused = run({"report", "run", "--check", flag, "x"});
    EXPECT_EQ(refused.code, 2) << flag;
    EXPECT_THAT(refused.err, HasSubstr("--check")) << flag;
  }
  EXPECT_EQ(run({"report", "run", "--check", "--cost"}).code, 2);
}

TEST_F(OverResults, ATimedGateRefusesBeforeItRuns) {
  const Ended nowhere = run({"gate", "--base", "/nowhere/x", "--head", "/nowhere/y", "a.toml"});
  EXPECT_EQ(nowhere.code, 2);
  EXPECT_THAT(nowhere.err, HasSubstr("/nowhere/x: there is no such program"));
  const Ended other = run({"gate", "--base", "true", "--head", "true", "a.toml"});
  EXPECT_EQ(other.code, 2);
  EXPECT_THAT(other.err, HasSubstr("true wrote no results: is it hopbench?"));
  const Ended paced = run({"gate", "--base", "true", "--head", "true", source_dir() + "/suites/cnn_hetero.toml"});
  EXPECT_EQ(paced.code, 2);
  EXPECT_THAT(paced.err, HasSubstr("is paced, in which a slowdown would hide"));
}

// A rate that is infinite would make any head pass.
TEST_F(OverResults, ATimedGateComparesNoRateThatIsInfinite) {
  const std::string broken = at("broken");
  folder_.write(
      "broken",
      "#!/bin/sh\n" + program() +
          " \"$@\" || exit\n"
          "for word; do case $word in --json=*)\n"
          "  sed -i 's/\"samples_per_s\": *[0-9][0-9.e+]*/\"samples_per_s\":\"inf\"/' \"${word#--json=}\" ;;\n"
          "esac; done\n");
  std::filesystem::permissions(broken, std::filesystem::perms::owner_all);
  const Ended ended = run({"gate", "--base", broken, "--head", program(), at("a.toml"), "--filter",
                           "homogeneous/allreduce", "--pairs", "3"});
  EXPECT_EQ(ended.code, 2);
  EXPECT_THAT(ended.err, AllOf(HasSubstr("the results of " + broken), HasSubstr("its 'samples_per_s' is inf")));
}

// Another schedule of the same trials: --shuffle is part of the settings, so here the rows of the baseline are changed.
TEST_F(OverResults, AChangedNumberFailsAndSavingItWantsAReason) {
  fine({"run", "a.toml", "-o", "other", "--events", "all"});
  const std::string rows = text_of(at("other/trials.jsonl"));
  folder_.write("other/trials.jsonl", with(rows, "\"messages_sent\":", "\"messages_sent\":1"));
  fine({"baseline", "save", "main", "run"});
  const Ended ended = run({"gate", "--baseline", "main", "other", "--junit", at("g.xml"), "--json", at("gate.json"),
                           "--benchmark-json", at("b.json")});
  EXPECT_EQ(ended.code, 1);
  EXPECT_THAT(ended.out, AllOf(HasSubstr("regression"), HasSubstr("messages_sent: "), HasSubstr("the gate fails")));
  EXPECT_THAT(text_of(at("g.xml")), HasSubstr("failures=\"1\""));
  EXPECT_EQ(nlohmann::json::parse(text_of(at("gate.json"))).at("exit"), 1);
  EXPECT_EQ(nlohmann::json::parse(text_of(at("b.json"))).at("benchmarks").size(), 8u);
  const Ended refused = run({"baseline", "save", "main", "other"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("--reason"));
  fine({"baseline", "save", "main", "other", "--reason", "tests want it"});
  EXPECT_THAT(fine({"baseline", "show", "main"}).out, HasSubstr("tests want it"));
  fine({"gate", "--baseline", "main", "other"});
}

TEST_F(OverResults, AnotherSeedIsMissingRowsAndNewOnes) {
  fine({"run", "a.toml", "-o", "other", "--seed", "9", "--save-baseline", "other"});
  const Ended ended = run({"gate", "--baseline", "other", "run"});
  EXPECT_EQ(ended.code, 1);
  EXPECT_THAT(ended.out, AllOf(HasSubstr("4 missing"), HasSubstr("4 new")));
}

TEST_F(OverResults, CompareTakesFoldersTablesAndDocuments) {
  fine({"run", "a.toml", "-o", "again", "--json=again.json"});
  const Ended ended = fine({"compare", "run", "again", "again.json", "run/trials.csv"});
  EXPECT_THAT(ended.out, AllOf(HasSubstr("small / rate / random"), HasSubstr("1.00x"), HasSubstr("no-change")));
  EXPECT_THAT(ended.out, Not(HasSubstr("regression")));
  EXPECT_THAT(fine({"compare", "run", "again", "--csv"}).out, StartsWith("suite,measure,"));
  const Ended nowhere = run({"compare", "run", "nowhere"});
  EXPECT_EQ(nowhere.code, 2);
  EXPECT_THAT(nowhere.err, HasSubstr("nowhere is neither a folder"));
  EXPECT_EQ(run({"compare", "run"}).code, 2);
}

TEST_F(OverResults, CompareRefusesOtherSettings) {
  fine({"run", "a.toml", "-o", "other", "--set", "model.batch=16"});
  const Ended ended = run({"compare", "run", "other"});
  EXPECT_EQ(ended.code, 2);
  EXPECT_THAT(ended.err, AllOf(HasSubstr("batch: "), HasSubstr("--any-context")));
  EXPECT_THAT(fine({"compare", "run", "other", "--any-context"}).out, HasSubstr("hop"));
}

TEST_F(OverResults, WhySaysASentenceAndDrawsBars) {
  const Ended ended = fine({"why", "run", "hop", "allreduce", "--filter", "random"});
  EXPECT_THAT(ended.out, AllOf(HasSubstr("rate / random\n"), HasSubstr("hop is "), HasSubstr("along the critical path"),
                               HasSubstr("compute")));
  EXPECT_THAT(ended.out, Not(HasSubstr("homogeneous")));
  const Ended unknown = run({"why", "run", "hop", "hopp"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("there are allreduce, hop"));
  EXPECT_THAT(run({"why", "run"}).err, HasSubstr("name two variants of this run: there are allreduce, hop"));
  EXPECT_EQ(run({"why", "run", "hop"}).code, 2);
}

TEST_F(OverResults, TraceIsOneJsonDocumentWhoseArrowsMeet) {
  fine({"trace", "run", "--filter", "random/hop"});
  const nlohmann::json trace = nlohmann::json::parse(text_of(at("run/trace.json")));
  std::map<std::string, int> phases, starts, names;
  for (const nlohmann::json& event : trace.at("traceEvents")) {
    const std::string phase = event.at("ph");
    ++phases[phase];
    ++names[event.at("name").get<std::string>()];
    if (phase != "M") {
      EXPECT_GE(event.at("ts").get<double>(), 0);
    }
    if (phase == "X") {
      EXPECT_GE(event.at("dur").get<double>(), 0);
    }
    if (phase == "s") ++starts[event.at("id").dump()];
    if (phase == "f") {
      EXPECT_EQ(starts[event.at("id").dump()], 1) << "an arrow that never began";
    }
  }
  EXPECT_EQ(phases["M"], 5) << "one trial, four ranks";
  EXPECT_GT(phases["s"], 20);
  EXPECT_GE(phases["s"], phases["f"]);
  EXPECT_GT(phases["f"], phases["s"] / 2);
  EXPECT_GT(names["gradient"], 20);
  EXPECT_GT(names["gap, rank 0"], 5);
  EXPECT_EQ(run({"trace", "run", "--filter", "nothing"}).code, 2);
}

TEST_F(OverResults, TraceWantsEventLogs) {
  fine({"run", "a.toml", "-o", "silent", "--events", "none"});
  const Ended ended = run({"trace", "silent"});
  EXPECT_EQ(ended.code, 2);
  EXPECT_THAT(ended.err, HasSubstr("--no-events"));
}

TEST_F(OverResults, TimedGateRunsBothSidesInTurns) {
  const std::string self = program();
  const Ended ended =
      run({"gate", "--base", self, "--head", "env DNNL_VERBOSE=0 " + self, at("a.toml"), "--filter",
           "homogeneous/allreduce", "--pairs", "3", "--most", "4", "--threshold", "1000", "--advisory"});
  EXPECT_EQ(ended.code, 0) << ended.out << ended.err;
  EXPECT_THAT(ended.out, AllOf(HasSubstr("compared 3 of 3 rows"), HasSubstr("noise of a pair of base with itself"),
                               HasSubstr("the sides differ in DNNL_VERBOSE: none; 0")));
}

TEST_F(OverResults, TimedGateFailsWithAHeadThatFails) {
  const Ended ended = run({"gate", "--base", program(), "--head", "false", at("a.toml"), "--filter",
                           "homogeneous/allreduce", "--pairs", "3"});
  EXPECT_EQ(ended.code, 1);
  EXPECT_THAT(ended.out, HasSubstr(" failed with exit code 1, and printed nothing: is it hopbench?"));
  const Ended base = run({"gate", "--base", "false", "--head", program(), at("a.toml")});
  EXPECT_EQ(base.code, 3);
  EXPECT_THAT(base.err, HasSubstr(" failed with exit code 1, and printed nothing: is it hopbench?"));
}

TEST_F(OverResults, TimedGateRefusesAPace) {
  const Ended ended = run({"gate", "--base", program(), "--head", program(), at("a.toml"), "--set",
                           "transport.name=gloo", "--set", "compute.pace=1ms", "--filter", "homogeneous/allreduce"});
  EXPECT_EQ(ended.code, 2);
  EXPECT_THAT(ended.err, HasSubstr("a slowdown would hide"));
}

TEST_F(OverResults, GateSaysWhatItWants) {
  EXPECT_THAT(run({"gate"}).err, HasSubstr("--baseline NAME"));
  EXPECT_EQ(run({"gate"}).code, 2);
  EXPECT_EQ(run({"gate", "--base", "x"}).code, 2);
  EXPECT_EQ(run({"gate", "--strict", "--advisory", "--baseline", "x"}).code, 2);
}

TEST_F(OverResults, CiteGivesTheToolAndThePapersOfARun) {
  const std::string out = fine({"cite", "run", "hop"}).out;
  EXPECT_THAT(out, AllOf(HasSubstr("@software{hopbench"), HasSubstr("author = {Luo and Lin and Zhuo and Qian}"),
                         HasSubstr("booktitle = {ASPLOS}"), HasSubstr("year = {2019}")));
  EXPECT_THAT(out,
              AllOf(HasSubstr("author = {{The hopbench authors}}"), HasSubstr("% Authors are given by their surnames"),
                    HasSubstr("@article{allreduce"), HasSubstr("journal = {Journal of Parallel and Distributed")));
  EXPECT_THAT(out, Not(HasSubstr("booktitle = {JPDC}")));
  EXPECT_THAT(fine({"cite"}).out, Not(HasSubstr("surnames")));
  EXPECT_EQ(run({"cite", "hopp"}).code, 2);
}

TEST_F(OverResults, RunsTellContinuousIntegration) {
  const Ended ended = run({"run", "a.toml", "-o", "ci", "--junit", at("run.xml"), "--github-summary"},
                          {"GITHUB_STEP_SUMMARY=" + at("summary.md")});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(text_of(at("run.xml")),
              AllOf(HasSubstr("tests=\"4\" failures=\"0\""), HasSubstr("small/rate/random/hop/1/0")));
  EXPECT_EQ(text_of(at("summary.md")), text_of(at("ci/summary.md")));
}

}  // namespace
}  // namespace hopbench
