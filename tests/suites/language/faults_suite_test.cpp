// Faults in a suite: read, written out, hashed and refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "suites/language/suite.h"
#include "suites/trial/plan.h"
#include "tests/folder.h"

namespace hopbench {
namespace {

constexpr const char* kTop = R"(schema = 1
[run]
world_size = 4
repeats = 1
[model]
name = "quadratic"
[compute]
pace = "10ms"
[transport]
name = "sim"
[[protocol]]
name = "allreduce"
)";

constexpr const char* kAll = R"([[scenario]]
name = "x"
faults = [
  { kind = "crash", ranks = [3], at = "2s" },
  { kind = "leave", ranks = [1, 2], iteration = 20 },
  { kind = "join", ranks = [0], at = "1s" },
  { kind = "hang", ranks = [0], at = "3s", lasts = "500ms" },
  { kind = "cut", a = 2, at = "4s", lasts = "1s" },
  { kind = "cut", a = 0, b = 1, at = "5s", lasts = "1s" },
]
)";

Suite read(const std::string& text) { return parse_suite(kTop + text, "x.toml", {}); }

Time at_s(int seconds) { return Time{} + std::chrono::seconds(seconds); }

/// The mistakes of a suite, each with its line counted from the text's own first.
std::string mistakes_of(const std::string& text) {
  try {
    read(text);
  } catch (const SuiteError& error) {
    std::string all;
    for (const Mistake& m : error.mistakes()) all += std::to_string(m.line - 12) + ": " + m.message + "\n";
    return all;
  }
  return "";
}

std::string mistakes_of_fault(const std::string& fault) {
  return mistakes_of("[[scenario]]\nname = \"x\"\nfaults = [{ " + fault + " }]\n");
}

TEST(FaultsSuite, AreOverriddenByTheScenariosName) {
  const auto with = [](const std::string& set) {
    SuiteOptions overrides;
    overrides.sets = {set};
    return parse_suite(std::string(kTop) + kAll, "x.toml", overrides);
  };
  EXPECT_TRUE(with("scenario.x.faults=[]").trials.at(0).scenario.faults.empty());
  const Suite other = with(R"(scenario.x.faults=[{ kind = "crash", ranks = [1], at = "7s" }])");
  ASSERT_EQ(other.trials.at(0).scenario.faults.size(), 1u);
  EXPECT_EQ(other.trials.at(0).scenario.faults[0].at, at_s(7));
  EXPECT_THROW(with(R"(scenario.x.faults=[{ kind = "crash", ranks = [9], at = "7s" }])"), SuiteError);
}

TEST(FaultsSuite, AreRead) {
  const std::vector<Fault> faults = read(kAll).trials.at(0).scenario.faults;
  ASSERT_EQ(faults.size(), 6u);
  EXPECT_EQ(faults[0].what, FaultKind::kCrash);
  EXPECT_EQ(faults[0].at, at_s(2));
  EXPECT_EQ(faults[0].iteration, -1);
  EXPECT_TRUE(faults[0].is_of(3));
  EXPECT_FALSE(faults[0].is_of(0));
  EXPECT_EQ(faults[1].what, FaultKind::kLeave);
  EXPECT_EQ(faults[1].ranks, (std::vector<int>{1, 2}));
  EXPECT_EQ(faults[1].at, kNever);
  EXPECT_EQ(faults[1].iteration, 20);
  EXPECT_EQ(faults[2].what, FaultKind::kJoin);
  EXPECT_EQ(faults[3].what, FaultKind::kHang);
  EXPECT_EQ(faults[3].lasts, std::chrono::milliseconds(500));
  EXPECT_EQ(faults[4].what, FaultKind::kCut);
  EXPECT_EQ(faults[4].a, 2);
  EXPECT_EQ(faults[4].b, -1);
  EXPECT_EQ(faults[5].b, 1);
}

TEST(FaultsSuite, ACutIsALinkThatCarriesNothing) {
  const TrialSpec trial = read(kAll).trials.at(0);
  const NetworkSpec network = network_of(trial, make_plan(trial));
  ASSERT_EQ(network.links.size(), 2u);
  EXPECT_TRUE(network.links[0].cut);
  EXPECT_EQ(network.links[0].a, 2);
  EXPECT_EQ(network.links[0].b, -1);
  EXPECT_EQ(network.links[1].from, at_s(5));
  EXPECT_EQ(network.links[1].until, at_s(6));
}

TEST(FaultsSuite, AreInWhatTheSuiteIsResolvedTo) {
  const Suite suite = read(kAll);
  const Suite again = parse_suite(suite.resolved, "resolved.toml", {});
  EXPECT_EQ(again.trials.at(0).hash(), suite.trials.at(0).hash());
  EXPECT_EQ(again.resolved, suite.resolved);
}

// Baselines from before there were any still hold.
TEST(FaultsSuite, AreNoWordWhereThereAreNone) {
  const Suite suite = read("[[scenario]]\nname = \"x\"\nfaults = []\n");
  EXPECT_EQ(to_json(suite.trials.at(0)).find("fault"), std::string::npos);
  EXPECT_EQ(to_json(suite.trials.at(0)).find("cut"), std::string::npos);
  EXPECT_EQ(suite.resolved.find("fault"), std::string::npos);
  EXPECT_EQ(suite.trials.at(0).hash(), read("[[scenario]]\nname = \"x\"\n").trials.at(0).hash());
}

TEST(FaultsSuite, IsNoControl) {
  const std::vector<std::string> notes = read(kAll).notes;
  EXPECT_TRUE(std::any_of(notes.begin(), notes.end(),
                          [](const std::string& note) { return note.starts_with("no homogeneous control"); }));
}

TEST(FaultsSuite, RefusesWhatAKindDoesNotHave) {
  EXPECT_EQ(mistakes_of_fault("kind = \"crash\", at = \"1s\""), "3: a crash needs 'ranks'\n");
  EXPECT_EQ(mistakes_of_fault("kind = \"crash\", ranks = [1]"),
            "3: a crash needs a moment: give 'at' or 'iteration'\n");
  EXPECT_EQ(mistakes_of_fault("kind = \"leave\", ranks = [1], at = \"1s\", iteration = 3"),
            "3: 'at' and 'iteration' are two moments: give one\n");
  EXPECT_EQ(
      mistakes_of_fault("kind = \"crash\", ranks = [1], at = \"1s\", lasts = \"1s\""),
      "3: 'lasts' is only allowed with kind leave, hang, cut; a crash has ranks, iteration, restart, checkpoint\n");
  EXPECT_EQ(mistakes_of_fault("kind = \"join\", ranks = [1]"), "3: a join needs a moment: give 'at'\n");
  EXPECT_EQ(mistakes_of_fault("kind = \"join\", ranks = [1], at = \"1s\", iteration = 3"),
            "3: 'iteration' is only allowed with kind crash, leave, hang; a join has ranks\n");
  EXPECT_EQ(mistakes_of_fault("kind = \"hang\", ranks = [1], at = \"1s\""), "3: a hang needs 'lasts'\n");
  EXPECT_EQ(mistakes_of_fault("kind = \"cut\", ranks = [1], a = 0, at = \"1s\", lasts = \"1s\""),
            "3: 'ranks' is only allowed with kind crash, leave, join, hang; a cut has a, lasts, b\n");
  EXPECT_EQ(mistakes_of_fault("kind = \"cut\", at = \"1s\", lasts = \"1s\""), "3: a cut needs 'a'\n");
  EXPECT_EQ(mistakes_of_fault("kind = \"cut\", a = 0, iteration = 3, lasts = \"1s\""),
            "3: a cut needs a moment: give 'at'\n"
            "3: 'iteration' is only allowed with kind crash, leave, hang; a cut has a, lasts, b\n");
  EXPECT_EQ(mistakes_of_fault("kind = \"cut\", a = 1, b = 1, at = \"1s\", lasts = \"1s\""),
            "3: 'a' and 'b' are one host: leave out 'b' to mean its NIC\n");
  EXPECT_EQ(mistakes_of_fault("kind = \"hang\", ranks = [1], at = \"1s\", lasts = \"0s\"").substr(0, 26),
            "3: 'lasts' is 0s, out of r");
  EXPECT_EQ(mistakes_of_fault("kind = \"explode\", ranks = [1], at = \"1s\"").substr(0, 27),
            "3: unknown kind 'explode': ");
}

TEST(FaultsSuite, RefusesRanksThatAreNotThereAndScenariosThatLoseAll) {
  EXPECT_EQ(mistakes_of_fault("kind = \"hang\", ranks = [4], at = \"1s\", lasts = \"1s\""),
            "3: scenario 'x' names rank 4, but the workers are 0 to 3\n");
  EXPECT_EQ(mistakes_of_fault("kind = \"crash\", ranks = [0, 1, 2, 3], at = \"1s\""),
            "3: scenario 'x' loses all 4 workers: leave one to be measured\n");
  EXPECT_EQ(mistakes_of_fault("kind = \"crash\", ranks = [0, 0], at = \"1s\""),
            "3: scenario 'x' loses rank 0 twice: once is enough\n");
}

TEST(FaultsSuite, RefusesACutOfHostsThatAreNotThere) {
  const std::string cut = "kind = \"cut\", at = \"1s\", lasts = \"1s\", ";
  EXPECT_EQ(mistakes_of_fault(cut + "a = 3"), "");
  EXPECT_EQ(mistakes_of_fault(cut + "a = 4"), "3: scenario 'x' cuts host 4, but the hosts are 0 to 3\n");
  EXPECT_EQ(mistakes_of_fault(cut + "a = 0, b = 9"), "3: scenario 'x' cuts host 9, but the hosts are 0 to 3\n");
  const std::string fourth = "[[scenario]]\nname = \"x\"\nfaults = [{ " + cut + "a = 4 }]\n";
  EXPECT_EQ(mistakes_of("[[protocol]]\nname = \"dbw\"\n" + fourth), "") << "its server's";
  EXPECT_EQ(mistakes_of("[network]\nhosts = 2\n" + fourth), "5: scenario 'x' cuts host 4, but the hosts are 0 to 1\n");
}

TEST(FaultsSuite, RefusesASecondJoinAndALossBeforeTheJoin) {
  const std::string join = "kind = \"join\", ranks = [1, 2], at = \"2s\" }, { ";
  EXPECT_EQ(mistakes_of_fault(join + "kind = \"join\", ranks = [2], at = \"3s\""),
            "3: scenario 'x' has rank 2 join twice: once is enough\n");
  EXPECT_EQ(mistakes_of_fault(join + "kind = \"crash\", ranks = [2], at = \"1500ms\""),
            "3: scenario 'x' loses rank 2 at 1.5s, but it joins at 2s: set a later 'at', or leave out its join\n");
  EXPECT_EQ(mistakes_of_fault(join + "kind = \"leave\", ranks = [1], at = \"2s\""),
            "3: scenario 'x' loses rank 1 at 2s, but it joins at 2s: set a later 'at', or leave out its join\n");
  EXPECT_EQ(mistakes_of_fault(join + "kind = \"crash\", ranks = [2], at = \"2500ms\""), "");
  EXPECT_EQ(mistakes_of_fault(join + "kind = \"crash\", ranks = [3], at = \"1s\""), "");
  EXPECT_EQ(mistakes_of_fault(join + "kind = \"crash\", ranks = [2], iteration = 0"), "");
}

TEST(FaultsSuite, RefusesHangsThatOverlap) {
  const auto hangs = [](const std::string& first, const std::string& second) {
    return mistakes_of_fault("kind = \"hang\", ranks = [2], lasts = \"2s\", " + first +
                             " }, { kind = \"hang\", ranks = [1, 2], lasts = \"2s\", " + second);
  };
  EXPECT_EQ(hangs("at = \"200ms\"", "at = \"1s\""),
            "3: scenario 'x' hangs rank 2 at 1s, during its hang from 200ms to 2.2s: make it one hang\n");
  EXPECT_EQ(hangs("at = \"1s\"", "at = \"1s\""),
            "3: scenario 'x' hangs rank 2 at 1s, during its hang from 1s to 3s: make it one hang\n");
  EXPECT_EQ(hangs("at = \"2200ms\"", "at = \"200ms\""), "");
  EXPECT_EQ(hangs("at = \"1s\"", "iteration = 3"), "") << "when that is nobody knows";
}

TEST(FaultsSuite, TellsAllMistakesOfAListAtOnce) {
  EXPECT_EQ(mistakes_of("[[scenario]]\nname = \"x\"\nfaults = [{ kind = \"crash\", ranks = [7], at = \"1s\" },\n"
                        "{ kind = \"hang\", ranks = [1], at = \"1s\" },\n{ kind = \"boom\" },\n"
                        "{ kind = \"crash\", ranks = [9], at = \"5\" }]\n"),
            "3: scenario 'x' names rank 7, but the workers are 0 to 3\n4: a hang needs 'lasts'\n"
            "5: unknown kind 'boom': known are crash, leave, join, hang, cut\n"
            "6: 'at' must be a time such as \"40ms\", \"1.5s\" or \"2min\", not \"5\"\n");
  SuiteOptions overrides;
  overrides.sets = {R"(scenario.x.faults=[{ kind = "boom" }, { kind = "crash", ranks = [7], at = "1s" }])"};
  try {
    parse_suite(std::string(kTop) + kAll, "x.toml", overrides);
    FAIL();
  } catch (const SuiteError& error) {
    EXPECT_EQ(error.mistakes().size(), 2u) << error.what();
  }
}

TEST(FaultsSuite, RefusesACutThatNobodyWouldNotice) {
  const std::string cut =
      "[[scenario]]\nname = \"x\"\nfaults = [{ kind = \"cut\", a = 1, at = \"1s\", lasts = \"1s\" }]\n";
  const std::string real = cut + "[[measure]]\ntransport.name = \"gloo\"\n";
  EXPECT_EQ(mistakes_of(real),
            "3: scenario 'x' cuts links, but measure 'rate' has the machine's own: set network.emulate = true, measure "
            "in virtual time (sim) or choose its scenarios\n");
  EXPECT_EQ(mistakes_of(real + "emulate = true\n"), "");
  EXPECT_EQ(mistakes_of(cut + "[[measure]]\nnetwork.instant = true\n"),
            "3: scenario 'x' cuts links, but measure 'rate' has none: leave out network.instant or choose its "
            "scenarios\n");
}

std::vector<Fault> faults_with(const std::string& faults, const std::string& protocol) {
  std::string top = kTop;
  top.replace(top.find("allreduce"), 9, protocol);
  const std::string text = top + "[[scenario]]\nname = \"x\"\nfaults = [" + faults + "]\n";
  return parse_suite(text, "x.toml", {}).trials.at(0).scenario.faults;
}

TEST(FaultsSuite, AWorkerThatLeavesForAWhileReturns) {
  const auto faults = faults_with(R"({ kind = "leave", ranks = [1], at = "2s", lasts = "5s" })", "allreduce");
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_TRUE(faults[0].returns());
  EXPECT_EQ(faults[0].lasts, std::chrono::seconds(5));
  EXPECT_FALSE(faults_with(R"({ kind = "leave", ranks = [1], at = "2s" })", "allreduce")[0].returns());
}

TEST(FaultsSuite, MayTakeAwayAllWorkersForAWhile) {
  EXPECT_EQ(mistakes_of_fault(R"(kind = "leave", ranks = [0, 1, 2, 3], at = "2s", lasts = "5s")"), "");
  EXPECT_NE(mistakes_of_fault(R"(kind = "leave", ranks = [0, 1, 2, 3], at = "2s")"), "");
}

TEST(FaultsSuite, AbsencesOfARankDoNotOverlap) {
  EXPECT_EQ(mistakes_of(R"([[scenario]]
name = "x"
faults = [
  { kind = "leave", ranks = [0, 1], at = "2s", lasts = "5s" },
  { kind = "crash", ranks = [1], at = "4s", restart = "1s", checkpoint = "1s" },
  { kind = "leave", ranks = [0], at = "7s", lasts = "5s" },
]
)"),
            "5: scenario 'x' takes away rank 1 at 4s, during its absence from 2s to 7s: make it one absence\n");
}

TEST(FaultsSuite, ACrashWithARestartNeedsACheckpointAndATime) {
  EXPECT_EQ(mistakes_of_fault(R"(kind = "crash", ranks = [1], at = "4s", restart = "1s")"),
            "3: 'restart' needs 'checkpoint', the time between two of them\n");
  EXPECT_EQ(mistakes_of_fault(R"(kind = "crash", ranks = [1], at = "4s", checkpoint = "1s")"),
            "3: 'checkpoint' is only allowed with 'restart', the time that a restart takes\n");
  EXPECT_EQ(mistakes_of_fault(R"(kind = "crash", ranks = [1], iteration = 4, restart = "1s", checkpoint = "1s")"),
            "3: 'iteration' is only allowed without 'restart', which needs a time: give 'at' instead\n");
  EXPECT_NE(mistakes_of_fault(R"(kind = "hang", ranks = [1], at = "4s", lasts = "1s", restart = "1s")"), "");
}

// By hand: at 100 s the last checkpoint was at 60 s. At 150 s the job is still repeating that work, and starts again.
// At 300 s it has worked for 100 + 80 s, which is a checkpoint's moment.
TEST(FaultsSuite, RestartsRepeatTheWorkSinceTheLastCheckpoint) {
  const std::string three = R"({ kind = "crash", ranks = [1], at = "100s", restart = "30s", checkpoint = "60s" },
    { kind = "crash", ranks = [2], at = "300s", restart = "30s", checkpoint = "60s" },
    { kind = "crash", ranks = [0], at = "150s", restart = "30s", checkpoint = "60s" })";
  const std::vector<Fault> faults = faults_with(three, "allreduce");
  ASSERT_EQ(faults.size(), 3u);
  const std::vector<std::pair<int, int>> expected = {{100, 50}, {150, 70}, {300, 30}};
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(faults[i].what, FaultKind::kRestart);
    EXPECT_EQ(faults[i].ranks, (std::vector<int>{0, 1, 2, 3}));
    EXPECT_EQ(faults[i].at, at_s(expected[i].first));
    EXPECT_EQ(faults[i].lasts, std::chrono::seconds(expected[i].second)) << i;
  }
  const std::vector<Fault> away = faults_with(three, "ps_asp");
  ASSERT_EQ(away.size(), 3u);
  for (const Fault& fault : away) {
    EXPECT_TRUE(fault.returns());
    EXPECT_EQ(fault.lasts, std::chrono::seconds(30));
  }
}

TEST(FaultsSuite, AbsencesComeFromAFile) {
  const Folder folder;
  folder.write("spot.csv", "# seconds\nrank,from,until\n1,2,3.5\n0,1,2\n1,10,11\n9,1,2\n");
  const auto at = [&](const std::string& more) {
    return R"({ kind = "leave", file = ")" + (folder / "spot.csv") + "\"" + more + " }";
  };
  const std::vector<Fault> faults = faults_with(at(""), "allreduce");
  ASSERT_EQ(faults.size(), 3u) << "rank 9 is no worker here";
  EXPECT_EQ(faults[0].ranks, std::vector<int>{0});
  EXPECT_EQ(faults[1].at, at_s(2));
  EXPECT_EQ(faults[1].lasts, std::chrono::milliseconds(1500));
  EXPECT_EQ(mistakes_of("[[scenario]]\nname = \"x\"\nfaults = [" + at(", ranks = [1]") + "]\n"),
            "3: 'ranks' is only allowed without 'file', which has all absences\n");
  for (const auto& [rows, why] : std::vector<std::pair<std::string, std::string>>{
           {"", ":1: the file is empty: its header must be rank,from,until"},
           {"rank,time\n", ":1: the header must be rank,from,until"},
           {"rank,from,until\n1,2\n", ":2: 2 cells, not 3"},
           {"rank,from,until\nx,2,3\n", ":2: the rank is 'x', not an integer from 0 to 99999"},
           {"rank,from,until\n1,3,3\n",
            ":2: '3' to '3' is no span of seconds from 0: 'until' must be later than 'from'"},
           {"rank,from,until\n1,0.03,0.0300000001\n",
            ":2: '0.03' to '0.0300000001' is less than 1 ns, the shortest absence"},
           {"rank,from,until\n1,0.03,0.0300000006\n",
            ":2: '0.03' to '0.0300000006' is less than 1 ns, the shortest absence"},
           {"rank,from,until\n1,2,4\n1,3,5\n",
            ":3: rank 1 is away already: its rows must follow each other in time and not overlap"}}) {
    folder.write("spot.csv", rows);
    EXPECT_EQ(mistakes_of("[[scenario]]\nname = \"x\"\nfaults = [" + at("") + "]\n"),
              "3: " + (folder / "spot.csv") + why + "\n");
  }
}

}  // namespace
}  // namespace hopbench
