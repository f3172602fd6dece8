// The files that the program writes, and those that it must not touch.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/cli/cli.h"

namespace hopbench {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class Writing : public testing::Test {
 protected:
  Writing() { folder_.write("a.toml", small_suite()); }

  Ended run(const Args& words, const Args& variables = {}) const { return hopbench(folder_.path(), words, variables); }
  Ended fine(const Args& words) const {
    const Ended ended = run(words);
    EXPECT_EQ(ended.code, 0) << ended.err;
    return ended;
  }
  /// Ends with this code and says so, before any trial, and leaves every file as it was.
  void refused(const Args& words, const std::string& says, int code = 2) const {
    SCOPED_TRACE(words.back());
    const std::string before = contents(folder_.path());
    const Ended ended = run(words);
    EXPECT_EQ(ended.code, code) << ended.err;
    EXPECT_EQ(ended.out, "");
    EXPECT_THAT(ended.err, AllOf(HasSubstr(says), Not(HasSubstr("[1/"))));
    EXPECT_EQ(contents(folder_.path()), before);
  }
  std::string at(const std::string& name) const { return folder_ / name; }

  Folder folder_;
};

TEST_F(Writing, ResultsIntoAFolderOfTheUsersIsRefused) {
  folder_.write("d/suite.toml", "# my comments\n" + small_suite());
  const std::string mine = text_of(at("d/suite.toml"));
  refused({"run", "d/suite.toml", "-o", "d"}, "d holds d/suite.toml, which this run reads");
  refused({"run", "a.toml", "-o", "d"}, "d is not empty and does not hold a run of hopbench (suite.toml)");
  const Ended inside = hopbench(at("d"), {"run", "suite.toml", "-o", "."});
  EXPECT_EQ(inside.code, 2) << inside.err;
  EXPECT_EQ(text_of(at("d/suite.toml")), mine);
  folder_.write("both/small/trials.csv", "mine");
  refused({"run", "a.toml", at("d/suite.toml"), "-o", "both"}, "both/small is not empty");
}

TEST_F(Writing, ASuiteIsNotLetOutOfItsFolderByItsName) {
  fs::create_directory(at("sub"));
  folder_.write("up.toml", with(small_suite(), "\"small\"", "\"..\""));
  folder_.write("here.toml", with(small_suite(), "\"small\"", "\".\""));
  fine({"run", "up.toml", "here.toml", "-f", "random/hop", "-o", "sub/out"});
  for (const char* name : {"sub/out/%2E.", "sub/out/%2E"}) EXPECT_TRUE(fs::exists(at(name) + "/trials.csv")) << name;
  EXPECT_FALSE(fs::exists(at("sub/trials.csv")));
  EXPECT_FALSE(fs::exists(at("sub/out/trials.csv")));
}

TEST_F(Writing, OutputsAreCheckedBeforeTheFirstTrial) {
  refused({"run", "a.toml", "--github-summary"}, "$GITHUB_STEP_SUMMARY is not set");
  refused({"run", "a.toml", "--junit", "no/x.xml"}, "--junit=no/x.xml: there is no folder no");
  refused({"run", "a.toml", "--csv=/proc/x"}, "--csv=/proc/x: cannot be written");
  refused({"run", "a.toml", "-o", "new", "--json=a.toml"}, "--json=a.toml: this command itself reads or writes");
  fs::create_directory(at("empty"));
  refused({"run", "a.toml", "-o", "empty", "--json=empty/trials.jsonl"}, "itself reads or writes that file");
  folder_.write("file", "");
  refused({"run", "a.toml", "a2.toml", "-o", "file"}, "a2.toml");
  folder_.write("b.toml", with(small_suite(), "\"small\"", "\"other\""));
  folder_.write("base/other", "");
  refused({"run", "a.toml", "b.toml", "-o", "base"}, "cannot make base/other", 6);
}

TEST_F(Writing, OutputsDoNotReplaceARunOrWhatIsRead) {
  fine({"run", "a.toml", "-o", "run"});
  refused({"report", "run", "-o", "run/trials.jsonl"}, "-o run/trials.jsonl: that file is part of a run");
  refused({"report", "run", "--latex", "-o", "run/suite.toml"}, "part of a run");
  refused({"trace", "run", "-o", "run/context.json"}, "part of a run");
  refused({"run", "--resume", "run", "--csv=run/trials.csv"}, "itself reads or writes");
  refused({"compare", "run/trials.csv", "run", "--csv=run/trials.csv"}, "itself reads or writes");
}

TEST_F(Writing, ALinkInARunsFolderIsNotWrittenThrough) {
  fine({"run", "a.toml", "-o", "run", "-f", "random/hop"});
  folder_.write("mine", "mine");
  for (const char* name : {"run/report.html", "run/trace.json"}) fs::create_symlink("../mine", at(name));
  refused({"report", "run"}, "run/report.html: a symbolic link in a run's folder is not written through");
  refused({"trace", "run"}, "run/trace.json: a symbolic link");
  refused({"report", "run", "--latex", "-o", "run/report.html"}, "-o run/report.html: a symbolic link");
  refused({"report", "run", "--trials", "-1", "-o", "page.html"}, "--trials: Value -1 not in range");
  EXPECT_EQ(text_of(at("mine")), "mine");
  fs::remove(at("run/report.html"));
  fs::create_hard_link(at("mine"), at("run/report.html"));
  refused({"report", "run"}, "run/report.html: a file in a run's folder that has other names");
  EXPECT_EQ(text_of(at("mine")), "mine");
  fs::remove(at("run/report.html"));
  folder_.write("run/report.html", "an older page");
  fine({"report", "run"});
  EXPECT_NE(text_of(at("run/report.html")), "an older page");
}

TEST_F(Writing, AResumedRunWritesIntoItsOwnFolderOnly) {
  fine({"run", "a.toml", "-o", "run", "-f", "random/hop"});
  folder_.write("run/trials.jsonl", "");  // all trials run again
  folder_.write("mine", "mine");
  std::vector<fs::path> logs;
  for (const auto& log : fs::directory_iterator(at("run/events"))) logs.push_back(log.path());
  ASSERT_FALSE(logs.empty());
  for (const fs::path& log : logs) {
    fs::remove(log);
    fs::create_hard_link(at("mine"), log);
  }
  fine({"run", "--resume", "run", "-f", "random/hop"});
  EXPECT_EQ(text_of(at("mine")), "mine");
  EXPECT_NE(text_of(logs[0]), "mine");
  fs::create_hard_link(at("run/trials.jsonl"), at("backup"));
  refused({"run", "--resume", "run", "-f", "random/hop"}, "run/trials.jsonl has other names");
  fs::remove(at("backup"));
  fs::rename(at("run/events"), at("elsewhere"));
  fs::create_directory_symlink("../elsewhere", at("run/events"));
  refused({"run", "--resume", "run", "-f", "random/hop"}, "run/events is a symbolic link");
}

TEST_F(Writing, AFolderOnTheWayToTheResultsIsNotMade) {
  fine({"run", "a.toml", "-f", "random/hop", "-o", "newdir/../d"});
  EXPECT_FALSE(fs::exists(at("newdir")));
  EXPECT_TRUE(fs::exists(at("d/trials.csv")));
  refused({"run", "a.toml", "-o", "newdir/../d"}, "d holds a run already");
}

TEST_F(Writing, AFileBehindAnOutputFlagIsHintedAt) {
  const char* const hint =
      "note: --csv alone prints to standard output, and b.csv is read as a suite: write --csv=b.csv";
  refused({"run", "a.toml", "--csv", "b.csv"}, hint);
  EXPECT_THAT(fine({"run", "--csv", "a.toml", "-f", "random/hop", "-o", "d"}).err, Not(HasSubstr("note: --csv")));
}

TEST_F(Writing, WhatWasMeasuredIsWrittenAlsoIfTheBaselineIsRefused) {
  folder_.write("b.toml", with(small_suite(), "10ms", "11ms"));
  const Args as_baseline{"--save-baseline", "main", "--baselines", "kept"};
  Args first{"run", "a.toml", "-o", "one"}, second{"run", "b.toml", "-o", "two", "--csv=two.csv"};
  for (Args* words : {&first, &second}) words->insert(words->end(), as_baseline.begin(), as_baseline.end());
  fine(first);
  const Ended refused = run(second);
  EXPECT_EQ(refused.code, 2) << refused.err;
  EXPECT_THAT(refused.err, HasSubstr("baseline main would change"));
  EXPECT_EQ(count_lines(text_of(at("two.csv"))), 5u);
}

TEST_F(Writing, ASummaryIsNotAppendedToARunOrASuite) {
  fine({"run", "a.toml", "-o", "done"});
  for (const std::string& mine : {at("a.toml"), at("done/trials.jsonl")}) {
    const std::string before = text_of(mine);
    const Ended ended = run({"run", "a.toml", "-o", "new", "--github-summary"}, {"GITHUB_STEP_SUMMARY=" + mine});
    EXPECT_EQ(ended.code, 2) << ended.err;
    EXPECT_EQ(text_of(mine), before);
  }
}

TEST_F(Writing, ANewProtocolReplacesNothing) {
  fine({"new", "protocol", "bar", "u"});
  folder_.write("u/bar.cpp", "// my work");
  refused({"new", "protocol", "bar", "u"}, "u/bar.cpp is there already");
  refused({"new", "protocol", "bar", "nope/../u"}, "u/bar.cpp is there already");
}

TEST_F(Writing, HelpIsOfCommandsThatThereAre) {
  for (const Args& words :
       {Args{"--help"}, Args{"run", "--help"}, Args{"bench", "sim", "--help"}, Args{"list", "--help"}})
    EXPECT_EQ(fine(words).err, "");
  refused({"bench", "smi", "--help"}, "unknown command 'smi'. Did you mean 'sim'?");
  refused({"nosuchcommand", "-h"}, "unknown command 'nosuchcommand'");
}

TEST_F(Writing, ATunedSuiteReplacesNoScratchFileOfTheUsers) {
  folder_.write("a.toml", small_suite() + "[[measure]]\nwhat = \"convergence\"\nsamples = 400\nevaluations = 4\n" +
                              "[tune]\nscenario = \"homogeneous\"\ntrials = 3\n");
  folder_.write("a.tuned.toml.part", "mine");
  fine({"tune", "a.toml"});
  EXPECT_EQ(text_of(at("a.tuned.toml.part")), "mine");
}

}  // namespace
}  // namespace hopbench
