// Rules with memory in a suite, traces and slow phases: read, refused, written out, hashed, and sent to ranks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "suites/language/suite.h"
#include "suites/trial/execute.h"
#include "tests/folder.h"

namespace hopbench {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kTop = R"(schema = 1
name = "t"
[run]
world_size = 2
iterations = 20
repeats = 2
warmup_time = "0s"
[model]
name = "timing_only"
size = 64
batch = 8
[compute]
pace = "77ms"
noise = 0
[transport]
name = "sim"
[network]
instant = true
[[protocol]]
name = "allreduce"
[[scenario]]
name = "x"
)";
constexpr int kTopLines = 22;

class TraceSuite : public testing::Test {
 protected:
  TraceSuite() {
    // Rank 0 takes 10 ms in even steps and 30 ms in odd ones, rank 1 the other way round.
    std::string text = "rank,step,seconds\n";
    for (int step = 0; step < 40; ++step)
      text += "0," + std::to_string(step) + (step % 2 == 0 ? ",0.010\n1," : ",0.030\n1,") + std::to_string(step) +
              (step % 2 == 0 ? ",0.030\n" : ",0.010\n");
    folder_.write("steps.csv", text);
    folder_.write("times.csv", "rank,time,factor\n0,0,1\n0,1,3\n1,0,1\n1,2,1\n");
  }
  Suite with(const std::string& rules, const std::vector<std::string>& sets = {}) const {
    SuiteOptions overrides;
    overrides.sets = sets;
    return parse_suite(kTop + ("compute = [" + rules + "]\n"), folder_ / "x.toml", overrides);
  }
  /// Returns the mistakes of a suite with this rule.
  std::string refused(const std::string& rule, const std::vector<std::string>& sets = {}) const {
    try {
      with("{ " + rule + " }", sets);
    } catch (const SuiteError& error) {
      std::string all;
      for (const Mistake& m : error.mistakes()) {
        EXPECT_LE(m.line, kTopLines + 1);
        all += m.message + "\n";
      }
      return all;
    }
    return "";
  }
  Folder folder_;
};

TEST_F(TraceSuite, SecondsReplacePaceAndCost) {
  const Suite suite = with(R"({ kind = "trace", file = "steps.csv" })");
  const TrialSpec& spec = suite.trials.at(0);
  EXPECT_EQ(spec.costs.gradient, std::chrono::milliseconds(20)) << "the mean";
  EXPECT_DOUBLE_EQ(spec.scenario.slowdown({.rank = 0}, 0, {}), 0.5);
  EXPECT_DOUBLE_EQ(spec.scenario.slowdown({.rank = 1}, 0, {}), 1.5);
  const TrialRecord record = simulate_trial(spec);
  EXPECT_NEAR(record.samples_per_s, 2 * 8 / 0.030, 1e-6) << "the slower rank decides each step";
  EXPECT_NEAR(record.window_ideal_samples_per_s, 2 * 8 / 0.020, 2) << "nobody waits";
}

TEST_F(TraceSuite, SecondsAreScaledAndFollowTheBatch) {
  const TrialSpec spec = with(R"({ kind = "trace", file = "steps.csv", scale = 0.1 })").trials.at(0);
  EXPECT_EQ(spec.costs.gradient, std::chrono::milliseconds(2));
  EXPECT_NEAR(simulate_trial(spec).samples_per_s, 2 * 8 / 0.003, 1e-3);
}

TEST_F(TraceSuite, EveryMapAndEndRuns) {
  const double fixed = simulate_trial(with(R"({ kind = "trace", file = "steps.csv" })").trials.at(0)).samples_per_s;
  for (const char* more :
       {R"(end = "hold")", R"(end = "error")", R"(map = "block_bootstrap")", R"(map = "block_bootstrap", block = 7)"}) {
    const TrialSpec spec = with(std::string(R"({ kind = "trace", file = "steps.csv", )") + more + " }").trials.at(0);
    EXPECT_NEAR(simulate_trial(spec).samples_per_s, fixed, 1e-6) << more << ": in each step one rank takes 30 ms";
  }
  const TrialSpec resampled =
      with(R"({ kind = "trace", file = "steps.csv", map = "resample_ranks", block = 3 })", {"run.world_size=16"})
          .trials.at(0);
  EXPECT_NEAR(simulate_trial(resampled).samples_per_s, 16 * 8 / 0.030, 1) << "one of 16 takes 30 ms nearly always";
  const TrialSpec times =
      with(R"({ kind = "trace", file = "times.csv", end = "hold" })", {"compute.pace=100ms"}).trials.at(0);
  const TrialRecord record = simulate_trial(times);
  EXPECT_EQ(times.costs.gradient, std::chrono::milliseconds(100)) << "factors slow what the suite paces";
  EXPECT_NEAR(record.samples_per_s, 2 * 8 / 0.3, 1e-6);
}

TEST_F(TraceSuite, SlowPhasesRun) {
  const TrialSpec spec =
      with(R"({ kind = "markov", factor = 4, slow = "2s", normal = "5s" })", {"run.iterations=400"}).trials.at(0);
  EXPECT_EQ(spec.scenario.compute[0].slow, std::chrono::seconds(2));
  const TrialRecord record = simulate_trial(spec);
  EXPECT_LT(record.samples_per_s, 2 * 8 / 0.077 * 0.9);
  EXPECT_GT(record.samples_per_s, 2 * 8 / (4 * 0.077));
}

TEST_F(TraceSuite, AHashFollowsTheContentOfTheFileAndNotItsPlace) {
  const std::string rule = R"({ kind = "trace", file = "steps.csv", map = "block_bootstrap" })";
  const Suite suite = with(rule);
  const std::string hash = suite.trials.at(0).hash();
  EXPECT_THAT(suite.resolved, HasSubstr("file = \"" + folder_ / "steps.csv" + "\""));
  EXPECT_THAT(suite.resolved, HasSubstr("digest = \"" + suite.trials.at(0).scenario.compute[0].digest + "\""));
  EXPECT_EQ(parse_suite(suite.resolved, "elsewhere/y.toml", {}).trials.at(0).hash(), hash);
  folder_.write("other.csv", text_of(folder_ / "steps.csv"));
  EXPECT_EQ(with(R"({ kind = "trace", file = "other.csv", map = "block_bootstrap" })").trials.at(0).hash(), hash);
  folder_.write("other.csv", text_of(folder_ / "steps.csv") + "0,99,1\n1,99,1\n");
  EXPECT_NE(with(R"({ kind = "trace", file = "other.csv", map = "block_bootstrap" })").trials.at(0).hash(), hash);
  // The same numbers and mean, but the ranks change places in a step.
  folder_.write("other.csv", "rank,step,seconds\n0,0,1\n1,0,2\n0,1,1\n1,1,2\n");
  const std::string before = with(R"({ kind = "trace", file = "other.csv" })").trials.at(0).hash();
  folder_.write("third.csv", "rank,step,seconds\n0,0,1\n1,0,2\n0,1,2\n1,1,1\n");
  EXPECT_NE(with(R"({ kind = "trace", file = "third.csv" })").trials.at(0).hash(), before);
  EXPECT_NE(with(R"({ kind = "trace", file = "steps.csv" })").trials.at(0).hash(), hash);
}

TEST_F(TraceSuite, RanksReadTheSameFileAgain) {
  const TrialSpec spec =
      with(R"({ kind = "trace", file = "steps.csv", map = "block_bootstrap", block = 2 })").trials.at(0);
  const TrialSpec again = trial_from_json(to_json(spec));
  EXPECT_EQ(again.hash(), spec.hash());
  for (Iter k = 0; k < 50; ++k)
    EXPECT_EQ(again.scenario.slowdown({.rank = 1}, k, {}), spec.scenario.slowdown({.rank = 1}, k, {}));
  folder_.write("steps.csv", "rank,step,seconds\n0,0,1\n1,0,1\n");
  const auto said = [&] {
    try {
      trial_from_json(to_json(spec));
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(said(), HasSubstr("steps.csv is not the one that the trial was made with"));
  std::filesystem::remove(folder_ / "steps.csv");
  EXPECT_THAT(said(), HasSubstr("steps.csv cannot be read"));
}

TEST_F(TraceSuite, MistakesAreNamed) {
  const std::string trace = "kind = \"trace\", file = \"steps.csv\"", times = "kind = \"trace\", file = \"times.csv\"";
  EXPECT_THAT(refused("kind = \"trace\""), HasSubstr("a trace rule needs 'file'"));
  EXPECT_THAT(refused("kind = \"trace\", file = \"none.csv\""),
              AllOf(HasSubstr("the trace 'none.csv' is neither beside the suite (" + folder_ / "none.csv" + ")"),
                    HasSubstr("nor in the current folder (" + std::filesystem::current_path().string() + "/none.csv)"),
                    Not(HasSubstr("in virtual time"))));
  EXPECT_THAT(refused("kind = \"trace\", file = \"\""), HasSubstr("'file' is empty"));
  EXPECT_THAT(refused("kind = \"trace\", file = \"/none/none.csv\""), HasSubstr("/none/none.csv cannot be read"));
  EXPECT_THAT(refused(trace + ", factor = 2"),
              HasSubstr("'factor' is only allowed with kind constant, bernoulli, markov; a trace rule has file, map,"));
  EXPECT_THAT(refused(trace + ", map = \"block_bootstrap\", block = 41"),
              HasSubstr("no 41 steps in a row: its longest run without a gap has 40"));
  EXPECT_THAT(refused(trace + ", block = 2"), HasSubstr("'block' is only allowed with a map that draws blocks"));
  EXPECT_THAT(
      refused(trace + ", slot = \"1s\""),
      HasSubstr(
          "'slot' is only allowed with a trace of factors (rank,time,factor); for a trace of seconds use 'block'"));
  EXPECT_THAT(refused(trace + ", per = \"time\""), HasSubstr("per = \"time\" is only allowed with rules that draw"));
  EXPECT_THAT(refused(trace + ", of = \"all\""), HasSubstr("of = \"all\" is only allowed with a trace of factors"));
  EXPECT_THAT(refused(trace + ", correlated = \"host\""),
              HasSubstr("correlated = \"host\" is only allowed with rules that draw"));
  EXPECT_THAT(refused(trace + ", map = \"resample_ranks\", end = \"hold\""),
              HasSubstr("end = \"hold\" is only allowed with map = \"fixed\""));
  EXPECT_THAT(refused(trace + ", map = \"fixd\""), HasSubstr("did you mean 'fixed'?"));
  EXPECT_THAT(refused(trace, {"run.world_size=3"}),
              HasSubstr("replays 2 ranks on 3 workers: set map = \"resample_ranks\""));
  for (const char* some : {"[1]", "\"drawn\""})
    EXPECT_EQ(
        refused(trace + ", ranks = " + some),
        "'ranks' is only allowed with a trace of factors (rank,time,factor): one of seconds replaces the pace of all "
        "workers\n");
  EXPECT_EQ(refused(trace + ", ranks = [1, 0], from = \"0s\""), "") << "all of them, always";
  for (const std::string key : {"from", "until"})
    EXPECT_THAT(refused(trace + ", " + key + " = \"1s\""),
                HasSubstr("'" + key + "' is only allowed with a trace of factors"));
  EXPECT_THAT(refused(trace + ", scale = 0"), HasSubstr("'scale' must be above 0: the seconds of the trace"));
  EXPECT_EQ(refused(times + ", ranks = [1], from = \"1s\"", {"run.world_size=3", "topology.name=ring"}), "");
  folder_.write("three.csv", "rank,time,factor\n0,0,1\n1,1,3\n2,2,1\n");
  EXPECT_EQ(refused("kind = \"trace\", file = \"three.csv\""), "") << "more ranks than workers";
  EXPECT_THAT(refused(times, {"run.world_size=3"}),
              HasSubstr("replays 2 ranks on 3 workers: set map = \"resample_ranks\", which draws a rank for each "
                        "worker, or name 'ranks'"));
  EXPECT_EQ(
      refused(times + ", ranks = [0, 2]", {"run.world_size=4"}),
      "scenario 'x' names rank 2, but the trace has ranks 0 to 1: set map = \"resample_ranks\", which draws a rank "
      "for each worker\n");
  EXPECT_THAT(refused(trace, {"run.world_size=3"}), Not(HasSubstr("or name 'ranks'")));
  folder_.write("link.csv", "time,bandwidth\n0,1e6\n1,2e6\n");
  EXPECT_EQ(refused("kind = \"trace\", file = \"link.csv\""),
            "this trace is of a link: one of workers has the columns rank,step,seconds or rank,time,factor\n");
  EXPECT_THAT(refused(trace + ", end = \"error\"", {"run.iterations=50"}),
              HasSubstr("replays 40 steps with end = \"error\", but 'allreduce' does"));
  EXPECT_THAT(refused(trace + ", end = \"error\"", {"run.samples=5000"}), HasSubstr("the run ends after samples"));
  EXPECT_THAT(refused(trace + " }, { " + trace), HasSubstr("two traces of seconds"));
  EXPECT_THAT(
      refused(times + ", block = 2"),
      HasSubstr(
          "'block' is only allowed with a trace of seconds (rank,step,seconds); for a trace of factors use 'slot'"));
  EXPECT_THAT(refused(times + ", scale = 2"), HasSubstr("'scale' is only allowed with a trace of seconds"));
  EXPECT_THAT(refused(times + ", map = \"block_bootstrap\""), HasSubstr("blocks of time need 'slot'"));
  EXPECT_THAT(refused(times + ", map = \"block_bootstrap\", slot = \"3s\""), HasSubstr("which ends at 2s"));
  EXPECT_EQ(refused(times + ", map = \"block_bootstrap\", slot = \"1s\", of = \"all\""), "");
  EXPECT_THAT(refused("kind = \"markov\", factor = 2, slow = \"1s\""), HasSubstr("a markov rule needs 'normal'"));
  EXPECT_THAT(refused("kind = \"markov\", factor = 2, slow = \"1s\", normal = \"1s\", per = \"time\""),
              HasSubstr("per = \"time\" is only allowed with rules that draw"));
  EXPECT_EQ(refused("kind = \"markov\", factor = 2, slow = \"1s\", normal = \"1s\", of = \"all\""), "");
}

}  // namespace
}  // namespace hopbench
