// Rules with memory for links: their states in time, and what they do to messages with both models of queues.
#include "backends/runtime/link_rule.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "backends/base/error.h"
#include "backends/base/random.h"
#include "backends/runtime/markov.h"
#include "tests/backends/runtime/network_play.h"
#include "tests/folder.h"

namespace hopbench {
namespace {

constexpr Time at_ms(std::int64_t ms) { return Time(std::chrono::milliseconds(ms)); }

LinkRule slow_phases() {
  return {.what = LinkRuleKind::kMarkov,
          .factor = 4,
          .latency_factor = 3,
          .slow = std::chrono::milliseconds(200),
          .normal = std::chrono::milliseconds(600)};
}

LinkRule recorded(const std::string& text, TraceEnd end = TraceEnd::kWrap) {
  const Folder folder;
  folder.write("link.csv", text);
  LinkRule rule{.what = LinkRuleKind::kTrace};
  rule.replay = {.trace = Trace::read(folder / "link.csv"), .end = end};
  return rule;
}

LinkState state(const LinkRule& rule, std::int64_t ms, int number = 0, std::uint64_t seed = 1) {
  return rule.at(seed, 0, number, at_ms(ms));
}

// --- States

TEST(LinkRule, IsSlowForItsShareOfTheTime) {
  const LinkRule rule = slow_phases();
  // 2000 seeds: the standard deviation of a share of 1/4 is 0.0097.
  for (const std::int64_t ms : {0, 100, 12'345, 3'000'000}) {
    int slow = 0;
    for (std::uint64_t seed = 0; seed < 2000; ++seed) {
      const LinkState now = state(rule, ms, 0, seed);
      EXPECT_TRUE((now.factor == 4 && now.latency_factor == 3) || (now.factor == 1 && now.latency_factor == 1));
      EXPECT_EQ(now.bandwidth, 0);
      slow += now.factor == 4;
    }
    EXPECT_NEAR(slow / 2000.0, 0.25, 0.04) << ms;
  }
}

TEST(LinkRule, StaysForItsMeanTimes) {
  const LinkRule rule = slow_phases();
  double slow_s = 0, normal_s = 0;
  int stays = 0;
  bool before = false;
  for (Time now{}; now < at_ms(800'000);) {
    const LinkState here = rule.at(1, 0, 0, now);
    ASSERT_GT(here.until, now);
    const bool slow = here.factor == 4;
    (slow ? slow_s : normal_s) += to_seconds(here.until - now);
    stays += slow && !before;
    before = slow;
    now = here.until;
  }
  // About 1000 stays, whose means have a standard error of 3.2 %. Stays below a step are missed: 0.8 %.
  EXPECT_NEAR(slow_s / stays, 0.2, 0.03);
  EXPECT_NEAR(normal_s / stays, 0.6, 0.09);
}

TEST(LinkRule, DependsOnSeedRepeatAndNumberAlone) {
  const LinkRule rule = slow_phases();
  int by_seed = 0, by_repeat = 0, by_number = 0;
  for (int i = 300; i > 0; --i) {
    const Time now = at_ms(1000 * i);
    const double x = rule.at(1, 0, 0, now).factor;
    EXPECT_EQ(rule.at(1, 0, 0, now).factor, x);
    by_seed += rule.at(2, 0, 0, now).factor != x;
    by_repeat += rule.at(1, 1, 0, now).factor != x;
    by_number += rule.at(1, 0, 1, now).factor != x;
  }
  for (const int differing : {by_seed, by_repeat, by_number}) EXPECT_NEAR(differing, 300 * 2 * 0.25 * 0.75, 45);
}

TEST(LinkRule, ReplaysARecordingToItsEndAndThenAsItIsTold) {
  const std::string text = "time,bandwidth,latency\n1,2e6,0.003\n4,5e6,0.001\n";
  LinkRule rule = recorded(text);
  EXPECT_TRUE(rule.sets_bandwidth());
  EXPECT_EQ(state(rule, 500).bandwidth, 0) << "before the first row";
  EXPECT_LT(state(rule, 500).latency, Duration{});
  EXPECT_EQ(state(rule, 500).until, at_ms(1000));
  EXPECT_EQ(state(rule, 1000).bandwidth, 2e6);
  EXPECT_EQ(state(rule, 3999).latency, std::chrono::milliseconds(3));
  EXPECT_EQ(state(rule, 3999).until, at_ms(4000));
  EXPECT_EQ(state(rule, 4000).bandwidth, 0) << "from the start again";
  EXPECT_EQ(state(rule, 4000).until, at_ms(5000));
  EXPECT_EQ(state(rule, 9100).bandwidth, 2e6);
  EXPECT_EQ(state(rule, 9100).until, at_ms(12'000));
  rule = recorded(text, TraceEnd::kHold);
  EXPECT_EQ(state(rule, 9100).bandwidth, 5e6);
  EXPECT_GT(state(rule, 9100).until, kClockEnd);
  rule = recorded(text, TraceEnd::kError);
  EXPECT_EQ(state(rule, 3999).bandwidth, 2e6);
  EXPECT_THROW(state(rule, 4000), Error);
  EXPECT_EQ(state(recorded("time,factor\n0,3\n2,1\n"), 1000).factor, 3);
  EXPECT_FALSE(recorded("time,factor\n0,3\n2,1\n").sets_bandwidth());
}

TEST(LinkRule, DrawsBlocksForAllRecordingsOfOneLengthTogether) {
  std::string text = "time,bandwidth\n";  // 1000 + s bytes/s in second s
  for (int s = 0; s <= 60; ++s) text += std::to_string(s) + "," + std::to_string(1000 + s) + "\n";
  LinkRule rule = recorded(text);
  rule.replay.map = TraceMap::kBlockBootstrap;
  rule.replay.slot = std::chrono::seconds(5);
  std::set<double> begins;
  int by_seed = 0;
  for (int block = 0; block < 100; ++block) {
    double last = state(rule, block * 5000).bandwidth;
    begins.insert(last);
    by_seed += state(rule, block * 5000, 0, 2).bandwidth != last;
    EXPECT_LE(last, 1055);
    for (std::int64_t ms = block * 5000; ms < (block + 1) * 5000;) {
      const LinkState here = state(rule, ms);
      ASSERT_TRUE(here.bandwidth == last || here.bandwidth == last + 1) << "no jump within a block";
      ASSERT_EQ(state(rule, ms, 7).bandwidth, here.bandwidth) << "another rule";
      ASSERT_LE(here.until, at_ms((block + 1) * 5000));
      ASSERT_EQ(rule.at(1, 0, 0, here.until - Duration{1}).bandwidth, here.bandwidth);
      last = here.bandwidth;
      ms = std::int64_t(std::ceil(to_seconds(here.until) * 1e3));
    }
  }
  EXPECT_GT(begins.size(), 30u);
  EXPECT_GT(by_seed, 80);
}

// --- Messages

/// 1 MB/s, no latency, nothing small: one flow of n bytes takes n microseconds.
NetworkSpec plain_links(NetworkSpec::Queue queue = NetworkSpec::Queue::kFair) {
  NetworkSpec spec;
  spec.latency = spec.local_latency = Duration{};
  spec.bandwidth = 1e6;
  spec.packet_bytes = 0;
  spec.queue = queue;
  return spec;
}

std::vector<double> play_links(const NetworkSpec& spec, const std::vector<TimedFlow>& flows, std::uint64_t seed = 1) {
  return play(flows, [&](int ranks, Timeline& timeline) { return make_network(spec, ranks, timeline, seed, 0); });
}

/// With queues a message comes as segments, each of which keeps the rate that it began with.
double tolerance(NetworkSpec::Queue queue) { return queue == NetworkSpec::Queue::kFair ? 1e-6 : 0.05; }

constexpr NetworkSpec::Queue kQueues[] = {NetworkSpec::Queue::kFair, NetworkSpec::Queue::kFifo};

TEST(LinkRule, AFlowTakesAsLongAsTheRecordedBandwidthAllows) {
  for (const NetworkSpec::Queue queue : kQueues) {
    NetworkSpec spec = plain_links(queue);
    spec.links = {{.a = 0, .rule = recorded("time,bandwidth\n0,1e6\n0.5,0.2e6\n1.5,2e6\n10,1\n")}};
    // 500 kB, then 200 kB in a second, then 300 kB at what the other NIC takes.
    EXPECT_NEAR(play_links(spec, {{0, 1, 1'000'000}})[0], 1.8, tolerance(queue));
    // Two flows have half of it each: 250 kB, 100 kB, and then 250 kB at 1 MB/s.
    // In queues they take turns in bursts.
    for (const double time : play_links(spec, {{0, 1, 600'000}, {0, 2, 600'000}}))
      EXPECT_NEAR(time, 1.75, 2 * tolerance(queue));
    // The recording begins again at 10 s: 100 kB, 200 kB in a second, and 100 kB.
    EXPECT_NEAR(play_links(spec, {{1, 0, 400'000, 10.4}})[0], 11.6, tolerance(queue));
    EXPECT_NEAR(play_links(spec, {{1, 2, 1'000'000}})[0], 1.0, tolerance(queue)) << "another link";
  }
}

TEST(LinkRule, HoldsWithinItsTimesAndOneWay) {
  for (const NetworkSpec::Queue queue : kQueues) {
    NetworkSpec spec = plain_links(queue);
    const LinkRule half = recorded("time,factor\n0,2\n0.7,4\n1,4\n", TraceEnd::kHold);
    spec.links = {{.a = 0, .from = at_ms(400), .until = at_ms(900), .one_way = true, .rule = half}};
    // 400 kB, 150 kB at half the rate, 50 kB at a quarter of it, and 400 kB.
    EXPECT_NEAR(play_links(spec, {{0, 1, 1'000'000}})[0], 1.3, tolerance(queue));
    EXPECT_NEAR(play_links(spec, {{1, 0, 1'000'000}})[0], 1.0, 0.05) << "acknowledgements wait, if there are any";
  }
}

TEST(LinkRule, ReplacesAndMultipliesWhatComesBeforeIt) {
  NetworkSpec spec = plain_links();
  const LinkRule rule = recorded("time,factor,latency\n0,1,0\n1,4,0.25\n2,1,0\n", TraceEnd::kHold);
  spec.links = {{.a = 0, .b = 1, .bandwidth = 0.5e6, .rule = rule}};
  // At 0.125 MB/s from 1.25 s on, when the latency is over: 93 750 bytes until 2 s, then 0.5 MB/s.
  EXPECT_NEAR(play_links(spec, {{0, 1, 193'750, 1.0}})[0], 2.2, 1e-6);
  spec.links.push_back({.a = 0, .b = 1, .bandwidth = 0.1e6, .from = at_ms(2000)});
  EXPECT_NEAR(play_links(spec, {{0, 1, 193'750, 1.0}})[0], 3.0, 1e-6) << "the last one that sets a value counts";
  // Both NICs of a pair three times as slow: the larger latency of the two, not their product.
  LinkRule always = slow_phases();
  always.slow = std::chrono::hours(20'000);
  always.normal = std::chrono::milliseconds(1);
  spec = plain_links();
  spec.latency = std::chrono::milliseconds(100);
  spec.links = {{.a = 0, .rule = always}, {.a = 1, .rule = always}, {.a = 2, .b = 3, .latency = {}, .rule = always}};
  const std::vector<double> arrived = play_links(spec, {{0, 1, 100'000}, {2, 3, 100'000}});
  EXPECT_NEAR(arrived[0], 0.3 + 0.4, 1e-6);
  EXPECT_NEAR(arrived[1], 0.1, 1e-6) << "no latency three times, and no bandwidth to divide";
}

/// Returns when a flow of these bytes is there that is alone: the sum of what each step of the rule lets through.
double integrated(const LinkRule& rule, double bytes, double rate) {
  const Duration step = rule.slow / 64;
  for (Time now{};; now += step) {
    const double allowed = rate / rule.at(1, 0, 0, now + step / 2).factor;
    if (bytes <= allowed * to_seconds(step)) return to_seconds(now) + bytes / allowed;
    bytes -= allowed * to_seconds(step);
  }
}

TEST(LinkRule, LongFlowsGetTheMeanBandwidthOfSlowPhases) {
  NetworkSpec spec = plain_links();
  spec.links = {{.a = 0, .rule = slow_phases()}};
  const double time = play_links(spec, {{0, 1, 400'000'000}})[0];
  EXPECT_NEAR(time, integrated(slow_phases(), 400e6, 1e6), 1e-5);
  // Slow for a quarter of the time. In 492 s the standard deviation of that share is 0.011, which is 1 % of the rate.
  EXPECT_NEAR(400e6 / time, 0.75 * 1e6 + 0.25 * 0.25e6, 0.04e6);
}

TEST(LinkRule, GivesTheSameTimesAgainAndOthersToAnotherSeed) {
  for (const NetworkSpec::Queue queue : kQueues) {
    NetworkSpec spec = plain_links(queue);
    LinkRule drawn = recorded("time,bandwidth\n0,1e6\n1,0.1e6\n2,3e6\n3,0.5e6\n9,1e6\n");
    drawn.replay.map = TraceMap::kBlockBootstrap;
    drawn.replay.slot = std::chrono::milliseconds(700);
    spec.links = {{.a = 0, .rule = slow_phases()}, {.a = 1, .rule = drawn}, {.a = 2, .rule = slow_phases()}};
    std::vector<TimedFlow> flows;
    Random random({.seed = 5});
    for (int i = 0; i < 40; ++i) {
      const int from = int(random.below(4));
      flows.push_back(
          {from, (from + 1 + int(random.below(3))) % 4, std::int64_t(random.below(100'000)), random.uniform() * 5});
    }
    const std::vector<double> once = play_links(spec, flows);
    EXPECT_EQ(play_links(spec, flows), once);
    EXPECT_NE(play_links(spec, flows, 2), once);
  }
}

}  // namespace
}  // namespace hopbench
