// Traces from outside: real processes on each transport replay them, and a trace that is gone or another one is
// refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/cli/cli.h"

namespace hopbench {
namespace {

using testing::HasSubstr;
using testing::Not;

class CliTrace : public testing::Test {
 protected:
  CliTrace() {
    folder_.write("a.toml", R"(schema = 1
name = "a"
[run]
world_size = 2
iterations = 12
repeats = 1
warmup_time = "0s"
[model]
name = "quadratic"
size = 64
[compute]
backend = "reference"
noise = 0
[[protocol]]
name = "allreduce"
[[scenario]]
name = "recorded"
compute = [{ kind = "trace", file = "own.csv" }]
[[measure]]
what = "rate"
)");
    folder_.write("own.csv", "rank,step,seconds\n0,0,0.010\n0,1,0.030\n1,0,0.030\n1,1,0.010\n");
  }
  Ended run(const Args& words) const { return hopbench(folder_.path(), words); }
  /// Returns the line of the only trial.
  nlohmann::json trial(const std::string& out) const {
    return nlohmann::json::parse(text_of(folder_ / (out + "/trials.jsonl")));
  }
  Folder folder_;
};

TEST_F(CliTrace, IsReplayedByRealProcessesOnEachTransportAsInVirtualTime) {
  for (const char* transport : {"sim", "gloo", "shm"}) {
    const std::string out = std::string("on-") + transport;
    const Ended ended = run({"run", "a.toml", "-o", out, "--set", std::string("transport.name=") + transport});
    ASSERT_EQ(ended.code, 0) << ended.err;
    EXPECT_DOUBLE_EQ(trial(out).at("labels").at("cost_s").get<double>(), 0.02);
    EXPECT_GE(trial(out).at("record").at("median_iteration_s").get<double>(), 0.0299)
        << transport << ": a rank takes 30 ms in each step";
  }
}

TEST_F(CliTrace, ThatIsGoneOrAnotherIsRefused) {
  ASSERT_EQ(run({"run", "a.toml", "-o", "out", "--set", "transport.name=sim"}).code, 0);
  folder_.write("own.csv", "rank,step,seconds\n0,0,0.010\n1,0,0.010\n");
  EXPECT_EQ(run({"run", "--resume", "out"}).code, 2) << "the trials of another trace are others";
  std::filesystem::remove(folder_ / "own.csv");
  for (const Args& words :
       {Args{"run", "--resume", "out"}, Args{"run", "a.toml", "-o", "new"}, Args{"validate", "a.toml"}}) {
    const Ended ended = run(words);
    EXPECT_EQ(ended.code, 2);
    const bool resumes = words[1] == "--resume";  // its suite has the whole path
    EXPECT_THAT(ended.err, HasSubstr(resumes ? folder_ / "own.csv" + " cannot be read: No such file or directory"
                                             : "the trace 'own.csv' is not there: there is no " + folder_ / "own.csv"));
    EXPECT_THAT(ended.err, Not(HasSubstr("pace"))) << "one mistake is told once";
  }
  EXPECT_FALSE(std::filesystem::exists(folder_ / "new"));
}

}  // namespace
}  // namespace hopbench
