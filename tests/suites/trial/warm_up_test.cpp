// Rates begin when the slow worker's pace has reached all workers.
#include <gtest/gtest.h>

#include <string>

#include "backends/base/record/kinds.h"
#include "results/arithmetic/steady.h"
#include "suites/language/suite.h"
#include "suites/trial/execute.h"

namespace hopbench {
namespace {

// A rank may be ahead of one d hops away by d x max_ig = 5 d iterations: by 80 on a ring of 32.
std::string ring_of_32(const std::string& run, const std::string& measure = "") {
  return R"(schema = 1
name = "warm"
[run]
world_size = 32
iterations = 45
repeats = 1
order = "sequential"
)" + run +
         R"(
[model]
name = "timing_only"
size = 64
[compute]
backend = "reference"
pace = "10ms"
[transport]
name = "sim"
[network]
instant = true
[topology]
name = "ring"
[[protocol]]
name = "hop"
backup = 1
[[protocol]]
name = "ps_asp"
[[scenario]]
name = "one slow"
compute = [{ kind = "constant", ranks = [3], factor = 4.0 }]
)" + measure;
}

TrialRecord first_trial(const std::string& suite) {
  return simulate_trial(parse_suite(suite, "warm.toml", {}).trials.at(0));
}

TEST(ShortWarmUp, IsNotChosenWhereAWorkerMayBeFarAhead) {
  const Suite suite = parse_suite(ring_of_32("warmup_time = \"0s\""), "warm.toml", {});
  ASSERT_EQ(suite.trials.size(), 2U);
  EXPECT_EQ(suite.trials[0].warmup, 2 * 5 * 16);
  EXPECT_EQ(suite.trials[1].warmup, 10) << "of ps_asp no bound is known";
  const TrialRecord record = simulate_trial(suite.trials[0]);
  const double as_slow = 0.25 * 32 * double(suite.trials[0].workload.batch) / 0.010;
  EXPECT_NEAR(record.samples_per_s, as_slow, 0.01 * as_slow);
  EXPECT_FALSE(has(record.warnings, WarningKind::kShortWarmUp));
}

TEST(ShortWarmUp, ThatTheSuiteAsksForIsMarked) {
  const TrialRecord record = first_trial(ring_of_32("warmup = 10\nwarmup_time = \"0s\""));
  EXPECT_TRUE(has(record.warnings, WarningKind::kShortWarmUp));
  EXPECT_GT(record.samples_per_s, 2 * 0.25 * 32 * 32 / 0.010) << "what the mark is for";
  EXPECT_FALSE(has(first_trial(ring_of_32("warmup = 160\nwarmup_time = \"0s\"")).warnings, WarningKind::kShortWarmUp));
  EXPECT_FALSE(
      has(first_trial(ring_of_32("warmup = 10\nwarmup_time = \"1600ms\"")).warnings, WarningKind::kShortWarmUp));
}

TEST(ShortWarmUp, IsNotWhereAWorkerIsAway) {
  const TrialRecord record = first_trial(R"(schema = 1
name = "away"
[run]
world_size = 4
iterations = 40
warmup_time = "0s"
[model]
name = "quadratic"
[compute]
pace = "10ms"
[transport]
name = "sim"
[[protocol]]
name = "ps_bsp"
[[scenario]]
name = "away"
faults = [{ kind = "leave", ranks = [2], at = "200ms", lasts = "150ms" }]
)");
  ASSERT_EQ(record.status, TrialStatus::kOk);
  ASSERT_GT(record.gap_bound, 0);
  EXPECT_EQ(lead_in_window(record), 1) << "it makes fewer iterations, but no other one is ahead of it";
  EXPECT_FALSE(has(record.warnings, WarningKind::kShortWarmUp));
}

TEST(ShortWarmUp, OfAConvergenceIsNone) {
  const std::string measure = "[[measure]]\nwhat = \"convergence\"\nsamples = 20000\nmodel.name = \"quadratic\"\n";
  const std::string suite = ring_of_32("warmup = 10", measure);
  EXPECT_FALSE(has(first_trial(suite).warnings, WarningKind::kShortWarmUp));
}

}  // namespace
}  // namespace hopbench
