// The critical path of virtual time: by hand, and of every protocol: its parts sum up to the trial's time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "results/arithmetic/critical_path.h"
#include "suites/language/suite.h"
#include "suites/trial/execute.h"
#include "tests/paths.h"

namespace hopbench {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Pair;

Time at(int t) { return Time{} + Duration(t); }

Event gradient(int rank, int since, int until, int delay = 0) {
  return {.time = at(until), .rank = rank, .what = EventKind::kGradient, .since = at(since), .delay = Duration(delay)};
}
Event operation(int rank, int since, int until) {
  return {.time = at(until), .rank = rank, .what = EventKind::kOperated, .since = at(since)};
}
Event wait(int rank, int since, int until, const char* why) {
  return {.time = at(until), .rank = rank, .what = EventKind::kWait, .since = at(since), .text = why};
}
Event delivery(int rank, int from, int posted, int when) {
  return {.time = at(when), .rank = rank, .what = EventKind::kDeliver, .peer = from, .since = at(posted)};
}

TEST(CriticalPath, GoesOnAtTheSenderOfWhatWasWaitedFor) {
  CriticalPath path(2);
  path.on(gradient(0, 0, 10));
  path.on(gradient(1, 0, 40, 30));
  path.on(operation(1, 40, 42));
  path.on(delivery(0, 1, 42, 50));
  path.on(wait(0, 10, 50, "models"));
  path.on(operation(0, 50, 55));
  EXPECT_THAT(path.to(0, at(55)),
              ElementsAre(Pair("compute", Duration(10)), Pair("messages, models", Duration(8)),
                          Pair("slowdown, rank 1", Duration(30)), Pair("vector operations", Duration(7))));
}

TEST(CriticalPath, AWaitThatNoMessageEndedIsWaiting) {
  CriticalPath path(1);
  path.on(gradient(0, 0, 10));
  path.on(delivery(0, 0, 11, 12));
  path.on(wait(0, 10, 30, "a pause"));
  EXPECT_THAT(path.to(0, at(30)), ElementsAre(Pair("compute", Duration(10)), Pair("waiting, a pause", Duration(20))));
}

TEST(CriticalPath, AnAnswerOfAStrandBesideTheBodyFollowsTheQuestion) {
  CriticalPath path(2);
  path.on(gradient(0, 0, 10));
  path.on(delivery(1, 0, 10, 15));  // a question, which rank 1 answers at once although it computes
  path.on(delivery(0, 1, 15, 20));
  path.on(wait(0, 10, 20, "an answer"));
  path.on(gradient(1, 0, 100));
  EXPECT_THAT(path.to(0, at(20)),
              ElementsAre(Pair("compute", Duration(10)), Pair("messages, an answer", Duration(10))));
}

TEST(CriticalPath, APieceOfAGradientThatLeavesEarlyCostsItsShare) {
  CriticalPath path(2);
  path.on(delivery(0, 1, 50, 60));
  path.on(wait(0, 10, 60, "a piece"));
  path.on(gradient(1, 0, 100, 40));
  EXPECT_THAT(path.to(0, at(60)), ElementsAre(Pair("compute", Duration(30)), Pair("messages, a piece", Duration(10)),
                                              Pair("slowdown, rank 1", Duration(20))));
}

TEST(CriticalPath, EndsWhereMessagesTakeNoTime) {
  CriticalPath path(2);
  for (const int rank : {0, 1}) {
    path.on(gradient(rank, 0, 10));
    path.on(delivery(rank, 1 - rank, 20, 20));
    path.on(wait(rank, 10, 20, "each other"));
  }
  Duration sum{};
  for (const auto& [part, time] : path.to(0, at(20))) sum += time;
  EXPECT_EQ(sum, Duration(20));
}

TEST(CriticalPath, EndsWhereAWindowBegins) {
  CriticalPath path(2);
  path.on(gradient(0, 0, 10));
  path.on(gradient(1, 0, 40, 30));
  path.on(delivery(0, 1, 40, 50));
  path.on(wait(0, 10, 50, "models"));
  path.on(operation(0, 50, 55));
  EXPECT_THAT(path.to(0, at(52), at(20)),
              ElementsAre(Pair("messages, models", Duration(10)), Pair("slowdown, rank 1", Duration(20)),
                          Pair("vector operations", Duration(2))));
}

Suite suite_of(const std::string& name, const std::vector<std::string>& sets) {
  SuiteOptions options;
  options.sets = sets;
  return load_suite(source_dir() + "/suites/" + name, options);
}

// A rate's parts are those of the table's window, all others' of the whole trial.
TEST(CriticalPath, PartsOfEveryProtocolSumUpToItsTime) {
  int trials = 0, windows = 0;
  for (const TrialSpec& spec : suite_of("all_protocols.toml", {"run.iterations=12"}).trials) {
    const TrialRecord record = simulate_trial(spec);
    Duration sum{}, last{};
    for (const auto& [part, time] : record.path) sum += time;
    for (const RankRecord& rank : record.ranks) {
      if (!rank.server) last = std::max(last, rank.finished.time_since_epoch());
    }
    const Duration window = seconds_to_duration(record.window_end_s) - seconds_to_duration(record.window_start_s);
    const bool in_window = spec.what == MeasureKind::kRate && record.window_start_s > 0;
    windows += in_window ? 1 : 0;
    EXPECT_EQ(sum, in_window ? window : last) << record.id;
    EXPECT_THAT(record.path, Contains(Pair("compute", testing::Gt(Duration{})))) << record.id;
    ++trials;
  }
  EXPECT_GT(trials, 60);
  EXPECT_GT(windows, 30);
}

TEST(CriticalPath, OfAllReduceIsTheSlowRanks) {
  for (const TrialSpec& spec : suite_of("all_protocols.toml", {"run.iterations=12"}).trials) {
    if (spec.label != "allreduce" || spec.scenario_name == "homogeneous") continue;
    const TrialRecord record = simulate_trial(spec);
    // One rank takes four times as long: three quarters of nearly all.
    const auto slow = std::max_element(record.path.begin(), record.path.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    EXPECT_THAT(slow->first, testing::StartsWith("slowdown, rank "));
    EXPECT_NEAR(to_seconds(slow->second) / (record.window_end_s - record.window_start_s), 0.75, 0.05);
    return;
  }
  FAIL() << "no such trial";
}

TEST(CriticalPath, IsNotKeptWithoutEvents) {
  TrialSpec spec = suite_of("all_protocols.toml", {"run.iterations=12"}).trials.front();
  spec.events = EventDetail::kNone;
  EXPECT_TRUE(simulate_trial(spec).path.empty());
}

}  // namespace
}  // namespace hopbench
