// model.profile and model.wire_bytes: what a suite may say, and that times are those of a model of that size.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "suites/language/suite.h"
#include "suites/trial/execute.h"
#include "tests/folder.h"

namespace hopbench {
namespace {

std::string suite_of(const std::string& model, const std::string& compute, const std::string& protocol = "dpsgd") {
  return "schema = 1\n[run]\nworld_size = 4\niterations = 20\nrepeats = 1\nwarmup_time = \"0s\"\n[model]\n" + model +
         "[compute]\nnoise = 0\n" + compute +
         "[network]\npreset = \"1G\"\n[transport]\nname = \"sim\"\n[[protocol]]\nname = \"" + protocol + "\"\n";
}

TrialSpec trial_of(const std::string& text, const std::string& path = "x.toml") {
  return parse_suite(text, path, {}).trials.at(0);
}

double iteration_of(const std::string& text, const std::string& path) {
  return simulate_trial(trial_of(text, path)).median_iteration_s;
}

std::string mistakes_of(const std::string& text) {
  try {
    parse_suite(text, "x.toml", {});
  } catch (const SuiteError& error) {
    std::string all;
    for (const Mistake& mistake : error.mistakes()) all += mistake.message + "\n";
    return all;
  }
  return "";
}

TEST(ProfileSuite, AShardIsReadWithTheOthersAndANoteSaysSo) {
  const Folder folder;
  const std::string header = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  for (const char* name : {"m-1-of-2.safetensors", "m-2-of-2.safetensors"})
    folder.write(name, std::string(1, char(header.size())) + std::string(7, '\0') + header);
  const Suite suite =
      parse_suite(suite_of("name = \"timing_only\"\nprofile = \"m-2-of-2.safetensors\"\n", "pace = \"3ms\"\n"),
                  folder / "suite.toml", {});
  EXPECT_EQ(suite.trials.at(0).workload.size, 4u);
  EXPECT_THAT(suite.notes, testing::Contains(testing::HasSubstr("m-2-of-2.safetensors is one of 2 shards")));
}

TEST(ProfileSuite, GivesTimingOnlyItsSizesAndTimes) {
  const Folder folder;
  folder.write("p.csv", "bytes,seconds\n4000000,0.03\n4000000,0.01\n");
  const TrialSpec trial =
      trial_of(suite_of("name = \"timing_only\"\nprofile = \"p.csv\"\n", ""), folder / "suite.toml");
  EXPECT_EQ(trial.workload.size, 2'000'000u);
  EXPECT_EQ(trial.workload.profile.size(), 2u);
  EXPECT_EQ(trial.costs.gradient, std::chrono::milliseconds(40));
  const TrialSpec again = trial_from_json(to_json(trial));
  EXPECT_EQ(again.workload.profile, trial.workload.profile);
  EXPECT_EQ(again.hash(), trial.hash());
}

// All-reduce overlaps the backward pass: it ends earlier if most bytes are complete early.
TEST(ProfileSuite, DecidesHowMuchIsHidden) {
  const Folder folder;
  folder.write("early.csv", "bytes,seconds\n7000000,0.05\n1000000,0.05\n");
  folder.write("late.csv", "bytes,seconds\n1000000,0.05\n7000000,0.05\n");
  const auto iteration = [&](const std::string& name) {
    return iteration_of(suite_of("name = \"timing_only\"\nprofile = \"" + name + "\"\n", "", "allreduce"),
                        folder / "suite.toml");
  };
  const double early = iteration("early.csv"), late = iteration("late.csv");
  EXPECT_LT(early, 0.85 * late);
  EXPECT_GT(early, 0.1) << "the gradient's own time";
}

TEST(ProfileSuite, MistakesAreNamed) {
  const Folder folder;
  folder.write("p.csv", "bytes,seconds\n4000000,0.03\n");
  const std::string profile = "profile = \"" + (folder / "p.csv") + "\"\n";
  EXPECT_EQ(mistakes_of(suite_of("name = \"quadratic\"\n" + profile, "pace = \"10ms\"\n")),
            "'profile' is only allowed with model timing_only\n");
  EXPECT_EQ(mistakes_of(suite_of("name = \"timing_only\"\nsize = 5\n" + profile, "")),
            "'size' and 'profile' are two sizes: give one\n");
  EXPECT_EQ(mistakes_of(suite_of("name = \"timing_only\"\n" + profile, "pace = \"10ms\"\n")),
            "the profile has times, which replace 'pace' and 'cost': leave these out\n");
  const std::string missing = mistakes_of(suite_of("name = \"timing_only\"\nprofile = \"none.csv\"\n", ""));
  EXPECT_NE(missing.find("none.csv cannot be read: No such file"), std::string::npos) << missing;
  EXPECT_EQ(std::count(missing.begin(), missing.end(), '\n'), 1) << missing;
}

// Times and bytes are those of a model of that size, but for the rounding of pieces.
TEST(WireBytes, MakeASmallModelAsLargeAsItsStandIn) {
  for (const char* protocol : {"dpsgd", "ps_asp", "hop"}) {
    const std::string small =
        suite_of("name = \"quadratic\"\nsize = 64\nwire_bytes = 4096000\n", "pace = \"10ms\"\n", protocol);
    const std::string large = suite_of("name = \"timing_only\"\nsize = 1024000\n", "pace = \"10ms\"\n", protocol);
    const TrialRecord stand_in = simulate_trial(trial_of(small)), real = simulate_trial(trial_of(large));
    EXPECT_NEAR(stand_in.time_s, real.time_s, 1e-6 * real.time_s) << protocol;
    for (std::size_t r = 0; r < real.ranks.size(); ++r)
      EXPECT_EQ(stand_in.ranks[r].bytes_sent, real.ranks[r].bytes_sent) << protocol;
  }
}

/// The iteration of all-reduce by hand: the gradient, and what the rings of its buckets exceed the backward pass by.
double by_hand(std::uint64_t bytes, double gradient_s, double bytes_per_s, int workers) {
  constexpr std::uint64_t kFirst = 1 << 20, kOther = 25 << 20;
  const double all = double(bytes);
  double sent = 0, ready = 0, free = 0;
  for (std::uint64_t left = bytes, bucket = kFirst; left > 0; left -= bucket, bucket = kOther) {
    bucket = std::min(left, bucket);
    sent += double(bucket);
    ready = gradient_s * (1.0 / 3 + 2.0 / 3 * sent / all);
    free = std::max(free, ready) + 2.0 * (workers - 1) / workers * double(bucket) / bytes_per_s;
  }
  return free;
}

// Beside a gradient of 0.1 s and up to 2.6 GB in it. `size` plays no part.
TEST(WireBytes, LeaveInTheBucketsOfDistributedDataParallel) {
  constexpr std::uint64_t kMega = 1 << 20;
  const std::pair<std::uint64_t, std::size_t> cases[] = {
      {kMega / 2, 1}, {76 * kMega, 4}, {301 * kMega, 13}, {2'600'000'000, 101}, {103 * 25 * kMega + kMega, 104}};
  for (const auto& [bytes, buckets] : cases) {
    std::string text = suite_of("name = \"timing_only\"\nsize = 1000\nwire_bytes = " + std::to_string(bytes) + "\n",
                                "vector_rate = 0\npace = \"100ms\"\n", "allreduce");
    text.replace(text.find("preset = \"1G\""), 13, "bandwidth = \"200Gbit/s\"\nlatency = \"1us\"");
    text.replace(text.find("iterations = 20"), 15, "iterations = 2");
    const TrialSpec trial = trial_of(text);
    EXPECT_EQ(trial.workload.profile.size(), buckets);
    const double should = by_hand(bytes, 0.1, 25e9, 4);
    EXPECT_NEAR(simulate_trial(trial).median_iteration_s, should, 0.02 * should) << buckets << " buckets";
  }
}

TEST(WireBytes, LeaveInAtMost128Buckets) {
  const auto trial = [](const std::string& model) { return trial_of(suite_of(model, "pace = \"1s\"\n")); };
  const TrialSpec large = trial("name = \"timing_only\"\nwire_bytes = 4000000000000\n");
  EXPECT_EQ(large.workload.profile.size(), 128u);
  EXPECT_NEAR(4.0 * double(large.workload.size), 4e12, 4 * 128);
  EXPECT_DOUBLE_EQ(large.workload.profile.back().done_at, 1);
  EXPECT_TRUE(trial("name = \"quadratic\"\nwire_bytes = 4000000000000\n").workload.profile.empty()) << "it learns";
  EXPECT_TRUE(trial("name = \"timing_only\"\nsize = 1000\n").workload.profile.empty());
}

TEST(WireBytes, AreOfVirtualTimeAndOfAnyModelWithDenseGradients) {
  EXPECT_EQ(mistakes_of(suite_of("name = \"timing_only\"\nsize = 5\nwire_bytes = 100\n", "pace = \"10ms\"\n")), "");
  std::string real = suite_of("name = \"quadratic\"\nwire_bytes = 100\n", "pace = \"10ms\"\n");
  real.replace(real.find("[network]\npreset = \"1G\"\n"), 23, "");
  real.replace(real.find("\"sim\""), 5, "\"gloo\"");
  EXPECT_NE(mistakes_of(real).find("'wire_bytes' needs virtual time (sim)"), std::string::npos) << mistakes_of(real);
}

}  // namespace
}  // namespace hopbench
