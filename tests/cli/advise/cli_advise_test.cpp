// `hopbench advise` from outside.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "results/files/outcome.h"
#include "tests/cli/cli.h"
#include "tests/suites/advice/cluster_samples.h"

namespace hopbench {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// Returns the gain of lb_bsp over allreduce in a measure of trials.csv.
double gain_in(const std::string& csv, const std::string& measure) {
  double logs = 0;
  int repeats = 0;
  for (const Outcome& trial : outcomes_from_csv(csv, "trials.csv")) {
    if (trial.text("measure") != measure) continue;
    const bool present = trial.text("variant") == "allreduce";
    if (!present && trial.text("variant") != "lb_bsp") continue;
    logs += (present ? -1 : 1) * std::log(trial.number("samples_heard_per_s").value_or(0));
    repeats += present ? 1 : 0;
  }
  return std::exp(logs / repeats);
}

class Advises : public testing::Test {
 protected:
  Advises() {
    folder_.write("steps.csv", small_trace());
    folder_.write("cluster.toml", small_cluster());
    folder_.write("errors.csv",
                  "family,from,to,cells,least,q05,q25,q50,q75,q95,most\n"
                  "all,0,1000,50,-0.02,-0.01,-0.005,0,0.005,0.01,0.02\n");
    folder_.write(
        "few.toml",
        "[[protocol]]\nname = \"allreduce\"\n[[protocol]]\nname = \"ps_ssp\"\n[[protocol]]\nname = \"adpsgd\"\n"
        "[[protocol]]\nname = \"lb_bsp\"\n[[protocol]]\nname = \"local_sgd\"\nperiod = 100\n");
  }
  Ended run(const Args& words) const { return hopbench(folder_.path(), words); }
  std::string refused(const Args& words) const {
    const std::string before = contents(folder_.path());
    const Ended ended = run(words);
    EXPECT_EQ(ended.code, 2) << ended.out;
    EXPECT_EQ(contents(folder_.path()), before) << "nothing is written";
    return ended.err;
  }
  Folder folder_;
};

TEST_F(Advises, AnswersInAFolderWithItsTrials) {
  const Ended ended =
      run({"advise", "cluster.toml", "--candidates", "few.toml", "--errors", "errors.csv", "-o", "answer"});
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.out, AllOf(HasSubstr("cluster.toml, scenario recorded"), HasSubstr("Use lb_bsp: "),

                               HasSubstr(" Of class 2, local_sgd is the fastest: 1.39 times the samples/s of "),
                               HasSubstr("rests on: not checked: local_sgd, allreduce")));
  for (const char* file : {"advice.html", "advice.md", "advice.json", "trials.csv", "suite.toml"})
    EXPECT_TRUE(std::filesystem::exists(folder_ / (std::string("answer/") + file))) << file;
  EXPECT_EQ(count_lines(text_of(folder_ / "answer/trials.csv")), 1u + 5 * 3 + 4 * 3 * 3)
      << "candidates, then variations";
  const Ended again =
      run({"advise", "cluster.toml", "--candidates", "few.toml", "--errors", "errors.csv", "-o", "again", "-j", "1"});
  EXPECT_EQ(again.out, ended.out) << "virtual time repeats";
  EXPECT_EQ(text_of(folder_ / "again/trials.csv"), text_of(folder_ / "answer/trials.csv"));
  const auto json = nlohmann::json::parse(text_of(folder_ / "answer/advice.json"));
  std::map<std::string, double> gains;
  for (const auto& one : json["depends_on"]) gains[one["what"]] = one["gain"];
  ASSERT_EQ(gains.count("network at half the rate"), 1u);
  EXPECT_EQ(gains.count("servers beside worker 0"), 0u) << "each worker has a server beside it";
  EXPECT_NEAR(gains["latency doubled"], gain_in(text_of(folder_ / "answer/trials.csv"), "latency doubled"), 1e-9)
      << "with three repeats all of them are tried with changes";
  EXPECT_LT(1.02 * gains["network at half the rate"], gains["latency doubled"])
      << "on a thin network speeds count less";
  EXPECT_EQ(run({"validate", "answer/suite.toml"}).code, 0) << "it names the trace wherever it lies";
}

TEST_F(Advises, NamesAFileThatIsNotThere) {
  for (const char* command : {"advise", "whatif"})
    EXPECT_THAT(refused({command, "nosuch.toml"}),
                HasSubstr("cluster file nosuch.toml: cannot be read (No such file or directory): docs/advice.md"));
}

TEST_F(Advises, ComparesTheCandidatesThatComeWithIt) {
  const Ended ended = run({"advise", "cluster.toml", "-r", "1", "--json", "-o", "answer"});
  ASSERT_EQ(ended.code, 0) << ended.err;
  const auto json = nlohmann::json::parse(ended.out);
  EXPECT_GE(json["ranking"].size(), 20u);
  EXPECT_EQ(json["failed"].size(), 0u) << json["failed"];
  EXPECT_EQ(json["present"], "allreduce");
}

TEST_F(Advises, TakesALearningModelToATarget) {
  folder_.write("two.toml", "[[protocol]]\nname = \"allreduce\"\n[[protocol]]\nname = \"ps_ssp\"\n");
  const Ended ended =
      run({"advise", "cluster.toml", "--candidates", "two.toml", "-r", "2", "--target-loss", "100", "--stand-in",
           "quadratic", "--samples", "3200", "-o", "answer", "--set", "compute.backend=reference"});
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.out, AllOf(HasSubstr("Time to a loss of 100 of quadratic"),
                               HasSubstr("learning does not transfer by itself")));
}

TEST_F(Advises, ComparesFilesThatAreNoSuites) {
  EXPECT_THAT(run({"list", "suites"}).out, AllOf(HasSubstr("first.toml"), Not(HasSubstr("candidates.toml"))));
}

TEST_F(Advises, InterruptedKeepTheTrialsThatAreDoneAndGoOnWithThem) {
  const auto words = [&](const std::string& flag, const std::string& folder) {
    return Args{"advise", "cluster.toml", "--candidates", "few.toml", "--errors", "errors.csv", "-j",
                "1",      flag,           folder};
  };
  const Ended whole = run(words("-o", "whole"));
  Running running(folder_.path(), words("-o", "part"));
  std::vector<pid_t> ranks;
  ASSERT_TRUE(soon([&] { return !(ranks = running.ranks()).empty(); }));
  const pid_t first = ranks.front();
  ASSERT_TRUE(soon([&] { return !(ranks = running.ranks()).empty() && ranks.front() != first; }));
  running.send(SIGINT);
  const Ended ended = running.wait();
  EXPECT_EQ(ended.code, 130) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr(" -o part --resume part\n"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "part/advice.md"));
  const Ended resumed = run(words("--resume", "part"));
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_THAT(resumed.err, HasSubstr(" of 15 trials are done already"));
  EXPECT_EQ(resumed.out, whole.out);
  EXPECT_EQ(text_of(folder_ / "part/trials.csv"), text_of(folder_ / "whole/trials.csv"));
}

TEST_F(Advises, InterruptedWriteNothing) {
  folder_.write("long.toml", with(small_cluster(), "iterations = 20", "iterations = 1000000"));
  const std::string before = contents(folder_.path());
  Running running(folder_.path(), {"advise", "long.toml", "-o", "answer"});
  ASSERT_TRUE(soon([&] { return !running.ranks().empty(); }));
  running.send(SIGINT);
  const Ended ended = running.wait();
  EXPECT_EQ(ended.code, 130) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("interrupted: nothing is written"));
  EXPECT_EQ(contents(folder_.path()), before);
}

TEST_F(Advises, RefuseWhatTheyCannotDoBeforeTheFirstTrial) {
  EXPECT_THAT(refused({"advise", "cluster.toml", "--present", "allredcue"}), HasSubstr("did you mean 'allreduce'?"));
  EXPECT_THAT(refused({"advise", "none.toml"}), HasSubstr("none.toml"));
  EXPECT_THAT(refused({"advise", "cluster.toml", "--stand-in", "mlp"}), HasSubstr("--target-loss"));
  EXPECT_THAT(refused({"advise", "cluster.toml", "--candidates", "none.toml"}), HasSubstr("none.toml"));
  EXPECT_THAT(refused({"advise", "cluster.toml", "--errors", "few.toml"}), HasSubstr("few.toml:1: the header must be"));
  EXPECT_THAT(refused({"advise", "cluster.toml", "--scenario", "quiet"}), HasSubstr("no scenario 'quiet'"));
  EXPECT_THAT(refused({"advise", "cluster.toml", "--target-loss", "1"}),
              HasSubstr("timing_only does not learn: name one that does"));
  EXPECT_THAT(refused({"advise", "cluster.toml", "--target-loss", "1", "--stand-in", "linear_svm"}),
              HasSubstr("its gradients are sparse"));
  EXPECT_THAT(refused({"advise", "cluster.toml", "-o", "."}), HasSubstr("cluster.toml"));
  EXPECT_THAT(refused({"advise", "cluster.toml", "--json=cluster.toml"}), HasSubstr("cluster.toml"));
  folder_.write("bad.toml", small_cluster() + "[model2]\n");
  EXPECT_THAT(refused({"advise", "bad.toml"}), HasSubstr("unknown section 'model2' at the top: did you mean 'model'?"));
}

}  // namespace
}  // namespace hopbench
