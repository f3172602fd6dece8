// samples_heard_per_s leaves out the work of a worker whose updates no other worker uses.
#include <gtest/gtest.h>

#include <string>

#include "results/arithmetic/steady.h"
#include "suites/language/suite.h"
#include "suites/trial/execute.h"

namespace hopbench {
namespace {

/// Eight workers, of which rank 3 is 4x slower.
TrialRecord one_slow(const std::string& protocol) {
  const std::string suite = R"(schema = 1
name = "h"
[run]
world_size = 8
iterations = 100
repeats = 1
warmup_time = "0s"
[model]
name = "timing_only"
size = 64
[compute]
backend = "reference"
pace = "10ms"
[transport]
name = "sim"
[[protocol]]
name = )" + protocol + R"(
[[scenario]]
name = "one slow"
compute = [{ kind = "constant", ranks = [3], factor = 4.0 }]
)";
  return simulate_trial(parse_suite(suite, "h.toml", {}).trials.at(0));
}

TEST(Heard, AllWorkIsWhereNobodyIsLeftBehind) {
  for (const char* protocol :
       {"\"dpsgd\"", "\"allreduce\"", "\"ps_asp\"", "\"ps_ssp\"", "\"local_sgd\"", "\"adpsgd\"",
        "\"hop\"\nstaleness = 3", "\"prague\"", "\"sgp\"", "\"gossipgrad\"", "\"choco\"", "\"ds_sync\""}) {
    const TrialRecord record = one_slow(protocol);
    EXPECT_NEAR(record.samples_heard_per_s, record.samples_per_s, 0.01 * record.samples_per_s) << protocol;
    EXPECT_LT(largest_unheard_share(record, 8), 0.05) << protocol;
  }
}

TEST(Heard, NothingIsOfAWorkerWhoseUpdatesAreAlwaysLate) {
  const TrialRecord record = one_slow("\"hop\"\nbackup = 1\ngap_control = \"queues\"");
  // The others go on at full speed; the slow one does a quarter of their work.
  EXPECT_NEAR(record.samples_heard_per_s / record.samples_per_s, 7 / 7.25, 0.005);
  EXPECT_GT(largest_unheard_share(record, 8), 0.9) << "of the slow worker";
  EXPECT_DOUBLE_EQ(largest_unheard_share(record, 3), 0) << "of the workers before it";
}

TEST(Heard, NothingIsOfGradientsThatAreLost) {
  const TrialRecord record = one_slow("\"hop\"\nbackup = 1\nmax_jump = 5");
  std::int64_t lost = 0;
  for (const RankRecord& rank : record.ranks) lost += rank.gradients_lost;
  ASSERT_GT(lost, 10);
  EXPECT_LT(record.samples_heard_per_s, 0.985 * record.samples_per_s);
}

}  // namespace
}  // namespace hopbench
