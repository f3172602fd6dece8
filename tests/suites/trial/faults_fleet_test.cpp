// A scenario's faults among several processes: a process a rank, of which all but one are agents, here threads of this
// one.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "backends/fleet/agent.h"
#include "backends/fleet/fleet.h"
#include "suites/language/suite.h"
#include "suites/trial/execute.h"
#include "tests/folder.h"

namespace hopbench {
namespace {

constexpr const char* kSuite = R"(schema = 1
[run]
world_size = 4
iterations = 30
repeats = 1
warmup_time = "0s"
remeasure = 0
[model]
name = "quadratic"
size = 64
batch = 4
[compute]
backend = "reference"
pace = "10ms"
[topology]
name = "complete"
[transport]
name = "gloo"
[[protocol]]
name = "allreduce"
[[protocol]]
name = "hop"
backup = 1
[[scenario]]
name = "x"
faults = [{ kind = "crash", ranks = [3], iteration = 20 }, { kind = "crash", ranks = [2], iteration = 15 }]
)";

Introduction introduction(int number) { return {"", "machine" + std::to_string(number), "boot", "", "hopbench", "{}"}; }

class FaultsOfAFleet : public testing::Test {
 protected:
  FaultsOfAFleet() {
    for (int number = 1; number < 4; ++number) {
      agents_.emplace_back([this, number] {
        const AgentOptions options{.number = number, .size = 4, .about = introduction(number)};
        EXPECT_EQ(run_agent(options, *open_meeting_point(folder_.path(), "test")), 0);
      });
    }
    const auto meeting = open_meeting_point(folder_.path(), "test");
    fleet_ = Fleet::gather({.size = 4, .about = introduction(0), .one_machine = true, .interrupted = [] {}}, *meeting);
  }
  ~FaultsOfAFleet() override {
    fleet_->set_exit_code(0);
    fleet_.reset();
    for (std::thread& agent : agents_) agent.join();
  }

  std::string reason_of(const std::string& protocol) const {
    return execute_trial(trial_of(protocol), {nullptr, {}, "", fleet_.get()}).failure.text;
  }

  static TrialSpec trial_of(const std::string& protocol) {
    const std::vector<TrialSpec> all = parse_suite(kSuite, "faults.toml", {}).trials;
    return *std::find_if(all.begin(), all.end(), [&](const TrialSpec& spec) { return spec.label == protocol; });
  }

  Folder folder_;
  std::vector<std::thread> agents_;
  std::unique_ptr<Fleet> fleet_;
};

TEST_F(FaultsOfAFleet, StopAProtocolAsTheScenarioSays) {
  const std::string reason = reason_of("allreduce");
  EXPECT_TRUE(reason.starts_with("rank 2 (machine2) was killed by signal 9 (SIGKILL) while ")) << reason;
  EXPECT_TRUE(reason.ends_with(" in iteration 15, as the scenario says: allreduce stops when a worker is lost"))
      << reason;
}

TEST_F(FaultsOfAFleet, StopSurvivorsThatTooFewAreLeftFor) {
  EXPECT_NE(reason_of("hop").find("cannot go on, as the scenario says: of its 3 in-neighbours rank 2, 3 died"),
            std::string::npos)
      << reason_of("hop");
}

TEST_F(FaultsOfAFleet, LoseNoSamplesOfACrashedRankElsewhere) {
  TrialSpec spec = trial_of("hop");
  spec.scenario.faults.resize(1);
  const TrialRecord record = execute_trial(spec, {nullptr, {}, "", fleet_.get()});
  ASSERT_EQ(record.status, TrialStatus::kOk) << record.failure.text;
  EXPECT_EQ(record.ranks[3].lost, "crash");
  ASSERT_FALSE(record.curve.empty());
  EXPECT_EQ(record.curve.back().samples, (3 * 40 + 20) * 4) << "10 iterations are warm-up";
}

}  // namespace
}  // namespace hopbench
