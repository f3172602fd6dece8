// Settings within their documented ranges whose product leaves the range of the trial's clock.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "backends/base/error.h"
#include "suites/language/suite.h"
#include "suites/trial/execute.h"

namespace hopbench {
namespace {

constexpr const char* kBase = R"(schema = 1
name = "b"
[run]
world_size = 4
iterations = 20
warmup_time = "0s"
repeats = 1
[model]
name = "quadratic"
size = 256
batch = 8
[compute]
noise = 0
backend = "reference"
pace = "5ms"
[transport]
name = "sim"
[[protocol]]
name = "dpsgd"
)";

/// The suite with `scenario` in its only scenario and with `sets` as the command line has them.
std::vector<TrialSpec> trials(const std::string& scenario, const std::vector<std::string>& sets,
                              const std::string& base = kBase) {
  const std::string text = base + "[[scenario]]\nname = \"h\"\n" + scenario + "\n";
  return parse_suite(text, "b.toml", {.sets = sets, .profile = "", .seed = {}, .repeats = {}}).trials;
}

std::string failure(const std::string& scenario, const std::vector<std::string>& sets = {},
                    const std::string& base = kBase) {
  try {
    simulate_trial(trials(scenario, sets, base).front());
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kTrialsFailed);
    return error.what();
  }
  return "none";
}

constexpr const char* kPastTheEnd = "virtual time would go past the end of its clock, 30 years";
constexpr const char* kMillionTwice =
    R"(compute = [{ kind = "constant", ranks = [0], factor = 1e6 }, { kind = "constant", ranks = [0], factor = 1e6 }])";
constexpr const char* kMillion = R"(compute = [{ kind = "constant", ranks = [0], factor = 1e6 }])";

TEST(ClockRange, ProductsOfSlowdowns) {
  EXPECT_THAT(failure(kMillionTwice), testing::StartsWith(kPastTheEnd));
  EXPECT_THAT(failure(kMillionTwice, {"compute.pace=1s"}), testing::StartsWith(kPastTheEnd));
  EXPECT_THAT(failure(kMillionTwice), testing::HasSubstr("\n  rank 0 is at work, for "));
}

// Four servers have ranks behind the workers, and no iteration.
TEST(ClockRange, TheRankThatComputesStandsFirst) {
  std::string base = kBase, scenario = kMillionTwice;
  base.replace(base.find("dpsgd"), 5, "ps_bsp");
  for (std::size_t at = 0; (at = scenario.find("[0]", at)) != std::string::npos;) scenario.replace(at, 3, "[3]");
  const std::string said = failure(scenario, {}, base);
  EXPECT_THAT(said, testing::HasSubstr("latencies\n  rank 3 is at work, for "));
  EXPECT_THAT(said, testing::ContainsRegex("\n  rank 4 waits for gradients of all workers, for [^:]*: 0 messages in"))
      << "those of the others are added up already";
  EXPECT_THAT(said, testing::Not(testing::HasSubstr("iteration -1")));
}

TEST(ClockRange, InfiniteFactorsAreNotFree) {
  EXPECT_THAT(failure(R"(compute = [{ kind = "log_normal", shape = 1000 }])"), testing::StartsWith(kPastTheEnd));
  EXPECT_THAT(failure(R"(compute = [{ kind = "pareto", shape = 1e-9 }])"), testing::StartsWith(kPastTheEnd));
  EXPECT_THAT(failure(R"(compute = [{ kind = "pareto", shape = 1e-9 }, { kind = "log_normal", shape = 1000 }])"),
              testing::StartsWith(kPastTheEnd));
}

TEST(ClockRange, NetworksThatNeverDeliver) {
  for (const char* slow : {"network.bandwidth=1e-9", "network.overhead_rate=1e-9"})
    EXPECT_THAT(failure("", {slow}), testing::StartsWith(kPastTheEnd)) << slow;
  EXPECT_THAT(failure("links = [{ a = 0, b = 1, bandwidth = 1e-300 }]"), testing::StartsWith(kPastTheEnd));
  EXPECT_THAT(failure("", {"network.overhead=1000000min"}), testing::StartsWith(kPastTheEnd));
}

TEST(ClockRange, LongPaces) {
  EXPECT_THAT(failure(kMillion, {"compute.pace=60min"}), testing::StartsWith(kPastTheEnd));
}

// 4 ranks that wait for 9 years each: more than a 64-bit number of nanoseconds together.
TEST(ClockRange, SumsOverRanksStayRight) {
  const TrialRecord record = simulate_trial(trials(kMillion, {"compute.pace=10s", "run.world_size=16"}).front());
  ASSERT_EQ(record.status, TrialStatus::kOk) << record.failure.text;
  EXPECT_NEAR(record.time_s, 30 * 1e7, 1e3);
  EXPECT_NEAR(record.wait_share, 15.0 / 16, 0.1);
  EXPECT_LE(record.samples_per_s, record.window_ideal_samples_per_s);
}

TEST(ClockRange, AnEndOfTheClockThatATrialDoesNotReachIsNoMatter) {
  const auto trial = trials(R"(faults = [{ kind = "crash", ranks = [0], at = "1000000min" }])", {});
  EXPECT_EQ(simulate_trial(trial.front()).status, TrialStatus::kOk);
}

}  // namespace
}  // namespace hopbench
