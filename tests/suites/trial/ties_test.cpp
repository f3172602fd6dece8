// Rates that hang on ties, and rates without gradients.
#include <gtest/gtest.h>

#include <string>

#include "backends/base/record/kinds.h"
#include "protocols/node/protocol.h"
#include "suites/language/suite.h"
#include "suites/trial/execute.h"
#include "tests/paths.h"

namespace hopbench {
namespace {

/// Six workers on two hosts, the last one three times slower; `protocol` in virtual time.
TrialSpec tied(const std::string& protocol, const std::string& noise, const std::string& shuffles) {
  const std::string text = R"(schema = 1
[run]
world_size = 6
iterations = 20
warmup_time = "0s"
shuffles = )" + shuffles + R"(
[model]
name = "lenet"
dataset.name = "synthetic"
batch = 2
[compute]
backend = "reference"
pace = "120ms"
noise = )" + noise + R"(
[transport]
name = "sim"
[network]
bandwidth = "50Mbit/s"
hosts = 2
[[protocol]]
name = ")" + protocol + R"("
[[scenario]]
name = "one 3x"
compute = [{ kind = "constant", ranks = [5], factor = 3.0 }]
)";
  return parse_suite(text, "ties.toml", {}).trials.at(0);
}

// Its groups are made of who happens to come first of those that come at the same nanosecond.
TEST(Ties, AreFoundWhereARateHangsOnThem) {
  const TrialRecord tie = simulate_trial(tied("partial_reduce", "0", "3"));
  EXPECT_TRUE(has(tie.warnings, WarningKind::kDependsOnTies));
  EXPECT_FALSE(has(simulate_trial(tied("partial_reduce", "0", "0")).warnings, WarningKind::kDependsOnTies));
  EXPECT_FALSE(has(simulate_trial(tied("allreduce", "0", "3")).warnings, WarningKind::kDependsOnTies));
}

// Messages take no longer for it, though those of --shuffle do.
TEST(Ties, AreNoneWhereMessagesDecide) {
  TrialSpec trial = tied("allreduce", "0.003", "4");
  trial.network.host_of.clear();
  trial.network.bandwidth = 1e4;
  const TrialRecord record = simulate_trial(trial);
  EXPECT_GT(record.wait_share, 0.9);
  EXPECT_FALSE(has(record.warnings, WarningKind::kDependsOnTies));
}

TEST(Ties, TriedInOtherOrdersLeaveTheRecordAsItIs) {
  const TrialRecord once = simulate_trial(tied("allreduce", "0.003", "0"));
  const TrialRecord tried = simulate_trial(tied("allreduce", "0.003", "3"));
  EXPECT_EQ(tried.samples_per_s, once.samples_per_s);
  EXPECT_EQ(tried.params_hash, once.params_hash);
  EXPECT_NE(tried.hash, once.hash);
}

TEST(Ties, AreNoMatterOfRealProcesses) {
  const std::string text =
      "schema = 1\nrun.world_size = 4\nrun.shuffles = 3\nmodel.name = \"quadratic\"\ncompute.pace = \"5ms\"\n"
      "[[protocol]]\nname = \"allreduce\"\n";
  EXPECT_EQ(parse_suite(text, "a.toml", {}).trials.at(0).shuffles, 0);
}

TEST(RatesWithoutGradients, AreThoseWithGradients) {
  const std::string file = source_dir() + "/suites/all_protocols.toml";
  int compared = 0;
  for (const TrialSpec& spec :
       load_suite(file, {.sets = {"run.iterations=10"}, .profile = "", .seed = {}, .repeats = {}}).trials) {
    const Protocol& protocol = find_protocol(spec.protocol);
    const Control control = protocol.control != nullptr ? protocol.control(spec.knobs) : Control::kLockstep;
    if (control == Control::kValues || control == Control::kLockstepByValues) continue;
    TrialSpec without = spec;
    without.workload.numbers = false;
    without.workload.evaluation_samples = 0;
    const TrialRecord record = simulate_trial(without);
    ASSERT_EQ(record.status, TrialStatus::kOk) << spec.id();
    EXPECT_EQ(record.samples_per_s, simulate_trial(spec).samples_per_s) << spec.id();
    EXPECT_EQ(record.params_hash, "");
    ++compared;
  }
  EXPECT_GE(compared, 60);
}

}  // namespace
}  // namespace hopbench
