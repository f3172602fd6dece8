// Links that are queues of TCP's segments, and messages that ask before they come.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "backends/base/random.h"
#include "tests/backends/runtime/network_play.h"

namespace hopbench {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

/// 1 MB/s, no latency, queues.
NetworkSpec queues() {
  NetworkSpec spec;
  spec.latency = spec.local_latency = Duration{};
  spec.bandwidth = 1e6;
  spec.queue = NetworkSpec::Queue::kFifo;
  return spec;
}

std::vector<double> play_queues(const NetworkSpec& spec, const std::vector<TimedFlow>& flows) {
  return play(flows, [&](int ranks, Timeline& timeline) { return make_network(spec, ranks, timeline, 1, 0); });
}

TEST(FifoNetwork, CarriesASegmentThroughEveryQueueOneAfterTheOther) {
  NetworkSpec spec = queues();
  spec.latency = milliseconds(3);
  const std::vector<double> arrived = play_queues(spec, {{0, 1, 2896}, {0, 2, 1448, 1.0}});
  EXPECT_NEAR(arrived[0], 2 * 0.002896 + 0.003, 1e-8) << "out of one NIC, into the other";
  EXPECT_NEAR(arrived[1], 1 + 2 * 0.001448 + 0.003, 1e-8);
}

TEST(FifoNetwork, SendsTenPacketsARoundTripAtFirstAndThenTwiceAsMany) {
  NetworkSpec spec = queues();
  spec.bandwidth = 1e12;
  spec.latency = milliseconds(50);
  // 14 480 bytes at once, 28 960 after a round trip, 57 920 after two.
  const std::vector<double> arrived = play_queues(spec, {{0, 1, 14'480}, {2, 1, 28'960}, {3, 1, 86'880}});
  EXPECT_NEAR(arrived[0], 0.05, 1e-5);
  EXPECT_NEAR(arrived[1], 0.15, 1e-5);
  EXPECT_NEAR(arrived[2], 0.25, 1e-5);
}

TEST(FifoNetwork, BeginsAnewAfterALongSilence) {
  NetworkSpec spec = queues();
  spec.bandwidth = 1e12;
  spec.latency = milliseconds(50);
  const std::vector<double> arrived =
      play_queues(spec, {{0, 1, 101'360}, {0, 1, 101'360, 0.35}, {0, 1, 101'360, 30.0}});
  EXPECT_NEAR(arrived[1], 0.40, 1e-5) << "the window is large enough now";
  EXPECT_NEAR(arrived[2], 30.25, 1e-5);
}

TEST(FifoNetwork, SharesALinkAmongConnectionsAsTheFairOneDoes) {
  NetworkSpec spec = queues();
  spec.latency = microseconds(100);
  const std::vector<TimedFlow> incast = {{0, 3, 1'000'000}, {1, 3, 1'000'000}, {2, 3, 1'000'000}};
  for (const double seconds : play_queues(spec, incast)) EXPECT_NEAR(seconds, 3.0, 0.15);
  const std::vector<TimedFlow> outcast = {{0, 1, 1'000'000}, {0, 2, 1'000'000}};
  for (const double seconds : play_queues(spec, outcast)) EXPECT_NEAR(seconds, 2.0, 0.15);
  const std::vector<TimedFlow> both_ways = {{0, 1, 1'000'000}, {1, 0, 1'000'000, 0.001}};
  for (const double seconds : play_queues(spec, both_ways)) EXPECT_NEAR(seconds, 1.0 * (1 + 66.0 / 2896), 0.02);
}

TEST(FifoNetwork, LetsWhatCameFirstThroughFirst) {
  NetworkSpec spec = queues();
  spec.bandwidth = 100e6;
  spec.links = {{.a = 2, .bandwidth = 1e6}};
  // The small message finds a window of another connection's segments in the queue, and no share of its own.
  const std::vector<double> arrived = play_queues(spec, {{0, 2, 200'000}, {1, 2, 1448, 0.05}});
  EXPECT_LT(arrived[1], arrived[0]);
  EXPECT_GT(arrived[1], 0.05 + 0.01) << "behind a window of segments";
}

TEST(FifoNetwork, LetsABurstThroughAnIdleLink) {
  NetworkSpec spec = queues();
  spec.burst = 1e6;
  EXPECT_NEAR(play_queues(spec, {{0, 1, 14'480, 2.0}})[0], 2.0, 1e-6);
  spec.burst = 0;
  EXPECT_GT(play_queues(spec, {{0, 1, 14'480, 2.0}})[0], 2.0 + 0.014);
}

TEST(FifoNetwork, CountsHeaders) {
  NetworkSpec spec = queues();
  spec.goodput = 0.5;
  EXPECT_NEAR(play_queues(spec, {{0, 1, 2896}})[0], 4 * 0.002896, 1e-8);
  spec.queue = NetworkSpec::Queue::kFair;
  spec.links = {{.a = 2, .bandwidth = 4e6}};
  EXPECT_NEAR(play_queues(spec, {{0, 1, 1'000'000}})[0], 2.0, 1e-6);
  EXPECT_NEAR(play_queues(spec, {{2, 3, 1'000'000}})[0], 2.0, 1e-6) << "3's NIC";
  spec.bandwidth = 100e6;
  EXPECT_NEAR(play_queues(spec, {{2, 3, 1'000'000}})[0], 0.5, 1e-6) << "the link's own rate";
}

// Two racks of two hosts behind 1 MB/s each way; a third host, of a server, is in the first rack again.
TEST(Racks, ShareTheirUplinks) {
  NetworkSpec spec = queues();
  spec.bandwidth = 100e6;
  spec.rack_of = {0, 0, 1, 1};
  spec.uplink = 1e6;
  for (const auto queue : {NetworkSpec::Queue::kFair, NetworkSpec::Queue::kFifo}) {
    spec.queue = queue;
    spec.latency = microseconds(queue == NetworkSpec::Queue::kFair ? 0 : 100);
    const std::vector<double> arrived = play_queues(
        spec,
        {{0, 2, 1'000'000}, {1, 3, 1'000'000}, {3, 0, 1'000'000}, {0, 1, 1'000'000, 9.0}, {4, 0, 1'000'000, 9.0}});
    EXPECT_NEAR(arrived[0], 2.0, 0.15);
    EXPECT_NEAR(arrived[1], 2.0, 0.15);
    if (queue == NetworkSpec::Queue::kFair) {
      EXPECT_NEAR(arrived[2], 1.0, 0.1) << "the way back is another";
    }
    EXPECT_LT(arrived[3], 9.05) << "within a rack";
    EXPECT_LT(arrived[4], 9.05);
  }
}

TEST(FifoNetwork, ObeysLinksThatChange) {
  NetworkSpec spec = queues();
  spec.latency = microseconds(100);
  spec.links = {{.a = 0, .bandwidth = 10e6, .from = Time(milliseconds(1000))},
                {.a = 1, .bandwidth = 10e6, .from = Time(milliseconds(1000))}};
  EXPECT_NEAR(play_queues(spec, {{0, 1, 2'000'000}})[0], 1.1, 0.06);
}

// A pair's messages always come in order, no sooner than the links' rates allow, and at the same times in a second run.
TEST(FifoNetwork, KeepsOrderAndRatesOfRandomFlows) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    Random random({.seed = seed});
    NetworkSpec spec = queues();
    spec.latency = microseconds(random.below(2000));
    spec.overhead = microseconds(random.below(3) * 50);
    if (random.chance(0.5)) spec.rendezvous_bytes = 20'000;
    std::vector<TimedFlow> flows;
    double into_0 = 0;
    for (int i = 0; i < 60; ++i) {
      const int from = int(random.below(4)), to = (from + 1 + int(random.below(3))) % 4;
      flows.push_back({from, to, std::int64_t(random.below(60'000)), random.uniform() * 0.5});
      if (to == 0) into_0 += double(flows.back().bytes);
    }
    const std::vector<double> arrived = play_queues(spec, flows);
    double last_into_0 = 0;
    for (std::size_t i = 0; i < flows.size(); ++i) {
      ASSERT_GE(arrived[i], flows[i].at_s + double(flows[i].bytes) / 1e6) << seed;
      if (flows[i].to == 0) last_into_0 = std::max(last_into_0, arrived[i]);
      for (std::size_t j = 0; j < flows.size(); ++j) {
        const bool one_pair = flows[i].from == flows[j].from && flows[i].to == flows[j].to;
        if (one_pair && flows[i].at_s < flows[j].at_s) {
          ASSERT_LE(arrived[i], arrived[j]) << seed;
        }
      }
    }
    EXPECT_GE(last_into_0, into_0 / 1e6) << seed;
    EXPECT_EQ(play_queues(spec, flows), arrived) << seed;
  }
}

// Gloo treats a body so if its receive is not posted: both ways at once take as long as one after the other.
TEST(RendezvousNetwork, HasAPermissionWaitBehindTheReceiversOwnBody) {
  for (const auto queue : {NetworkSpec::Queue::kFair, NetworkSpec::Queue::kFifo}) {
    NetworkSpec spec = queues();
    spec.queue = queue;
    const std::vector<TimedFlow> both = {{0, 1, 1'000'000}, {1, 0, 1'000'000, 0.01}};
    std::vector<double> arrived = play_queues(spec, both);
    EXPECT_NEAR(arrived[0], 1.0, 0.12);
    EXPECT_NEAR(arrived[1], 1.0, 0.12);
    spec.rendezvous_bytes = 65'536;
    arrived = play_queues(spec, both);
    EXPECT_NEAR(std::max(arrived[0], arrived[1]), 2.0, 0.1);
    EXPECT_NEAR(play_queues(spec, {both[0]})[0], 1.0, 0.06) << "alone it waits for nobody";
  }
}

TEST(RendezvousNetwork, HandsOverInOrder) {
  NetworkSpec spec = queues();
  spec.queue = NetworkSpec::Queue::kFair;
  spec.latency = milliseconds(100);
  spec.rendezvous_bytes = 1000;
  const std::vector<double> arrived = play_queues(spec, {{0, 1, 2000}, {0, 1, 10, 0.001}, {0, 1, 1000, 0.002}});
  EXPECT_NEAR(arrived[0], 0.302, 0.001);
  EXPECT_GE(arrived[1], arrived[0]);
  EXPECT_GE(arrived[2], arrived[1]);
}

}  // namespace
}  // namespace hopbench
