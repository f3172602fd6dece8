// The bound rows of a table against a protocol that reaches them.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "suites/execute.h"
#include "suites/suite.h"

namespace hopbench {
namespace {

constexpr const char* kTwoVariants = R"(schema = 1
name = "bounds"
[run]
world_size = 4
iterations = 60
repeats = 20
[model]
name = "quadratic"
[compute]
backend = "reference"
pace = "5ms"
[transport]
name = "sim"
[network]
instant = true
[[protocol]]
name = "ps_asp"
[[scenario]]
name = "random"
compute = [{ kind = "bernoulli", probability = "1/n", factor = 6.0 }]
)";

// ASP over an instant network waits for nobody: what it does is the schedule itself, in the same window.
TEST(Bounds, IdealIsTheRateOfWhoNeverWaits) {
  const Suite suite = parse_suite(kTwoVariants, "bounds.toml", {});
  EXPECT_EQ(suite.trials.size(), 20u);
  for (const TrialSpec& spec : suite.trials) {
    const TrialRecord record = simulate_trial(spec);
    EXPECT_NEAR(record.samples_per_s / record.ideal_samples_per_s, 1.0, 1e-6) << spec.id();
  }
}

// Of four workers, one twice and one three times slower: 1, 1, 1/2 and 1/3 of 32 samples in 5 ms.
TEST(Bounds, SlowestAndSlowestLeftOut) {
  std::string text = kTwoVariants;
  text = text.substr(0, text.find("[[scenario]]")) + R"([[scenario]]
name = "two slow"
compute = [{ kind = "constant", ranks = [1], factor = 2.0 }, { kind = "constant", ranks = [3], factor = 3.0 }]
)";
  const Suite suite = parse_suite(text, "bounds.toml", {});
  const TrialRecord record = simulate_trial(suite.trials.front());
  const double each = 32 / 5e-3;
  EXPECT_NEAR(record.slowest_rank_samples_per_s, 4 * each / 3, 1e-6 * each);
  EXPECT_NEAR(record.without_slowest_samples_per_s, 3 * each / 2, 1e-6 * each);
}

// Every protocol that promises how far a worker gets ahead keeps to it, and some get as far as they may: a bound that
// nobody comes near is checked by nobody.
TEST(Bounds, NoGapIsLargerThanTheProtocolPromises) {
  const std::string file = std::string(HB_SOURCE_DIR) + "/suites/all_protocols.toml";
  int bounded = 0, tight = 0;
  for (TrialSpec spec :
       load_suite(file, {.sets = {"run.iterations=20"}, .profile = "", .seed = {}, .repeats = {}}).trials) {
    if (spec.scenario_name != "one 4x slower") continue;
    const TrialRecord record = simulate_trial(spec);
    ASSERT_EQ(record.status, TrialStatus::kOk) << record.reason;
    if (record.gap_bound < 0) continue;
    ++bounded;
    std::int64_t gap = 0;
    for (const RankRecord& rank : record.ranks) gap = std::max(gap, rank.gap_max);
    EXPECT_LE(gap, record.gap_bound) << spec.id();
    tight += gap == record.gap_bound ? 1 : 0;
  }
  EXPECT_GE(bounded, 15);
  EXPECT_GE(tight, 8);
}

}  // namespace
}  // namespace hopbench
