// Tests costs of a suite: rates by a device's name, and long warm-ups.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "suites/language/suite.h"
#include "suites/trial/plan.h"

namespace hopbench {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

// In virtual time, 5 ms a gradient.
Suite costs_suite(const std::string& lines, const std::string& below = "") {
  return parse_suite("schema = 1\nrun.world_size = 4\nmodel.name = \"quadratic\"\ntransport.name = \"sim\"\n" + lines +
                         "\n[[protocol]]\nname = \"allreduce\"\n" + below,
                     "a.toml", {});
}

std::string costs_complaint(const std::string& lines, const std::string& below = "") {
  try {
    costs_suite(lines, below);
  } catch (const SuiteError& error) {
    return error.what();
  }
  return "";
}

const std::string kPaced = "compute.pace = \"5ms\"\n";

TEST(VectorRate, MayBeADevicesName) {
  const auto rate = [](const std::string& line) {
    return costs_suite(kPaced + line).trials.front().costs.vector_bytes_per_s;
  };
  EXPECT_EQ(rate(""), 10e9);
  EXPECT_EQ(rate("compute.vector_rate = \"cpu\""), 10e9);
  EXPECT_EQ(rate("compute.vector_rate = \"a100\""), 1.5e12);
  EXPECT_EQ(rate("compute.vector_rate = \"h100\""), 2.5e12);
  EXPECT_EQ(rate("compute.vector_rate = \"20GB/s\""), 20e9);
  EXPECT_THAT(costs_complaint(kPaced + "compute.vector_rate = \"a1000\""), HasSubstr("or one of cpu, a100, h100"));
  EXPECT_THAT(costs_complaint(kPaced + "network.bandwidth = \"a100\""), HasSubstr("must be a rate such as"));
}

TEST(VectorRate, ByNameGivesTheTrialThatTheNumberGives) {
  const Suite number = costs_suite(kPaced + "compute.vector_rate = 1.5e12");
  const Suite name = costs_suite(kPaced + "compute.vector_rate = \"a100\"");
  EXPECT_EQ(name.trials.front().hash(), number.trials.front().hash());
  EXPECT_EQ(parse_suite(name.resolved, "resolved.toml", {}).trials.front().hash(), number.trials.front().hash());
}

TEST(VectorRate, IsKnownToBeTheDefaultAlsoInTheResolvedSuite) {
  const auto by_default = [](const Suite& suite) { return suite.trials.front().default_vector_rate; };
  EXPECT_TRUE(by_default(costs_suite(kPaced)));
  EXPECT_TRUE(by_default(parse_suite(costs_suite(kPaced).resolved, "resolved.toml", {})));
  EXPECT_FALSE(by_default(costs_suite(kPaced + "compute.vector_rate = \"cpu\"")));
  EXPECT_FALSE(by_default(costs_suite(kPaced + "compute.vector_rate = 20e9")));
}

const std::string kFarAhead = "[[protocol]]\nname = \"local_sgd\"\nperiod = ";

TEST(WarmUp, ThatIsLongIsNoted) {
  EXPECT_THAT(costs_suite(kPaced).long_warm_ups, IsEmpty());
  const Suite suite = costs_suite(kPaced + "run.iterations = 6", kFarAhead + "5000");
  const auto note =
      AllOf(HasSubstr("long warm-up of local_sgd"), HasSubstr("10000 iterations of each rank before the 6"));
  EXPECT_THAT(suite.long_warm_ups, Contains(note));
  EXPECT_THAT(suite.notes, Contains(note));
}

TEST(WarmUp, BeyondTheLimitIsRefused) {
  EXPECT_EQ(costs_complaint(kPaced, kFarAhead + "500000"), "");
  EXPECT_THAT(costs_complaint(kPaced, kFarAhead + "500001"),
              HasSubstr("a.toml:9:1: the warm-up of 'local_sgd' would be 1000002 iterations of each rank, more than "
                        "1000000: it is twice as many as a rank may be ahead of another"));
  EXPECT_THAT(costs_complaint("compute.pace = \"1us\""), HasSubstr("shorten run.warmup_time"));
  EXPECT_EQ(costs_complaint("compute.pace = \"1us\"\nrun.warmup_time = \"1s\""), "");
  EXPECT_EQ(costs_complaint(kPaced + "run.samples = 1000", kFarAhead + "1000000"), "") << "has no warm-up";
  EXPECT_EQ(costs_complaint(kPaced, kFarAhead + "1000000\n[[measure]]\nwhat = \"convergence\""), "");
}

TEST(Noise, IsOfVirtualTimeAndPartOfTheTrial) {
  const auto trial = [](const std::string& lines) { return costs_suite(kPaced + lines).trials.front(); };
  EXPECT_EQ(trial("").noise, 0.003);
  const TrialSpec exact = trial("compute.noise = 0");
  EXPECT_EQ(exact.noise, 0);
  EXPECT_NE(trial("").hash(), exact.hash());
  EXPECT_NE(trial("compute.noise = 0.01").hash(), trial("").hash());
  EXPECT_EQ(trial_from_json(to_json(trial(""))).noise, 0.003);
  EXPECT_THAT(to_json(exact), testing::Not(HasSubstr("noise"))) << "or trials of older versions had another hash";
  EXPECT_THAT(costs_complaint(kPaced + "compute.noise = 0.2"), HasSubstr("0 to 0.1"));
}

// A real process needs no help to be noisy, and the same suite in both clocks says so with one key.
TEST(Noise, IsNoneOfRealProcesses) {
  const auto real = [](const std::string& line) {
    return parse_suite("schema = 1\nrun.world_size = 4\nmodel.name = \"quadratic\"\n" + kPaced + line +
                           "\n[[protocol]]\nname = \"allreduce\"\n",
                       "a.toml", {})
        .trials.front();
  };
  EXPECT_EQ(real("compute.noise = 0.05").noise, 0);
  EXPECT_EQ(real("compute.noise = 0.05").hash(), real("").hash());
}

TEST(Noise, IsInTheResolvedSuite) {
  const Suite suite = costs_suite(kPaced + "compute.noise = 0.01");
  EXPECT_EQ(parse_suite(suite.resolved, "resolved.toml", {}).trials.front().hash(), suite.trials.front().hash());
  EXPECT_THAT(costs_suite(kPaced).resolved, HasSubstr("noise = 0.003"));
}

}  // namespace
}  // namespace hopbench
