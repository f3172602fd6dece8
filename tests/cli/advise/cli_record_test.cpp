// `hopbench record` from outside: real processes become a cluster file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "tests/cli/cli.h"

namespace hopbench {
namespace {

using testing::AllOf;
using testing::HasSubstr;

/// Three workers in real processes; the last one is three times slower.
std::string real_suite() {
  return R"(schema = 1
name = "real"
[run]
world_size = 3
iterations = 12
repeats = 1
warmup_time = "0s"
[model]
name = "quadratic"
size = 1024
[compute]
backend = "reference"
pace = "20ms"
[transport]
name = "shm"
[topology]
name = "complete"
[[protocol]]
name = "allreduce"
[[scenario]]
name = "one slow"
compute = [{ kind = "constant", ranks = [2], factor = 3.0 }]
)";
}

/// Returns the seconds in a trace, by rank.
std::map<int, std::vector<double>> seconds_by_rank(const std::string& trace) {
  std::map<int, std::vector<double>> seconds;
  std::istringstream lines(trace);
  for (std::string line; std::getline(lines, line);) {
    int rank = 0, step = 0;
    double value = 0;
    if (std::sscanf(line.c_str(), "%d,%d,%lf", &rank, &step, &value) == 3) seconds[rank].push_back(value);
  }
  return seconds;
}

class Records : public testing::Test {
 protected:
  Records() { folder_.write("real.toml", real_suite()); }
  Ended run(const Args& words) const { return hopbench(folder_.path(), words); }
  Folder folder_;
};

TEST_F(Records, WhatAdviseReads) {
  const Ended ended = run({"record", "real.toml", "-o", "rec"});
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.out, AllOf(HasSubstr("3 workers, "), HasSubstr("virtual time gives this job"),
                               HasSubstr("What this recording does not tell:\n")));
  EXPECT_THAT(ended.err, HasSubstr("next: hopbench advise rec/cluster.toml"));
  std::map<int, std::vector<double>> seconds = seconds_by_rank(text_of(folder_ / "rec/cluster.trace.csv"));
  ASSERT_EQ(seconds.size(), 3u);
  std::vector<double>&slow = seconds[2], &fast = seconds[0];
  ASSERT_GE(slow.size(), 12u);
  std::sort(slow.begin(), slow.end());
  std::sort(fast.begin(), fast.end());
  EXPECT_GE(slow.front(), 0.0599) << "paced: no gradient is shorter than its slot";
  EXPECT_GE(fast.front(), 0.0199);
  EXPECT_LT(fast.front(), 0.0599);
  const Ended advice = run({"advise", "rec/cluster.toml", "-r", "2", "-o", "answer"});
  EXPECT_EQ(advice.code, 0) << advice.err;
  EXPECT_THAT(advice.out, HasSubstr("gain over allreduce"));
}

TEST_F(Records, RefuseWhatCannotBeRecorded) {
  const auto refused = [&](const Args& words, const std::string& says) {
    const std::string before = contents(folder_.path());
    const Ended ended = run(words);
    EXPECT_EQ(ended.code, 2) << ended.out;
    EXPECT_THAT(ended.err, HasSubstr(says));
    EXPECT_EQ(contents(folder_.path()), before);
  };
  refused({"record", "real.toml", "-o", "rec", "--set", "transport.name=sim"}, "there is nothing to record");
  refused({"record", "real.toml", "-o", "rec", "--filter", "prague"}, "--filter prague: no trial has such an id");
  refused({"record", "real.toml", "-o", "."}, "real.toml");
  refused({"record", "real.toml"}, "--output is required");
}

}  // namespace
}  // namespace hopbench
