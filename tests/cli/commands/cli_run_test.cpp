// Runs from outside: outputs, the same bytes again, interrupts and what goes on after them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/cli/cli.h"
#include "tests/paths.h"

namespace hopbench {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

/// Tables that must repeat byte for byte in virtual time.
std::string tables(const std::string& run) {
  const std::string all =
      text_of(run + "/trials.csv") + "----\n" + text_of(run + "/ranks.csv") + "----\n" + text_of(run + "/curve.csv");
  EXPECT_GT(all.size(), 1000u) << run;
  return all;
}

class Runs : public testing::Test {
 protected:
  Runs() { folder_.write("a.toml", small_suite()); }

  Ended run(const Args& words) const { return hopbench(folder_.path(), words); }
  Ended fine(const Args& words) const {
    const Ended ended = run(words);
    EXPECT_EQ(ended.code, 0) << ended.err;
    return ended;
  }
  std::string at(const std::string& name) const { return folder_ / name; }
  std::size_t rows(const std::string& run) const { return count_lines(text_of(at(run) + "/trials.jsonl")); }

  Folder folder_;
};

TEST_F(Runs, ListAndDryRunWriteNothing) {
  const std::string before = contents(folder_.path());
  const Ended list = fine({"run", "a.toml", "--list"});
  EXPECT_EQ(count_lines(list.out), 4u);
  EXPECT_THAT(list.out, HasSubstr("small/rate/random/hop/1/0\n"));
  EXPECT_EQ(list.err, "");
  EXPECT_THAT(fine({"run", "a.toml", "--dry-run"}).out, AllOf(HasSubstr("4 ranks on sim"), HasSubstr("4 trials")));
  EXPECT_EQ(contents(folder_.path()), before);
}

TEST_F(Runs, FlagsChooseTrialsRepeatsAndSeed) {
  EXPECT_EQ(fine({"run", "a.toml", "--list", "-f", "random/hop"}).out, "small/rate/random/hop/1/0\n");
  EXPECT_EQ(fine({"run", "a.toml", "--list", "-f", "random", "--exclude", "hop"}).out,
            "small/rate/random/allreduce/1/0\n");
  EXPECT_EQ(count_lines(fine({"run", "a.toml", "--list", "-r", "3"}).out), 12u);
  EXPECT_THAT(fine({"run", "a.toml", "--list", "--seed", "9"}).out, HasSubstr("small/rate/random/hop/9/0\n"));
  const Ended variable = hopbench(folder_.path(), {"run", "a.toml", "--list"}, {"HOPBENCH_RUNS=2"});
  EXPECT_EQ(count_lines(variable.out), 8u);
}

// Also the rows that --resume reads: they are in the plan's order, whichever trial ended first.
TEST_F(Runs, JobsChangeNoByteOfTheTables) {
  fine({"run", "a.toml", "-o", "one", "-j", "1", "-r", "3"});
  fine({"run", "a.toml", "-o", "four", "-j", "4", "-r", "3"});
  EXPECT_EQ(rows("one"), 12u);
  EXPECT_EQ(tables(at("one")), tables(at("four")));
  const auto order = [&](const char* run) {
    std::vector<std::string> ids;
    std::istringstream lines(text_of(at(run) + "/trials.jsonl"));
    for (std::string line; std::getline(lines, line);)
      ids.push_back(nlohmann::json::parse(line).at("record").at("id").get<std::string>());
    return ids;
  };
  EXPECT_EQ(order("one"), order("four"));
}

TEST_F(Runs, TablesGoToStandardOutputAndTheRestToStandardError) {
  const Ended ended = fine({"run", "a.toml"});
  EXPECT_THAT(ended.out, AllOf(HasSubstr("small / rate / random"), HasSubstr("allreduce"), HasSubstr("hop"),
                               Not(HasSubstr("\033[")), Not(HasSubstr("results: "))));
  EXPECT_THAT(ended.err, AllOf(StartsWith("hopbench "), HasSubstr("[4/4] small/rate/"),
                               ContainsRegex("results: hopbench-results/[0-9T]*Z-[0-9]*\n"), Not(HasSubstr("\r"))));
  EXPECT_THAT(fine({"run", "a.toml", "--color", "always"}).out, HasSubstr("\033["));
}

TEST_F(Runs, MachineReadableOutputStandsAloneOnStandardOutput) {
  const nlohmann::json json = nlohmann::json::parse(fine({"run", "a.toml", "--json"}).out);
  EXPECT_EQ(json.at("trials").size(), 4u);
  EXPECT_EQ(json.at("context").at("command").at(1), "run");
  const Ended csv = fine({"run", "a.toml", "--csv"});
  EXPECT_THAT(csv.out, StartsWith("trial,"));
  EXPECT_EQ(count_lines(csv.out), 5u);
}

TEST_F(Runs, FilesGetTheSameAsTheFolder) {
  const Ended ended = fine({"run", "a.toml", "-o", "run", "--csv=x.csv", "--json=x.json", "--markdown=" + at("x.md")});
  EXPECT_THAT(ended.out, HasSubstr("small / rate / random"));
  EXPECT_EQ(text_of(at("x.csv")), text_of(at("run/trials.csv")));
  EXPECT_EQ(text_of(at("x.md")), text_of(at("run/summary.md")));
  EXPECT_EQ(nlohmann::json::parse(text_of(at("x.json"))).at("trials").size(), 4u);
  for (const char* name : {"suite.toml", "context.json", "host.csv"}) EXPECT_NE(text_of(at("run") + "/" + name), "");
}

TEST_F(Runs, SeveralSuitesMakeOneJsonDocumentAndAFolderEach) {
  folder_.write("b.toml", with(small_suite(), "\"small\"", "\"other\""));
  const Ended ended = fine({"run", "a.toml", "b.toml", "-o", "both", "--json", "--csv=x.csv"});
  EXPECT_EQ(nlohmann::json::parse(ended.out).at("trials").size(), 8u);
  EXPECT_EQ(count_lines(text_of(at("x.csv"))), 9u);
  EXPECT_EQ(rows("both/small"), 4u);
  EXPECT_EQ(rows("both/other"), 4u);
}

TEST_F(Runs, VirtualTimeRepeatsByteForByteHoweverItIsComputed) {
  folder_.write("a.toml", small_suite() + "[[measure]]\nwhat = \"convergence\"\nsamples = 600\nevaluations = 4\n");
  fine({"run", "a.toml", "-o", "1"});
  fine({"run", "a.toml", "-o", "2"});
  fine({"run", "a.toml", "-o", "threads", "--strands", "threads"});
  fine({"run", "a.toml", "-o", "one", "--threads", "1"});
  fine({"run", "a.toml", "-o", "two", "--threads", "2", "--no-events"});
  for (const char* other : {"2", "threads", "one", "two"}) EXPECT_EQ(tables(at(other)), tables(at("1"))) << other;
  fine({"run", "a.toml", "-o", "seed", "--seed", "2"});
  EXPECT_NE(tables(at("seed")), tables(at("1")));
  EXPECT_THAT(contents(at("1/events")), HasSubstr("hop"));
  EXPECT_THAT(contents(at("two/events")), IsEmpty());
}

// --- Going on with a run

/// A suite of a few real trials, about half a second each.
std::string real_suite() {
  std::string text = with(small_suite(), "name = \"sim\"", "name = \"gloo\"");
  return with(text, "iterations = 8", "iterations = 15\nwarmup = 0");
}

/// Returns the message about such rows, of 8 trials in all.
std::string says_interrupted(const std::string& rows) {
  std::size_t cut_short = 0;
  for (std::size_t i = 0; (i = rows.find("\"status\":\"interrupted\"", i)) != std::string::npos; ++i) ++cut_short;
  return "interrupted: " + std::to_string(count_lines(rows) - cut_short) + " of 8 trials are done" +
         (cut_short > 0 ? ", " + std::to_string(cut_short) + " recorded as interrupted" : "") +
         "; go on with: hopbench run --resume part\n";
}

/// One in virtual time whose trials take long enough to be interrupted.
std::string long_suite() {
  std::string text = with(small_suite(), "size = 64", "size = 1000");
  return with(text, "iterations = 8", "iterations = 100") + "[[measure]]\nwhat = \"convergence\"\nevaluations = 10\n";
}

TEST_F(Runs, ResumedAfterAnInterruptGiveTheTablesOfAnUndisturbedRun) {
  folder_.write("a.toml", long_suite());
  fine({"run", "a.toml", "-o", "whole", "-r", "2"});
  ASSERT_EQ(rows("whole"), 8u);
  const Args go_on{"run", "--resume", "part"};
  for (const int signal : {SIGINT, SIGTERM, SIGKILL}) {
    SCOPED_TRACE(signal);
    Running interrupted(folder_.path(), {"run", "a.toml", "-o", "part", "-r", "2"});
    ASSERT_TRUE(soon([&] { return rows("part") >= 2; }));
    interrupted.send(signal);
    const Ended ended = interrupted.wait();
    EXPECT_EQ(ended.code, 128 + signal) << ended.err;
    if (signal != SIGKILL) {
      EXPECT_THAT(ended.err, EndsWith(says_interrupted(text_of(at("part/trials.jsonl")))));
    }
    EXPECT_GE(rows("part"), 2u);
    EXPECT_LT(rows("part"), 8u) << "it was too fast to be interrupted";
    const Ended rest = fine(go_on);
    EXPECT_THAT(rest.err, ContainsRegex("[0-9]* of 8 trials are done already"));
    EXPECT_EQ(tables(at("part")), tables(at("whole")));
    EXPECT_THAT(fine(go_on).err, HasSubstr("8 of 8 trials are done already"));
    EXPECT_EQ(tables(at("part")), tables(at("whole")));
    std::filesystem::remove_all(at("part"));
  }
}

TEST_F(Runs, ResumedKeepTheNotesOnTheirSuite) {
  folder_.write("a.toml", small_suite() + "[[protocol]]\nname = \"ps_bsp\"\n");
  fine({"run", "a.toml", "-o", "part", "-f", "ps_bsp"});
  const std::string before = text_of(at("part/summary.md"));
  ASSERT_THAT(before, HasSubstr("pushes overlap with the backward pass; overlap = false"));
  fine({"run", "--resume", "part", "-f", "ps_bsp"});
  EXPECT_EQ(text_of(at("part/summary.md")), before);
}

TEST_F(Runs, InterruptedWithRealProcessesLeaveNoneOfThem) {
  folder_.write("a.toml", with(real_suite(), "iterations = 15", "iterations = 100000"));
  Running running(folder_.path(), {"run", "a.toml", "-o", "part", "-f", "dpsgd|hop"});
  std::vector<pid_t> ranks;
  ASSERT_TRUE(soon([&] { return (ranks = running.ranks()).size() == 4; }));
  running.send(SIGINT);
  const Ended ended = running.wait();
  EXPECT_EQ(ended.code, 130) << ended.err;
  EXPECT_THAT(ended.err, ContainsRegex("interrupted: 0 of [1-7] trials"));
  EXPECT_THAT(ended.err, HasSubstr("hopbench run --resume part --filter 'dpsgd|hop'\n"));
  for (const pid_t rank : ranks) EXPECT_NE(kill(rank, 0), 0) << "a rank is left";
  EXPECT_EQ(rows("part"), 1u);
  EXPECT_THAT(text_of(at("part/trials.jsonl")), HasSubstr("\"interrupted\""));
}

TEST_F(Runs, InterruptedTwiceKillRanksThatDoNotAnswer) {
  folder_.write("a.toml", with(real_suite(), "iterations = 15", "iterations = 100000"));
  Running running(folder_.path(), {"run", "a.toml", "-o", "part"});
  std::vector<pid_t> ranks;
  ASSERT_TRUE(soon([&] { return (ranks = running.ranks()).size() == 4; }));
  for (const pid_t rank : ranks) kill(rank, SIGSTOP);
  running.send(SIGINT);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));  // two at once would be one
  running.send(SIGINT);
  EXPECT_EQ(running.wait().code, 130);
  for (const pid_t rank : ranks) EXPECT_NE(kill(rank, 0), 0) << "a rank is left";
}

TEST_F(Runs, KilledTakeTheirRanksWithThem) {
  folder_.write("a.toml", with(real_suite(), "iterations = 15", "iterations = 100000"));
  Running running(folder_.path(), {"run", "a.toml", "-o", "part"});
  std::vector<pid_t> ranks;
  ASSERT_TRUE(soon([&] { return (ranks = running.ranks()).size() == 4; }));
  running.send(SIGKILL);
  EXPECT_EQ(running.wait().code, 128 + SIGKILL);
  for (const pid_t rank : ranks) {
    EXPECT_TRUE(soon([&] { return kill(rank, 0) != 0; })) << "a rank is left";
  }
}

TEST_F(Runs, FailedTrialsNameTheRankAndAreRetriedOnRequestOnly) {
  folder_.write("a.toml", real_suite());
  Running running(folder_.path(), {"run", "a.toml", "-o", "part", "-f", "allreduce"});
  std::vector<pid_t> ranks;
  ASSERT_TRUE(soon([&] { return (ranks = running.ranks()).size() == 4; }));
  kill(ranks[2], SIGKILL);
  const Ended ended = running.wait();
  EXPECT_EQ(ended.code, 3) << ended.err;
  EXPECT_THAT(ended.err, AllOf(HasSubstr("FAILED: rank 2 was killed by signal 9 (SIGKILL)"), HasSubstr("[2/2]"),
                               HasSubstr("1 of 2 trials failed"),
                               HasSubstr("hopbench run --resume part --filter allreduce --retry-failed")));
  EXPECT_EQ(rows("part"), 2u);

  const Ended kept = run({"run", "--resume", "part", "-f", "allreduce"});
  EXPECT_EQ(kept.code, 3) << "a failed row is a row";
  EXPECT_THAT(kept.err, HasSubstr("2 of 2 trials are done already"));
  const Ended again = fine({"run", "--resume", "part", "--retry-failed"});
  EXPECT_THAT(again.err, AllOf(HasSubstr("1 of 4 trials are done already"), HasSubstr("[3/3]")));
  EXPECT_EQ(rows("part"), 4u);
  EXPECT_THAT(text_of(at("part/trials.csv")), Not(HasSubstr("failed")));
}

TEST_F(Runs, ThatEndAsTheirScenarioSaysAreNotAdvisedToRunAgain) {
  folder_.write("a.toml", with(small_suite(), "[[scenario]]\nname = \"random\"",
                               "[[scenario]]\nname = \"leave\"\nfaults = [{ kind = \"leave\", ranks = [3], iteration = "
                               "5 }]\n[[scenario]]\nname = \"random\""));
  const Ended ended = run({"run", "a.toml", "-o", "out", "-f", "/leave/allreduce"});
  EXPECT_EQ(ended.code, 3) << ended.err;
  EXPECT_THAT(
      ended.err,
      AllOf(HasSubstr("1 of 1 trials ended as their scenario says: these protocols stop when a worker is lost, or "
                      "too many are\n"),
            Not(HasSubstr("--retry-failed"))));
  const Ended saved = run({"baseline", "save", "b", "out", "--baselines", "baselines", "--partial"});
  EXPECT_EQ(saved.code, 2) << saved.err;
  EXPECT_THAT(saved.err, AllOf(HasSubstr("as the scenario says"), HasSubstr("run the others alone"),
                               Not(HasSubstr("--retry-failed"))));
}

TEST_F(Runs, LimitsEndATrialAndNameARank) {
  folder_.write("a.toml", with(real_suite(), "iterations = 15", "iterations = 100000"));
  const Ended ended = run({"run", "a.toml", "-f", "random/hop", "--trial-timeout", "300ms"});
  EXPECT_EQ(ended.code, 3);
  EXPECT_THAT(ended.err, ContainsRegex("FAILED: .*longer than its limit of 300ms: raise --trial-timeout.*rank [0-3] "));
}

TEST_F(Runs, ResumedWithOtherSettingsAreRefusedUnlessForced) {
  fine({"run", "a.toml", "-o", "part", "-f", "hop"});
  const std::string before = contents(folder_.path()), trials = text_of(at("part/trials.jsonl"));
  const auto refused = [&](const Args& words, const std::string& says) {
    const Ended ended = run(words);
    EXPECT_EQ(ended.code, 2) << ended.err;
    EXPECT_EQ(ended.out, "");
    EXPECT_THAT(ended.err, AllOf(HasSubstr("part: "), HasSubstr(says), HasSubstr("--force")));
    EXPECT_EQ(contents(folder_.path()), before);
  };
  refused({"run", "--resume", "part", "--set", "size=65"}, "--set");
  refused({"run", "--resume", "part", "--seed", "2"}, "--seed");
  refused({"run", "--resume", "part", "-r", "2"}, "--runs");
  const std::string suite = text_of(at("part/suite.toml"));
  folder_.write("part/suite.toml", with(suite, "seed = 1", "seed = 2"));
  const Ended edited = run({"run", "--resume", "part"});
  EXPECT_EQ(edited.code, 2) << edited.err;
  EXPECT_THAT(edited.err, AllOf(HasSubstr("part: "), HasSubstr("has changed"), HasSubstr("--force")));
  EXPECT_EQ(text_of(at("part/trials.jsonl")), trials);
  folder_.write("part/suite.toml", suite);
  const Ended forced = fine({"run", "--resume", "part", "--set", "size=65", "--force"});
  EXPECT_EQ(rows("part"), 4u);
  const std::string kept = text_of(at("part/trials.jsonl")), mark = "kept by --force";
  std::istringstream lines(kept);
  std::size_t marked = 0;
  for (std::string line; std::getline(lines, line);) marked += line.find(mark) != std::string::npos ? 1 : 0;
  EXPECT_EQ(marked, 2u) << "those of the first run, and none of the second";
  EXPECT_THAT(forced.out, HasSubstr(mark));
  EXPECT_THAT(text_of(at("part/suite.toml")), HasSubstr("65"));
}

TEST_F(Runs, SayHowToGoOnInWordsThatAShellTakes) {
  folder_.write("a.toml", long_suite());
  Running interrupted(folder_.path(), {"run", "a.toml", "-o", "it's mine"}, {"HOPBENCH_COMMAND=ci/hopbench"});
  ASSERT_TRUE(soon([&] { return rows("it's mine") >= 1; }));
  interrupted.send(SIGINT);
  EXPECT_THAT(interrupted.wait().err, HasSubstr("; go on with: ci/hopbench run --resume 'it'\\''s mine'\n"));
}

TEST_F(Runs, ThatTheMachineDisturbedAreMeasuredAgainAndSaySo) {
  // No gradient fits into a nanosecond: every measurement is oversubscribed.
  folder_.write("a.toml", with(real_suite(), "10ms", "1ns"));
  const Args first{"run", "a.toml", "-f", "homogeneous/allreduce", "-o"};
  const auto of = [&](Args words, const Args& more) {
    words.insert(words.end(), more.begin(), more.end());
    return fine(words);
  };
  const Ended once = of(first, {"once", "--set", "remeasure=0"}), twice = of(first, {"twice"});
  EXPECT_THAT(once.err, AllOf(HasSubstr("oversubscribed"), Not(HasSubstr("measured again"))));
  EXPECT_THAT(twice.err, AllOf(HasSubstr("measured again"), Not(HasSubstr("[2/1]"))));
  EXPECT_EQ(rows("twice"), 1u);
  EXPECT_THAT(text_of(at("twice/trials.csv")), AllOf(HasSubstr("oversubscribed"), HasSubstr("measured again: ")));
}

TEST_F(Runs, AreAloneInTheirFolder) {
  folder_.write("a.toml", real_suite());
  fine({"run", "a.toml", "-o", "part", "-f", "homogeneous/hop"});
  Running first(folder_.path(), {"run", "--resume", "part"});
  ASSERT_TRUE(soon([&] { return first.ranks().size() == 4; }));
  const Ended second = run({"run", "--resume", "part"});
  EXPECT_EQ(second.code, 2);
  EXPECT_THAT(second.err, HasSubstr("part: another hopbench is at work"));
  EXPECT_EQ(first.wait().code, 0);
  EXPECT_EQ(rows("part"), 4u);
}

TEST(Lists, HaveALineAndThePaperOfEveryProtocolUnderItsFamily) {
  const Folder folder;
  const std::string text = "\n" + hopbench(folder.path(), {"list", "protocols"}).out;
  const nlohmann::json all = nlohmann::json::parse(hopbench(folder.path(), {"list", "protocols", "--json"}).out);
  EXPECT_GE(all.at("protocols").size(), 33u);
  std::size_t before = 0;
  for (const nlohmann::json& protocol : all.at("protocols")) {
    const std::size_t at = text.find("\n" + protocol.at("name").get<std::string>() + " ") + 1;
    ASSERT_GT(at, before) << protocol << " is not in the order of the list";
    before = at;
    const std::size_t second = text.find('\n', at) + 1;
    const std::string line = text.substr(at, second - at - 1);
    EXPECT_THAT(line, HasSubstr(protocol.at("summary").get<std::string>()));
    EXPECT_EQ(line.ends_with("experimental]"), protocol.at("experimental").get<bool>()) << protocol;
    EXPECT_THAT(text.substr(second, text.find('\n', second) - second),
                testing::EndsWith("  " + protocol.at("paper").get<std::string>()));
    EXPECT_NE(protocol.at("paper"), "");
    const std::size_t heading = text.find("\n" + protocol.at("family").get<std::string>() + ":\n");
    EXPECT_LT(heading, at) << protocol;
  }
}

TEST_F(Runs, ThatCannotPrintDoTheirTrialsAllTheSame) {
  folder_.write("b.toml", with(small_suite(), "\"small\"", "\"other\""));
  for (const Args& words :
       {Args{"run", "a.toml", "b.toml", "-o", "both"}, Args{"list", "protocols"}, Args{"version"}}) {
    std::string command = "exec '" + program() + "'";
    for (const std::string& word : words) command += " " + word;
    const int status = std::system(("cd " + folder_.path() + " && " + command + " >/dev/full 2>err").c_str());
    EXPECT_EQ(WEXITSTATUS(status), 6) << command;
    EXPECT_THAT(text_of(at("err")), HasSubstr("cannot write to standard output"));
  }
  EXPECT_EQ(rows("both/small"), 4u);
  EXPECT_EQ(rows("both/other"), 4u);
}

TEST_F(Runs, WhosePageIsLargerThanAFileMayBeAreNotWritten) {
  fine({"run", "a.toml", "-o", "whole"});
  const std::string command = "ulimit -f 4; exec '" + program() + "' report whole -o page.html";
  const int status = std::system(("cd " + folder_.path() + " && " + command + " 2>err").c_str());
  EXPECT_EQ(WEXITSTATUS(status), 6);
  EXPECT_THAT(text_of(at("err")), HasSubstr("page.html: File too large: allow larger files"));
  EXPECT_FALSE(std::filesystem::exists(at("page.html")));
}

TEST_F(Runs, ResumedByAnotherBuildAreRefused) {
  fine({"run", "a.toml", "-o", "part"});
  nlohmann::json context = nlohmann::json::parse(text_of(at("part/context.json")));
  context["hopbench"]["commit"] = "0123456789abcdef";
  folder_.write("part/context.json", context.dump());
  const Ended ended = run({"run", "--resume", "part"});
  EXPECT_EQ(ended.code, 2);
  EXPECT_THAT(ended.err, AllOf(HasSubstr("another build"), HasSubstr("0123456789ab"), HasSubstr("--force")));
  fine({"run", "--resume", "part", "--force"});
}

TEST_F(Runs, ResumedAfterATraceHasChangedSayWhichOne) {
  folder_.write("t.csv", "rank,time,factor\n0,0,1\n0,1,2\n");
  folder_.write("t.toml", with(small_suite(), "{ kind = \"bernoulli\", probability = 0.3, factor = 4.0 }",
                               "{ kind = \"trace\", file = \"t.csv\", map = \"resample_ranks\", slot = \"1s\" }"));
  fine({"run", "t.toml", "-o", "part", "-f", "hop"});
  const std::string trials = text_of(at("part/trials.jsonl")), trace = text_of(at("t.csv"));
  folder_.write("t.csv", "rank,time,factor\n0,0,1\n0,1,3\n");
  const Ended ended = run({"run", "--resume", "part"});
  EXPECT_EQ(ended.code, 2);
  EXPECT_THAT(ended.err, AllOf(HasSubstr("part/suite.toml:"), HasSubstr(at("t.csv") + " has changed: its digest is "),
                               HasSubstr("put that file back")));
  EXPECT_EQ(text_of(at("part/trials.jsonl")), trials);
  folder_.write("t.csv", trace);
  EXPECT_THAT(fine({"run", "--resume", "part"}).err, HasSubstr("2 of 4 trials are done already"));
}

TEST_F(Runs, ResumedAfterATornLastLineRunThatTrialAgain) {
  fine({"run", "a.toml", "-o", "whole"});
  const std::string tables_before = tables(at("whole")), trials = text_of(at("whole/trials.jsonl"));
  folder_.write("whole/trials.jsonl", trials.substr(0, trials.size() - 100));
  EXPECT_THAT(fine({"run", "--resume", "whole"}).err, HasSubstr("3 of 4 trials are done already"));
  EXPECT_EQ(tables(at("whole")), tables_before);
  folder_.write("whole/trials.jsonl", "{}\n" + trials.substr(0, 200) + "\n" + trials);
  const Ended damaged = run({"run", "--resume", "whole"});
  EXPECT_EQ(damaged.code, 2);
  EXPECT_THAT(damaged.err, HasSubstr("whole/trials.jsonl:"));
}

}  // namespace
}  // namespace hopbench
