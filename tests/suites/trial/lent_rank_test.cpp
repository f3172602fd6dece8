// A process that an agent started for a launcher on another machine runs ranks and writes nothing here. The test binary
// is its own rank.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "backends/runtime/process/crew.h"
#include "suites/language/suite.h"
#include "suites/trial/child_task.h"
#include "suites/trial/execute.h"
#include "tests/folder.h"

namespace hopbench {
namespace {

using testing::HasSubstr;

constexpr const char* kSuite = R"(schema = 1
[run]
world_size = 2
iterations = 3
repeats = 1
[model]
name = "quadratic"
size = 4
batch = 1
[compute]
backend = "reference"
pace = "1ms"
[transport]
name = "sim"
[[protocol]]
name = "dpsgd"
[[measure]]
what = "rate"
)";

/// Its last words, and how it ended.
struct Words : CrewEvents {
  void heard(int, ControlMessage message) override {
    if (message.type == ControlType::kFinish || message.type == ControlType::kFail) last = message;
  }
  void ended(int, int how) override { status = how; }
  void lost(const std::vector<int>&, const std::string&) override {}
  ControlMessage last;
  int status = -1;
};

class LentRank : public testing::Test {
 protected:
  /// Starts a single rank with a job of that role.
  void start(const std::string& role, bool lent) {
    ChildTask job{.role = role, .spec = parse_suite(kSuite, "lent.toml", {}).trials.at(0), .event_log = log_};
    const auto board = Board::create(1, 10);
    LocalCrew crew("", lent);
    crew.start({.command = {"", "rank"}, .job = to_text(job), .ranks = 1, .members = {{0, {}}}}, *board, words_);
    crew.put(0, {ControlType::kStart, -1, 1, ""});
    while (!crew.all_ended()) {
      std::vector<pollfd> wanted;
      crew.watch(wanted);
      poll(wanted.data(), wanted.size(), 20);
      crew.step(wanted);
    }
  }

  Folder folder_;
  const std::string log_ = folder_ / "events.jsonl";
  Words words_;
};

TEST_F(LentRank, RefusesWhatIsNoRanksJob) {
  for (const char* role : {"simulate", "no such role"}) {
    start(role, true);
    EXPECT_EQ(words_.last.type, ControlType::kFail);
    EXPECT_THAT(words_.last.text, HasSubstr("wants more than a rank")) << role;
    EXPECT_NE(words_.status, 0);
    EXPECT_FALSE(std::filesystem::exists(log_));
  }
}

TEST_F(LentRank, OneOfItsOwnLauncherDoesIt) {
  start("simulate", false);
  EXPECT_EQ(words_.last.type, ControlType::kFinish) << words_.last.text;
  EXPECT_EQ(words_.status, 0);
  EXPECT_TRUE(std::filesystem::exists(log_));
}

// The text is its record and its log, which the launcher writes.
TEST_F(LentRank, ComputesATrialInVirtualTimeAndWritesNothing) {
  start("simulate", false);
  const std::string log = text_of(log_);
  std::filesystem::remove(log_);
  ASSERT_GT(log.size(), 100u);
  start("simulate_elsewhere", true);
  ASSERT_EQ(words_.last.type, ControlType::kFinish) << words_.last.text;
  EXPECT_FALSE(std::filesystem::exists(log_));
  const SimulationResult result = simulation_result_from_text(words_.last.text);
  EXPECT_EQ(result.event_log, log);
  EXPECT_EQ(result.record.front(), '{');
  EXPECT_EQ(result.record.back(), '}');
  for (const std::string& text :
       {std::string(), std::string("9\nx"), std::string("x\n{}"), words_.last.text.substr(0, 9)})
    EXPECT_THROW(simulation_result_from_text(text), Error) << text;
}

TEST_F(LentRank, NamesARoleThatItDoesNotHave) {
  start("dance", false);
  EXPECT_EQ(words_.last.type, ControlType::kFail);
  EXPECT_THAT(words_.last.text, HasSubstr("role 'dance', which this program does not have"));
}

}  // namespace
}  // namespace hopbench
