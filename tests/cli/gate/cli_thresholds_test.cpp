// Thresholds of gates and comparisons: which rows are slower, which are refused, and that no verdict is lost.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/cli/over_results.h"
#include "tests/paths.h"

namespace hopbench {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class Thresholds : public OverResults {
 protected:
  /// Copies the run `from` to `to` with every trial changed: `labels` and `record` of each are the function's.
  void doctor(const std::string& from, const std::string& to,
              const std::function<void(nlohmann::json& trial)>& change) const {
    std::filesystem::copy(at(from), at(to), std::filesystem::copy_options::recursive);
    std::istringstream lines(text_of(at(from + "/trials.jsonl")));
    std::string changed;
    for (std::string line; std::getline(lines, line);) {
      nlohmann::json trial = nlohmann::json::parse(line);
      change(trial);
      changed += trial.dump() + "\n";
    }
    folder_.write(to + "/trials.jsonl", changed);
  }
  /// The rates of `from` times a factor.
  void doctor_rates(const std::string& from, const std::string& to, double factor) const {
    doctor(from, to, [&](nlohmann::json& trial) {
      nlohmann::json& rate = trial["record"]["samples_per_s"];
      rate = rate.get<double>() * factor;
    });
  }
  /// A program that is slower in virtual time, as it would be after a change: vector operations take longer.
  static std::string slow_head() { return "sh -c '\"$0\" \"$@\" --set compute.vector_rate=1e6' " + program(); }
  /// Both programs on the small suite, in virtual time; times that are measured cannot fail it.
  Ended timed(const std::string& head, const Args& more) const {
    Args words{
        "gate",    "--base", program(), "--head", head,          at("a.toml"), "--filter",  "homogeneous/allreduce",
        "--pairs", "3",      "--most",  "3",      "--threshold", "1000",       "--advisory"};
    words.insert(words.end(), more.begin(), more.end());
    return run(words);
  }
};

// --- Virtual time against a baseline

TEST_F(Thresholds, ATrialThatDivergesFailsAtAnyTolerance) {
  doctor("run", "diverged", [](nlohmann::json& trial) {
    trial["record"]["warnings"].push_back("diverged");
    trial["record"]["warning_kinds"].push_back("diverged");
  });
  const Ended ended = run({"gate", "--baseline", "run", "diverged", "--virtual-threshold", "50"});
  EXPECT_EQ(ended.code, 1);
  EXPECT_THAT(ended.out, HasSubstr("diverged, which it did not in the baseline"));
  EXPECT_EQ(run({"gate", "--baseline", "diverged", "diverged", "--virtual-threshold", "50"}).code, 0);
  EXPECT_EQ(run({"gate", "--baseline", "diverged", "run", "--virtual-threshold", "50"}).code, 0);
}

TEST_F(Thresholds, OnlyOtherEventsAreNoRegression) {
  fine({"baseline", "save", "main", "run"});  // made with --events all
  for (const char* events : {"brief", "none"}) {
    const std::string name = std::string("with-") + events;
    fine({"run", "a.toml", "-o", name, "--events", events});
    const Ended ended = run({"gate", "--baseline", "main", name});
    EXPECT_EQ(ended.code, 5) << events;
    EXPECT_THAT(ended.out, HasSubstr(std::string("made with --events ") + events + ", the baseline with --events all"));
    EXPECT_THAT(ended.out, AllOf(Not(HasSubstr("regression")), HasSubstr("4 incomparable")));
  }
  fine({"run", "a.toml", "-o", "brief", "--save-baseline", "brief"});
  const Ended ended = run({"gate", "--baseline", "brief", "run"});
  EXPECT_EQ(ended.code, 5);
  EXPECT_THAT(ended.out, HasSubstr("made with --events all, the baseline with --events brief"));
}

TEST_F(Thresholds, VirtualTimeMayBeSlowerByATolerance) {
  doctor_rates("run", "little", 0.981);
  doctor_rates("run", "slow", 0.91);
  const auto gate = [&](const std::string& head, const Args& more = {}) {
    Args words{"gate", "--baseline", "run", head};
    words.insert(words.end(), more.begin(), more.end());
    return run(words);
  };
  for (const char* head : {"little", "slow"}) EXPECT_EQ(gate(head).code, 1) << "exact: any change fails";
  EXPECT_EQ(gate("little", {"--virtual-threshold", "5"}).code, 0);
  EXPECT_EQ(run({"gate", "--baseline", "slow", "run"}).code, 1) << "exact: faster is a change too";
  EXPECT_EQ(run({"gate", "--baseline", "slow", "run", "--virtual-threshold", "5"}).code, 0) << "faster";
  const Ended slow = gate("slow", {"--virtual-threshold", "5", "--json", at("g.json")});
  EXPECT_EQ(slow.code, 1);
  EXPECT_THAT(slow.out, AllOf(HasSubstr("regression   small/rate/random/hop, virtual samples/s, speed-up 0.9100x, "
                                        "threshold 5.0 %"),
                              HasSubstr("slower by 9.89 %"), HasSubstr("4 regression")));
  EXPECT_EQ(nlohmann::json::parse(text_of(at("g.json")))["rows"][0]["threshold"], 0.05);
  EXPECT_EQ(gate("slow", {"--virtual-threshold", "10"}).code, 0);
}

TEST_F(Thresholds, AFolderWithoutARunDoesNotHideABaselineOfItsName) {
  fine({"baseline", "save", "main", "run"});
  folder_.write("main/notes.txt", "mine");
  fine({"gate", "--baseline", "main", "run"});
  std::filesystem::remove_all(at("results"));
  EXPECT_EQ(run({"gate", "--baseline", "main", "run"}).code, 2);
}

TEST_F(Thresholds, AToleranceExcusesNoMissingTrialAndNoOtherSettings) {
  doctor("run", "other", [](nlohmann::json& trial) {
    if (trial["labels"]["variant"] == "hop") trial["record"]["hash"] = "0123456789abcdef";
  });
  const Ended ended = run({"gate", "--baseline", "run", "other", "--virtual-threshold", "5", "--strict"});
  EXPECT_EQ(ended.code, 5);
  EXPECT_THAT(ended.out, HasSubstr("2 incomparable"));
  fine({"run", "a.toml", "-o", "part", "--filter", "allreduce"});
  for (const Args& more : {Args{}, Args{"--virtual-threshold", "5"}}) {
    Args words{"gate", "--baseline", "run", "part"};
    words.insert(words.end(), more.begin(), more.end());
    const Ended missing = run(words);
    EXPECT_EQ(missing.code, 1);
    EXPECT_THAT(missing.out,
                AllOf(HasSubstr("2 missing"), HasSubstr("part lacks 2 of the 4 trials of its suite: run them "
                                                        "(hopbench run --resume part)")));
  }
  fine({"run", "a.toml", "-o", "seed", "--seed", "9"});
  const Ended other_seed = run({"gate", "--baseline", "run", "seed"});
  EXPECT_THAT(other_seed.out, AllOf(HasSubstr("4 missing"), Not(HasSubstr("--resume")))) << "nothing is left to run";
}

TEST_F(Thresholds, WhatIsNotFiniteIsRefusedWithItsPlace) {
  doctor("run", "odd", [](nlohmann::json& trial) {
    if (trial["labels"]["variant"] == "hop") trial["record"]["samples_per_s"] = "nan";
  });
  for (const Args& words : {Args{"compare", "run", "odd"}, Args{"compare", "odd", "run"},
                            Args{"gate", "--baseline", "run", "odd"}, Args{"gate", "--baseline", "odd", "run"},
                            Args{"gate", "--baseline", "run", "odd", "--virtual-threshold", "5"}}) {
    const Ended ended = run(words);
    EXPECT_EQ(ended.code, 2) << ended.out;
    EXPECT_THAT(ended.err,
                AllOf(HasSubstr("odd/trials.jsonl: trial small/rate/"),
                      HasSubstr("/hop/1/0 cannot be compared: its 'samples_per_s' is nan: take its line out and "
                                "run it again (hopbench run --resume odd)")));
  }
}

TEST_F(Thresholds, SaysWhatWasNotComparedAndWhy) {
  doctor("run", "other", [](nlohmann::json& trial) {
    if (trial["labels"]["variant"] == "hop") trial["record"]["hash"] = "0123456789abcdef";
  });
  const auto told =
      AllOf(HasSubstr("compared 2 of 4 rows"), HasSubstr("2 rows not compared, its settings are not those"),
            Not(HasSubstr("nothing to go by")));
  const Ended local = run({"gate", "--baseline", "run", "other"}),
              ci = run({"gate", "--baseline", "run", "other"}, {"CI=1"});
  EXPECT_EQ(local.code, 0);
  EXPECT_THAT(local.out, told);
  EXPECT_EQ(ci.code, 5);
  EXPECT_THAT(ci.out, AllOf(told, HasSubstr("the gate does not pass: 2 of 4 rows could not be compared")));
}

TEST_F(Thresholds, CountsOfAnotherBuildAreSkippedWithTheReason) {
  if (std::system("valgrind --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "there is no valgrind";
  folder_.write("x.json", R"({"build": {"compiler": "x", "flags": "-O9 -Wall"}, "instructions": {"a suite": 1}})");
  const Ended ended = run({"gate", "--instructions", "x.json"});
  EXPECT_EQ(ended.code, 5) << ended.err;
  EXPECT_THAT(ended.out, AllOf(HasSubstr("1 row not compared, counted in another build: x, , -O9; "),
                               HasSubstr("the gate is skipped: nothing was compared")));
}

TEST_F(Thresholds, AThresholdThatHasNoEffectIsRefused) {
  const Ended measured = run({"gate", "--baseline", "run", "run", "--threshold", "5"});
  EXPECT_EQ(measured.code, 2);
  EXPECT_THAT(measured.err, AllOf(HasSubstr("--threshold has no effect"), HasSubstr("--virtual-threshold")));
  EXPECT_EQ(run({"gate", "--instructions", "x.json", "--threshold", "5"}).code, 2);
  const Ended real = run({"gate", "--base", "true", "--head", "true", at("a.toml"), "--set", "transport.name=gloo",
                          "--set", "compute.pace=off", "--virtual-threshold", "5"});
  EXPECT_EQ(real.code, 2);
  EXPECT_THAT(real.err, HasSubstr("no trial of these suites is of virtual time"));
  EXPECT_EQ(run({"gate", "--self-test", at("a.toml"), "--virtual-threshold", "5"}).code, 2);
  EXPECT_EQ(run({"gate", "--baseline", "run", "run", "--virtual-threshold", "nan"}).code, 2);
  EXPECT_EQ(run({"compare", "run", "run", "--fail-above", "nan"}).code, 2);
}

// --- Two programs in turns

TEST_F(Thresholds, AHeadThatIsSlowerInVirtualTimeFails) {
  const Ended ended = timed(slow_head(), {"--json", at("g.json"), "--junit", at("g.xml"), "--markdown", at("g.md")});
  EXPECT_EQ(ended.code, 1) << ended.out << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("regression   small/rate/homogeneous/allreduce, virtual samples/s, speed-up 0."));
  EXPECT_THAT(ended.out, HasSubstr("simulator cpu_s"));
  const nlohmann::json first = nlohmann::json::parse(text_of(at("g.json")))["rows"][0];
  EXPECT_EQ(first["metric"], "virtual samples/s");
  EXPECT_EQ(first["verdict"], "regression");
  EXPECT_THAT(text_of(at("g.xml")), HasSubstr("virtual samples/s"));
  EXPECT_THAT(text_of(at("g.md")), HasSubstr("| regression | small/rate/homogeneous/allreduce | virtual samples/s |"));
}

TEST_F(Thresholds, ATimedGateTellsThatVirtualTimeIsEqual) {
  const Ended ended = timed(program(), {"--markdown", at("g.md")});
  EXPECT_EQ(ended.code, 0) << ended.out << ended.err;
  EXPECT_THAT(ended.out,
              HasSubstr("no-change    small/rate/homogeneous/allreduce, virtual samples/s, speed-up 1.000x"));
  EXPECT_THAT(ended.out, HasSubstr("simulator wall_s")) << "rows without a change tell what they could have seen";
  EXPECT_THAT(text_of(at("g.md")), AllOf(HasSubstr(", 1 no-change"), Not(HasSubstr("| no-change |"))));
  EXPECT_EQ(timed(slow_head(), {"--virtual-threshold", "1000"}).code, 0);
}

// --- Outputs

TEST_F(Thresholds, OutputsAreCheckedBeforeAnythingIsMeasured) {
  const std::string side = "sh -c 'touch " + at("ran") + "'";
  for (const Args& output : {Args{"--github-summary"}, Args{"--junit", "nowhere/g.xml"}, Args{"--json", "run"},
                             Args{"--markdown", "nowhere/g.md"}, Args{"--benchmark-json", "nowhere/b"}}) {
    Args words{"gate", "--base", side, "--head", side, at("a.toml")};
    words.insert(words.end(), output.begin(), output.end());
    const Ended ended = run(words);
    EXPECT_EQ(ended.code, 2) << output.front();
    EXPECT_THAT(ended.err, HasSubstr(output.front()));
    EXPECT_FALSE(std::filesystem::exists(at("ran"))) << output.front();
  }
}

TEST_F(Thresholds, AnOutputThatFailsLaterSwallowsNoVerdict) {
  doctor_rates("run", "slow", 0.9);
  const auto gate = [&](const std::string& head) {
    return run({"gate", "--baseline", "run", head, "--junit", "/dev/full", "--json", at(head + ".json")});
  };
  const Ended passed = gate("run"), failed = gate("slow");
  EXPECT_EQ(passed.code, 6);
  EXPECT_THAT(passed.out, HasSubstr("the gate passes"));
  EXPECT_EQ(failed.code, 1);
  EXPECT_THAT(failed.out, HasSubstr("the gate fails"));
  EXPECT_THAT(failed.err, HasSubstr("cannot write /dev/full"));
  EXPECT_EQ(nlohmann::json::parse(text_of(at("slow.json")))["exit"], 1) << "the other outputs are written";
}

// --- compare

TEST_F(Thresholds, CompareCallsASmallChangeNoRegression) {
  doctor_rates("run", "little", 0.981);
  const Ended ended = fine({"compare", "run", "little"});
  EXPECT_THAT(ended.out,
              AllOf(HasSubstr("within 5 %"), Not(HasSubstr("regression")), HasSubstr("compared 4 of 4 rows")));
  EXPECT_THAT(fine({"compare", "run", "little", "--threshold", "1"}).out, HasSubstr("regression"));
}

TEST_F(Thresholds, CompareFailsAboveWhatItIsTold) {
  doctor_rates("run", "slow", 0.91);
  const Ended above = run({"compare", "run", "slow", "--fail-above", "5"});
  EXPECT_EQ(above.code, 1);
  EXPECT_THAT(above.out, AllOf(HasSubstr("above --fail-above 5"),
                               HasSubstr("slow: small / rate / random / hop: slower by 9.89 %")));
  const Ended csv = run({"compare", "run", "slow", "--fail-above", "5", "--csv"});
  EXPECT_EQ(csv.code, 1);
  EXPECT_THAT(csv.err, HasSubstr("slower by 9.89 %")) << "standard output is the table's";
  fine({"compare", "run", "slow"});
  fine({"compare", "run", "slow", "--fail-above", "10"});
  fine({"compare", "slow", "run", "--fail-above", "0"});  // faster
}

TEST_F(Thresholds, CompareFailsWhereTrialsAreMissing) {
  fine({"run", "a.toml", "-o", "two", "--set", "run.repeats=2"});
  fine({"run", "a.toml", "-o", "one"});
  const Ended ended = run({"compare", "two", "one", "--fail-above", "50"});
  EXPECT_EQ(ended.code, 1) << ended.out;
  EXPECT_THAT(ended.out, AllOf(HasSubstr("above --fail-above 50"),
                               HasSubstr("one: small / rate / random / hop: head lacks 1 trial that base has: "
                                         "small/rate/random/hop/1/1")));
  fine({"compare", "one", "two", "--fail-above", "50"});
  fine({"compare", "two", "one"});
}

TEST_F(Thresholds, ATimedGateFailsIfHeadRunsFewerTrials) {
  const auto repeats = [](int n) {
    return "sh -c '\"$0\" \"$@\" --set run.repeats=" + std::to_string(n) + "' " + program();
  };
  const Ended ended = run({"gate", "--base", repeats(2), "--head", repeats(1), at("a.toml"), "--filter",
                           "homogeneous/allreduce", "--pairs", "3", "--most", "3", "--advisory"});
  EXPECT_EQ(ended.code, 1) << ended.out << ended.err;
  EXPECT_THAT(ended.out, AllOf(HasSubstr("trial small/rate/homogeneous/allreduce/1/1 is missing from a run of sh -c"),
                               HasSubstr("missing      small/rate/homogeneous/allreduce, virtual samples/s"),
                               HasSubstr("the gate fails"), Not(HasSubstr("improvement"))));
}

TEST_F(Thresholds, CompareRefusesOtherKnobsUnderOneLabel) {
  const auto suite = [](const std::string& period) {
    return with(small_suite(), "name = \"hop\"\nbackup = 1",
                "name = \"local_sgd\"\nlabel = \"mine\"\nperiod = " + period);
  };
  folder_.write("three.toml", suite("3"));
  folder_.write("four.toml", suite("4"));
  fine({"run", "three.toml", "-o", "three"});
  fine({"run", "four.toml", "-o", "four"});
  const Ended ended = run({"compare", "three", "four"});
  EXPECT_EQ(ended.code, 0) << "all-reduce has no other knobs";
  EXPECT_THAT(ended.out, AllOf(HasSubstr("period=3"), HasSubstr("period=4"), HasSubstr("incomparable"),
                               HasSubstr("compared 2 of 4 rows"), HasSubstr("2 rows not compared, knobs: ")));
  EXPECT_THAT(fine({"compare", "three", "four", "--any-context"}).out, HasSubstr("compared 4 of 4 rows"));
}

// --- why

TEST_F(Thresholds, WhySaysWhatTheTableSays) {
  folder_.write("b.toml", with(with(with(small_suite(), "name = \"hop\"\nbackup = 1", "name = \"adpsgd\""),
                                    "iterations = 8", "iterations = 40"),
                               "compute = [{ kind = \"bernoulli\", probability = 0.3, factor = 4.0 }]",
                               "compute = [{ kind = \"constant\", ranks = [0], factor = 4.0 }]"));
  for (const char* events : {"brief", "none"}) {
    const std::string name = std::string("b-") + events;
    fine({"run", "b.toml", "-o", name, "--events", events, "--set", "model.name=timing_only", "--set",
          "model.size=40000", "--set", "topology.name=ring"});
    std::istringstream csv(fine({"compare", name, name, "--csv"}).out);
    std::map<std::string, double> rates;  // by variant, of the scenario "random"
    for (std::string line; std::getline(csv, line);) {
      std::vector<std::string> cells;
      std::istringstream fields(line);
      for (std::string cell; std::getline(fields, cell, ',');) cells.push_back(cell);
      if (cells.size() > 8 && cells[2] == "random") rates[cells[3]] = std::stod(cells[8]);
    }
    const std::string out = fine({"why", name, "adpsgd", "allreduce", "--filter", "random"}).out;
    const std::size_t from = out.find("time a sample ");
    ASSERT_NE(from, std::string::npos) << out;
    EXPECT_NEAR(std::stod(out.substr(from + 14)), rates["adpsgd"] / rates["allreduce"], 0.01) << out;
    EXPECT_THAT(out, HasSubstr("over the whole trial"));
    EXPECT_THAT(out, Not(testing::ContainsRegex(" -[0-9.]+ s  "))) << "only differences are negative";
  }
}

}  // namespace
}  // namespace hopbench
