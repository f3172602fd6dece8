// Traces: files, refusals, and each way of mapping a recording onto a trial.
#include "backends/runtime/trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <string>

#include "backends/base/error.h"
#include "backends/base/process/kept.h"
#include "backends/runtime/scenario.h"
#include "tests/folder.h"

namespace hopbench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class TraceFile : public testing::Test {
 protected:
  std::shared_ptr<const Trace> read(const std::string& text) const {
    folder_.write("x.csv", text);
    return Trace::read(folder_ / "x.csv");
  }
  std::string refused(const std::string& text) const {
    try {
      read(text);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::kUsage);
      return error.what();
    }
    return "";
  }
  /// Four ranks with steps 10 to 14 and 20 to 22. The seconds of rank r in step s are 100 r + s.
  std::shared_ptr<const Trace> with_a_gap() const {
    std::string text = "rank,step,seconds\n";
    for (int rank = 0; rank < 4; ++rank) {
      for (const int step : {10, 11, 12, 13, 14, 20, 21, 22})
        text += std::to_string(rank) + "," + std::to_string(step) + "," + std::to_string(100 * rank + step) + "\n";
    }
    return read(text);
  }
  Folder folder_;
};

TraceReplay replay(std::shared_ptr<const Trace> trace, TraceMap map, std::int64_t block = 1) {
  TraceReplay replay{.trace = std::move(trace), .map = map, .block = block};
  replay.prepare();
  return replay;
}
RandomKey key_of(int rank, std::uint64_t seed = 1) { return {.seed = seed, .purpose = Purpose::kTrace, .rank = rank}; }

TEST_F(TraceFile, OfStepsKeepsTheStepsThatAllRanksHave) {
  const auto trace =
      read("# made by hand\nstep,rank,host,seconds\r\n7,1,b,0.5\n3,0,a,1\n\n7,0,a,1.5\n3,1,b,2\n5,0,a,9\n");
  EXPECT_EQ(trace->kind(), Trace::Kind::kSteps);
  EXPECT_EQ(trace->ranks(), 2);
  ASSERT_EQ(trace->steps(), 2);
  EXPECT_EQ(trace->incomplete(), 1) << "step 5";
  EXPECT_EQ(trace->seconds(0, 0), 1);
  EXPECT_EQ(trace->seconds(0, 1), 1.5);
  EXPECT_EQ(trace->seconds(1, 0), 2);
  EXPECT_EQ(trace->seconds(1, 1), 0.5);
  EXPECT_EQ(trace->mean(), 1.25);
  EXPECT_EQ(trace->least(), 0.5);
}

TEST_F(TraceFile, HasTheDigestOfItsContent) {
  const std::string digest = read("rank,step,seconds\n0,0,1\n")->digest();
  EXPECT_EQ(digest.size(), 16u);
  EXPECT_EQ(read("rank,step,seconds\n0,0,1\n")->digest(), digest);
  EXPECT_NE(read("rank,step,seconds\n0,0,2\n")->digest(), digest);
  EXPECT_EQ(read("\xEF\xBB\xBFrank,step,seconds\r\n# as\r\n\r\n0,0,1")->digest(), digest) << "comments, ends of lines";
}

TEST_F(TraceFile, MayHaveBlanksAroundCells) {
  const auto trace = read("rank, time ,factor\n 0 , 0,2\n0,\t4.5, 3 \n");
  EXPECT_EQ(trace->length(), std::chrono::milliseconds(4500));
  EXPECT_EQ(trace->factor(0, trace->length()), 3);
}

TEST_F(TraceFile, OfALinkHasThatWhichTheFileHas) {
  using Column = Trace::Column;
  const auto trace = read("time,latency,bandwidth,note\n4,0.002,5e6,x\n1,0,2.5e6,y\n");
  EXPECT_EQ(trace->kind(), Trace::Kind::kLink);
  EXPECT_EQ(trace->length(), std::chrono::seconds(4));
  EXPECT_TRUE(trace->has(Column::kBandwidth));
  EXPECT_FALSE(trace->has(Column::kFactor));
  EXPECT_FALSE(trace->value(Column::kBandwidth, std::chrono::milliseconds(999))) << "before the first row";
  EXPECT_EQ(trace->value(Column::kBandwidth, std::chrono::milliseconds(1000)), 2.5e6);
  EXPECT_EQ(trace->value(Column::kLatency, std::chrono::milliseconds(3999)), 0);
  EXPECT_EQ(trace->value(Column::kLatency, std::chrono::seconds(9)), 0.002);
  EXPECT_FALSE(trace->value(Column::kFactor, std::chrono::seconds(9)));
  EXPECT_EQ(trace->next_row(Duration{}), std::chrono::seconds(1));
  EXPECT_EQ(trace->next_row(std::chrono::seconds(1)), std::chrono::seconds(4));
  EXPECT_EQ(trace->next_row(std::chrono::seconds(4)), kLongestDuration);
}

TEST_F(TraceFile, OfTimesHoldsEachFactorUntilTheNext) {
  const auto trace = read("rank,time,factor\n0,1,2\n0,3.5,1\n1,0,4\n1,10,4\n");
  EXPECT_EQ(trace->kind(), Trace::Kind::kTimes);
  EXPECT_EQ(trace->length(), std::chrono::seconds(10));
  EXPECT_EQ(trace->least(), 1);
  EXPECT_EQ(trace->factor(0, std::chrono::milliseconds(999)), 1) << "before its first row";
  EXPECT_EQ(trace->factor(0, std::chrono::seconds(1)), 2);
  EXPECT_EQ(trace->factor(0, std::chrono::milliseconds(3499)), 2);
  EXPECT_EQ(trace->factor(0, std::chrono::milliseconds(3500)), 1);
  EXPECT_EQ(trace->factor(1, std::chrono::seconds(50)), 4);
}

TEST_F(TraceFile, IsRefusedWithThePlaceAndTheReason) {
  const std::string head = "rank,step,seconds\n";
  EXPECT_THAT(refused(""), HasSubstr("has no rows"));
  EXPECT_THAT(refused(head), HasSubstr("has no rows"));
  EXPECT_THAT(refused("rank,step\n0,1\n"), HasSubstr("x.csv:1: a trace begins with the columns rank,step,seconds or"));
  EXPECT_THAT(refused(head + "0,1\n"), HasSubstr("x.csv:2: 2 cells, not 3"));
  EXPECT_THAT(refused(head + "a,1,1\n"), HasSubstr("x.csv:2: the rank is 'a', not an integer from 0"));
  EXPECT_THAT(refused(head + "-1,1,1\n"), HasSubstr("the rank is '-1'"));
  EXPECT_THAT(refused(head + "100000,1,1\n"), HasSubstr("from 0 to 99999"));
  EXPECT_THAT(refused(head + "0,1.5,1\n"), HasSubstr("the step is '1.5'"));
  for (const char* wrong : {"0", "-1", "nan", "inf", "1e10", "1s", ""})
    EXPECT_THAT(refused(head + "0,1," + wrong + "\n"), HasSubstr("the seconds are '" + std::string(wrong) + "'"));
  EXPECT_THAT(refused("rank,time,factor\n0,-1,1\n"), HasSubstr("the time is '-1'"));
  EXPECT_THAT(refused("rank,time,factor\n0,0,0\n"), HasSubstr("the factor is '0'"));
  EXPECT_THAT(refused(head + "0,1,1\n2,1,1\n"), HasSubstr("has no rows of rank 1"));
  EXPECT_THAT(refused(head + "0,1,1\n0,1,2\n"), HasSubstr("has two rows of rank 0 at step 1"));
  EXPECT_THAT(refused(head + "0,1,1\n1,2,2\n"), HasSubstr("has no step of all ranks"));
  EXPECT_THAT(refused("rank,time,factor\n0,0,2\n"), HasSubstr("its last row marks its end"));
  EXPECT_THAT(refused("rank,step,rank,seconds\n0,1,0,1\n"), HasSubstr("x.csv:1: two columns are 'rank'"));
  EXPECT_THAT(
      refused("rank,step,seconds,time,factor\n0,1,1,1,1\n"),
      HasSubstr("x.csv:1: a trace has the columns rank,step,seconds or rank,time,factor, and this one has both"));
  EXPECT_THAT(refused("time,bandwidth,factor\n0,1,1\n"), HasSubstr("leave out one of them"));
  EXPECT_THAT(refused("rank,time,bandwidth\n0,1,1\n"), HasSubstr("that of a link with time and bandwidth, factor or"));
  EXPECT_THAT(refused("bandwidth,latency\n0,1\n"), HasSubstr("not 'bandwidth,latency'"));
  EXPECT_THAT(refused("time,bandwidth\n0,1\n1,0\n"),
              HasSubstr("x.csv:3: the bandwidth is '0', not a number above 0 ("));
  EXPECT_THAT(refused("time,latency\n0,1\n1,-1\n"), HasSubstr("x.csv:3: the latency is '-1', not a number from 0"));
  EXPECT_THAT(refused("time,latency\n0,1\n1,1\n0,2\n"), HasSubstr("has two rows at 0 s"));
  EXPECT_THROW(Trace::read(folder_ / "none.csv"), Error);
  for (const std::string& no_file : {std::string("/dev/zero"), folder_.path()})
    EXPECT_THROW(Trace::read(no_file), Error);
}

TEST_F(TraceFile, BlocksCrossNoGap) {
  const auto trace = with_a_gap();
  EXPECT_EQ(trace->longest_run(), 5);
  EXPECT_EQ(trace->starts(1).size(), 8u);
  EXPECT_THAT(trace->starts(3), ElementsAre(0, 1, 2, 5));
  EXPECT_THAT(trace->starts(5), ElementsAre(0));
  EXPECT_TRUE(trace->starts(6).empty());
}

TEST_F(TraceFile, FixedReplaysEachRankStepByStep) {
  TraceReplay fixed = replay(with_a_gap(), TraceMap::kFixed);
  EXPECT_EQ(fixed.seconds(key_of(2), 0, 0), 210);
  EXPECT_EQ(fixed.seconds(key_of(2), 0, 7), 222);
  EXPECT_EQ(fixed.seconds(key_of(2), 0, 8), 210) << "from the start again";
  fixed.end = TraceEnd::kHold;
  EXPECT_EQ(fixed.seconds(key_of(2), 0, 8), 222);
  EXPECT_EQ(fixed.seconds(key_of(3), 0, 800), 322);
}

TEST_F(TraceFile, BlockBootstrapTakesTheSameStepsOfAllRanks) {
  const TraceReplay drawn = replay(with_a_gap(), TraceMap::kBlockBootstrap, 3);
  std::map<int, int> first_steps;
  for (std::int64_t k = 0; k < 3000; ++k) {
    const double step = drawn.seconds(key_of(0), 0, k);
    for (int rank = 1; rank < 4; ++rank) ASSERT_EQ(drawn.seconds(key_of(rank), 0, k), 100 * rank + step);
    if (k % 3 == 0) {
      ++first_steps[int(step)];
    } else {
      ASSERT_EQ(step, drawn.seconds(key_of(0), 0, k - 1) + 1) << "a block has consecutive steps";
    }
  }
  ASSERT_EQ(first_steps.size(), 4u);
  for (const auto& [step, count] : first_steps) EXPECT_NEAR(count, 250, 5 * 13.7) << step;
}

TEST_F(TraceFile, ResampledRanksDrawARankAndBlocksForThemselves) {
  const TraceReplay drawn = replay(with_a_gap(), TraceMap::kResampleRanks, 3);
  std::set<int> sources;
  int alike = 0;
  for (int worker = 0; worker < 64; ++worker) {
    const int source = int(drawn.seconds(key_of(worker), 0, 0)) / 100;
    sources.insert(source);
    for (std::int64_t k = 0; k < 300; ++k) {
      const int value = int(drawn.seconds(key_of(worker), 0, k));
      ASSERT_EQ(value / 100, source) << "a worker replays one rank";
      if (k % 3 > 0) {
        ASSERT_EQ(value, int(drawn.seconds(key_of(worker), 0, k - 1)) + 1);
      }
      alike += k % 3 == 0 && worker > 0 && value % 100 == int(drawn.seconds(key_of(0), 0, k)) % 100;
    }
  }
  EXPECT_EQ(sources.size(), 4u) << "64 workers are driven by all four ranks";
  int others = 0;
  for (int worker = 0; worker < 64; ++worker)
    others += int(drawn.seconds(key_of(worker, 2), 0, 0)) / 100 != int(drawn.seconds(key_of(worker), 0, 0)) / 100;
  EXPECT_NEAR(others, 48, 14) << "by the seed: three of four times another one";
  EXPECT_NEAR(alike / 6300.0, 0.25, 0.03) << "blocks of two workers begin alike by chance only";
}

TEST_F(TraceFile, DrawsFollowTheSeedAndOtherRulesTakeOtherDraws) {
  const TraceReplay drawn = replay(with_a_gap(), TraceMap::kBlockBootstrap);
  int by_seed = 0, by_rule = 0;
  for (std::int64_t k = 0; k < 100; ++k) {
    const double x = drawn.seconds(key_of(0), 0, k);
    EXPECT_EQ(drawn.seconds(key_of(0), 0, k), x);
    by_seed += drawn.seconds(key_of(0, 2), 0, k) != x;
    by_rule += drawn.seconds(key_of(0), 8, k) != x;
  }
  EXPECT_GT(by_seed, 70);
  EXPECT_GT(by_rule, 70);
}

TEST_F(TraceFile, OfTimesEndsAsItIsTold) {
  TraceReplay times{.trace = read("rank,time,factor\n0,0,2\n0,4,3\n0,10,5\n"), .map = TraceMap::kFixed};
  const auto factor = [&](int s) { return times.factor(key_of(0), 0, Time{} + std::chrono::seconds(s)); };
  EXPECT_EQ(factor(9), 3);
  EXPECT_EQ(factor(10), 2) << "from the start again";
  EXPECT_EQ(factor(25), 3);
  times.end = TraceEnd::kHold;
  EXPECT_EQ(factor(25), 5);
  times.end = TraceEnd::kError;
  EXPECT_EQ(factor(9), 3);
  EXPECT_THROW(factor(10), Error);
}

TEST_F(TraceFile, BlocksOfTimeAreTheSameForAllWorkersUnlessRanksAreResampled) {
  // The factor of rank r at second s is 100 (r + 1) + s.
  std::string text = "rank,time,factor\n";
  for (int rank = 0; rank < 3; ++rank) {
    for (int s = 0; s <= 60; ++s)
      text += std::to_string(rank) + "," + std::to_string(s) + "," + std::to_string(100 * (rank + 1) + s) + "\n";
  }
  TraceReplay drawn{.trace = read(text), .map = TraceMap::kBlockBootstrap, .slot = std::chrono::seconds(5)};
  std::set<int> begins;
  for (int s = 0; s < 500; ++s) {
    const Time now = Time{} + std::chrono::seconds(s);
    const int at = int(drawn.factor(key_of(0), 0, now)) - 100;
    ASSERT_EQ(int(drawn.factor(key_of(2), 0, now)) - 300, at);
    if (s % 5 == 0)
      begins.insert(at);
    else
      ASSERT_EQ(at, int(drawn.factor(key_of(0), 0, now - std::chrono::seconds(1))) - 100 + 1);
    ASSERT_LE(at, 60);
  }
  EXPECT_GT(begins.size(), 20u);
  drawn.map = TraceMap::kResampleRanks;
  std::set<int> sources;
  for (int worker = 0; worker < 30; ++worker) {
    const int source = int(drawn.factor(key_of(worker), 0, Time{})) / 100;
    sources.insert(source);
    for (int s = 0; s < 50; ++s)
      ASSERT_EQ(int(drawn.factor(key_of(worker), 0, Time{} + std::chrono::seconds(s))) / 100, source);
  }
  EXPECT_EQ(sources.size(), 3u);
}

TEST_F(TraceFile, MultipliesTheOtherRulesOfAScenario) {
  ComputeRule rule{.what = SlowdownKind::kTrace, .scale = 0.01};
  rule.replay = replay(with_a_gap(), TraceMap::kFixed);
  const Scenario scenario{.compute = {{.ranks = {1}, .factor = 2}, rule}};
  EXPECT_DOUBLE_EQ(scenario.slowdown({.rank = 0}, 1, {}), 0.11);
  EXPECT_DOUBLE_EQ(scenario.slowdown({.rank = 1}, 1, {}), 2.22);
}

// In a process of its own, since what it keeps stays with it. Its child has only the variable to go by.
TEST_F(TraceFile, IsReadOnceForAProcessAndItsChildren) {
  const auto same = [](const Trace& a, const Trace& b) {
    bool equal = a.kind() == b.kind() && a.digest() == b.digest() && a.ranks() == b.ranks() && a.steps() == b.steps() &&
                 a.mean() == b.mean() && a.least() == b.least() && a.incomplete() == b.incomplete() &&
                 a.length() == b.length() && a.longest_run() == b.longest_run();
    for (int rank = 0; rank < a.ranks() && a.kind() == Trace::Kind::kSteps; ++rank)
      for (int step = 0; step < a.steps(); ++step) equal = equal && a.seconds(rank, step) == b.seconds(rank, step);
    const Duration second = std::chrono::seconds(1);
    if (a.kind() == Trace::Kind::kTimes) equal = equal && a.factor(1, second) == b.factor(1, second);
    if (a.kind() == Trace::Kind::kLink)
      equal = equal && a.value(Trace::Column::kLatency, second) == b.value(Trace::Column::kLatency, second);
    return equal;
  };
  for (const char* text : {"rank,step,seconds\n0,0,1\n0,2,3\n1,0,2\n1,2,4\n1,3,4\n",
                           "rank,time,factor\n0,0,1\n1,0.5,3\n1,2,2\n", "time,latency\n0,0.1\n1,0.2\n2,0.3\n"}) {
    const auto whole = read(text);
    const auto keep_and_look_again = [&] {
      const std::string path = folder_ / "x.csv";
      std::string set;
      keep_contents([&](const std::string&, const std::string& value) { set = value; });
      const bool first = same(*Trace::read(path), *whole);
      std::filesystem::remove(path);
      setenv("HB_CONTENTS", set.c_str(), 1);  // what a child has
      keep_contents(nullptr);
      _exit(first && same(*Trace::read(path), *whole) ? 0 : 1);
    };
    EXPECT_EXIT(keep_and_look_again(), testing::ExitedWithCode(0), "") << text;
  }
}

}  // namespace
}  // namespace hopbench
