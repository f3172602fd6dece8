// `hopbench tune` from outside: what it finds, what it writes, and when it writes nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "results/files/outcome.h"
#include "tests/cli/cli.h"

namespace hopbench {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// Eight equal workers on a quadratic.
std::string equal_workers() {
  return R"(schema = 1
name = "equal"
[run]
world_size = 8
samples = 16000
repeats = 1
evaluations = 250
target = { loss = 25.0, hold = 1 }
[model]
name = "quadratic"
size = 64
batch = 8
[optimizer]
lr = 0.05
step = "as_written"
[compute]
backend = "reference"
pace = "10ms"
[transport]
name = "sim"
[[protocol]]
name = "ps_bsp"
[[protocol]]
name = "ps_asp"
[[measure]]
what = "convergence"
[tune]
lr = [0.02, 2.0]
)";
}

class Tunes : public testing::Test {
 protected:
  Tunes() { folder_.write("a.toml", equal_workers()); }

  Ended run(const Args& words) const { return hopbench(folder_.path(), words); }
  Ended fine(const Args& words) const {
    const Ended ended = run(words);
    EXPECT_EQ(ended.code, 0) << ended.err;
    return ended;
  }
  /// Samples to the target, BSP's and ASP's, as a run of the suite has them.
  std::pair<double, double> samples(const std::string& suite, std::string& table) const {
    table = fine({"run", suite, "-o", suite + ".run"}).out;
    const std::string csv = text_of(folder_ / (suite + ".run/trials.csv"));
    std::map<std::string, double> found;
    for (const Outcome& trial : outcomes_from_csv(csv, "trials.csv"))
      found[trial.text("variant")] = trial.number("samples_to_target").value_or(1e9);
    return {found["ps_bsp"], found["ps_asp"]};
  }

  Folder folder_;
};

// fairness: the same learning rate is a trap; each at its best, they need about the same.
TEST_F(Tunes, EqualWorkersNeedAboutTheSameSamplesUnderBspAndAspOnceTuned) {
  std::string before, after;
  const auto [bsp, asp] = samples("a.toml", before);
  EXPECT_GT(bsp / asp, 4) << "as written BSP looks much worse";
  EXPECT_THAT(before, HasSubstr("untuned"));
  const Ended ended = fine({"tune", "a.toml"});
  EXPECT_THAT(ended.out, AllOf(HasSubstr("equal / tune / convergence / homogeneous"), HasSubstr("*")));
  const auto [tuned_bsp, tuned_asp] = samples("a.tuned.toml", after);
  EXPECT_LT(std::abs(std::log(tuned_bsp / tuned_asp)), std::log(1.25)) << tuned_bsp << " and " << tuned_asp;
  EXPECT_LT(tuned_bsp, bsp);
  EXPECT_THAT(after, AllOf(Not(HasSubstr("untuned")), HasSubstr("rates tuned"), HasSubstr("tuned: 12 settings")));
  EXPECT_EQ(fine({"validate", "a.tuned.toml"}).out, "a.tuned.toml: ok: 2 trials\n");
  EXPECT_EQ(count_lines(text_of(folder_ / "a.tuned.csv")), 1u + 2 * 12);
}

TEST_F(Tunes, TheSameSuiteGivesTheSameFiles) {
  const Args words{"tune", "a.toml", "--set", "tune.trials=3", "--set", "samples=400"};
  const auto into = [&](const std::string& file) {
    Args all = words;
    all.insert(all.end(), {"-o", file});
    fine(all);
    return text_of(folder_ / file);
  };
  const std::string once = into("1.toml");
  EXPECT_EQ(into("2.toml"), once);
  EXPECT_EQ(text_of(folder_ / "1.csv"), text_of(folder_ / "2.csv"));
  EXPECT_THAT(once,
              AllOf(HasSubstr("with = [\"--set tune.trials=3\", \"--set samples=400\"]"), HasSubstr("tuned = true")));
}

TEST_F(Tunes, WhatDivergesCountsAsWorstAndIsNoFailure) {
  const Ended some =
      fine({"tune", "a.toml", "--set", "tune.trials=3", "--set", "tune.lr=[0.1, 1e5]", "--set", "samples=800"});
  EXPECT_THAT(some.out, HasSubstr("diverged"));
  EXPECT_THAT(some.err, HasSubstr("warning: the best learning rate lies on the edge of the grid for ps_bsp (0.1)"));
  const std::string before = contents(folder_.path());
  const Ended all = run({"tune", "a.toml", "-o", "b.toml", "--set", "tune.trials=3", "--set", "tune.lr=[1e4, 1e5]",
                         "--set", "samples=800"});
  EXPECT_EQ(all.code, 3) << all.err;
  EXPECT_THAT(all.err, HasSubstr("every setting of 'ps_bsp' diverged or failed, so nothing is written"));
  EXPECT_EQ(contents(folder_.path()), before);
}

TEST_F(Tunes, WhatTheScenarioStopsIsNotBlamedOnTheLearningRate) {
  folder_.write("a.toml",
                equal_workers() +
                    "[[scenario]]\nname = \"leave\"\nfaults = [{ kind = \"leave\", ranks = [3], iteration = 5 "
                    "}]\n");
  const Ended all = run({"tune", "a.toml", "--set", "tune.trials=3", "--set", "samples=800"});
  EXPECT_EQ(all.code, 3) << all.err;
  EXPECT_THAT(all.err, AllOf(HasSubstr("every trial of 'ps_bsp' failed in 'leave', so nothing is written (rank 3 left"),
                             HasSubstr("ps_bsp stops when a worker is lost): tune in another scenario"),
                             Not(HasSubstr("smaller learning rates"))));
}

TEST_F(Tunes, InterruptedKeepTheTrialsThatAreDoneAndGoOnWithThem) {
  const Args words{"tune", "a.toml", "--set", "tune.trials=6", "--set", "samples=4000"};
  const auto more = [&](const Args& added) {
    Args all = words;
    all.insert(all.end(), added.begin(), added.end());
    return all;
  };
  fine(more({"-o", "whole.toml"}));
  Running running(folder_.path(), more({"-j", "1"}));
  std::vector<pid_t> ranks;
  ASSERT_TRUE(soon([&] { return !(ranks = running.ranks()).empty(); }));
  const pid_t first = ranks.front();
  ASSERT_TRUE(soon([&] { return !(ranks = running.ranks()).empty() && ranks.front() != first; }));
  running.send(SIGINT);
  const Ended ended = running.wait();
  EXPECT_EQ(ended.code, 130) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr(" kept; go on with: hopbench tune a.toml "));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "a.tuned.toml"));
  const std::string flag = "--resume ";
  const std::size_t at = ended.err.rfind(flag);
  ASSERT_NE(at, std::string::npos) << ended.err;
  const std::string kept = ended.err.substr(at + flag.size(), ended.err.size() - at - flag.size() - 1);
  EXPECT_THAT(fine(more({"--resume", kept})).err, HasSubstr(" of 12 trials are done already"));
  EXPECT_EQ(text_of(folder_ / "a.tuned.toml"), text_of(folder_ / "whole.toml"));
  EXPECT_EQ(text_of(folder_ / "a.tuned.csv"), text_of(folder_ / "whole.csv"));
  const Ended other = run({"tune", "a.toml", "--force", "--resume", kept});
  EXPECT_EQ(other.code, 2) << "samples are others: " << other.err;
}

TEST_F(Tunes, InterruptedWriteNothing) {
  const std::string before = contents(folder_.path());
  Running running(folder_.path(), {"tune", "a.toml", "--set", "samples=100000000"});
  ASSERT_TRUE(soon([&] { return !running.ranks().empty(); }));
  running.send(SIGINT);
  const Ended ended = running.wait();
  EXPECT_EQ(ended.code, 130) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("interrupted: nothing is written\n"));
  EXPECT_EQ(ended.out, "");
  EXPECT_EQ(contents(folder_.path()), before);
}

TEST_F(Tunes, RefuseWhatTheyCannotDoBeforeTheFirstTrial) {
  folder_.write("b.toml", equal_workers());
  folder_.write("b.tuned.toml", "mine");
  folder_.write("bad.toml", equal_workers() + "trails = 5\n");
  folder_.write("rate.toml", with(equal_workers(), "convergence", "rate"));
  const std::string before = contents(folder_.path());
  const auto refused = [&](const Args& words, const std::string& says) {
    const Ended ended = run(words);
    EXPECT_EQ(ended.code, 2) << ended.err;
    EXPECT_EQ(ended.out, "");
    EXPECT_EQ(count_lines(ended.err), 1u) << ended.err;
    EXPECT_THAT(ended.err, HasSubstr(says));
    EXPECT_EQ(contents(folder_.path()), before);
  };
  refused({"tune"}, "suite is required");
  refused({"tune", "none.toml"}, "suite none.toml: cannot be read");
  refused({"tune", "bad.toml"}, "bad.toml:29:1: unknown key 'trails' in [tune]: did you mean 'trials'?");
  refused({"tune", "rate.toml"}, "rate.toml:3:2: there is nothing to tune by");
  refused({"tune", "b.toml"}, "b.tuned.toml: is there already: --force");
  refused({"tune", "a.toml", "-o", "a.toml", "--force"}, "a.toml: this command itself reads or writes that file");
  refused({"tune", "a.toml", "-o", "no/such.toml"}, "there is no folder no");
  refused({"tune", "a.toml", "-o", "x.csv"}, "ends in .toml");
  refused({"tune", "a.toml", "--set", "lr=0.1"}, "--set lr=0.1: ");
  refused({"tune", "-"}, "no place to write beside");
  const Ended dry = fine({"tune", "a.toml", "--dry-run", "-r", "2"});
  EXPECT_THAT(dry.out, AllOf(HasSubstr("48 trials: 2 variants x 12 settings x 2 repeats\n"),
                             HasSubstr("equal/convergence/homogeneous/ps_asp lr=0.02/9223372036854775809/1\n")));
  EXPECT_EQ(contents(folder_.path()), before);
  fine({"tune", "b.toml", "--force", "--set", "tune.trials=3", "--set", "samples=400"});
  EXPECT_THAT(text_of(folder_ / "b.tuned.toml"), HasSubstr("[tuning]"));
}

}  // namespace
}  // namespace hopbench
