#include "backends/runtime/virtual/network.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "backends/base/random.h"
#include "tests/backends/runtime/network_play.h"

namespace hopbench {
namespace {

using std::chrono::milliseconds;

/// 1 MB/s, no latency, nothing small: one flow of n bytes takes n microseconds.
NetworkSpec plain() {
  NetworkSpec spec;
  spec.latency = spec.local_latency = Duration{};
  spec.bandwidth = 1e6;
  spec.packet_bytes = 0;
  return spec;
}

std::vector<double> play_network(const NetworkSpec& spec, const std::vector<TimedFlow>& flows) {
  return play(flows, [&](int ranks, Timeline& timeline) { return make_network(spec, ranks, timeline, 1, 0); });
}

void expect_near(const std::vector<double>& seconds, const std::vector<double>& wanted) {
  ASSERT_EQ(seconds.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(seconds[i], wanted[i], 1e-6) << "flow " << i;
}

TEST(Network, TakesLatencyPlusBytesOverBandwidth) {
  NetworkSpec spec = plain();
  spec.latency = milliseconds(250);
  expect_near(play_network(spec, {{0, 1, 1'000'000}}), {1.25});
}

TEST(Network, HalvesTheRateOfTwoFlowsIntoOneNic) {
  expect_near(play_network(plain(), {{0, 2, 1'000'000}, {1, 2, 1'000'000}}), {2.0, 2.0});
}

TEST(Network, HalvesTheRateOfTwoFlowsOutOfOneNic) {
  expect_near(play_network(plain(), {{0, 1, 1'000'000}, {0, 2, 1'000'000}}), {2.0, 2.0});
}

TEST(Network, LetsTheTwoDirectionsOfANicBe) {
  expect_near(play_network(plain(), {{0, 1, 1'000'000}, {1, 0, 1'000'000}, {1, 2, 1'000'000}}), {1.0, 2.0, 2.0});
}

TEST(Network, SpeedsUpTheLongFlowWhenTheShortOneEnds) {
  expect_near(play_network(plain(), {{0, 2, 1'000'000}, {1, 2, 500'000}}), {1.5, 1.0});
}

TEST(Network, SlowsDownAFlowWhenAnotherJoins) {
  // Alone for 0.4 s (400 kB), then half the rate for the other 600 kB.
  expect_near(play_network(plain(), {{0, 2, 1'000'000}, {1, 2, 600'000, 0.4}}), {1.6, 1.6});
}

TEST(Network, GivesWhatAFlowCannotUseToTheOthers) {
  NetworkSpec spec = plain();
  spec.bandwidth = 3e6;
  spec.links = {{.a = 0, .bandwidth = 1e6}};  // host 0 has a slow NIC
  // 0->1 and 0->2 get 0.5 MB/s each; 3->2 takes the rest of 2's NIC, 2.5 MB/s, not half of it.
  expect_near(play_network(spec, {{0, 1, 500'000}, {0, 2, 500'000}, {3, 2, 2'500'000}}), {1.0, 1.0, 1.0});
}

TEST(Network, SharesAThinLinkBetweenTwoHostsEachWayApart) {
  NetworkSpec spec = plain();
  spec.bandwidth = 10e6;
  spec.host_of = {0, 0, 1, 1};
  spec.links = {{.a = 0, .b = 1, .bandwidth = 1e6}};
  expect_near(play_network(spec, {{0, 2, 1'000'000}, {1, 3, 1'000'000}, {2, 0, 500'000}}), {2.0, 2.0, 0.5});
}

TEST(Network, ReplacesLatencies) {
  NetworkSpec spec = plain();
  spec.latency = milliseconds(10);
  spec.links = {{.a = 0, .b = 1, .latency = milliseconds(500)}, {.a = 2, .latency = milliseconds(70)}};
  expect_near(play_network(spec, {{1, 0, 1000}, {0, 2, 1000}, {1, 3, 1000}}), {0.501, 0.071, 0.011});
}

TEST(Network, RunsTheLatenciesOfAPairsMessagesMeanwhileAndTheirBytesOneByOne) {
  NetworkSpec spec = plain();
  spec.latency = milliseconds(1000);
  expect_near(play_network(spec, {{0, 1, 1'000'000}, {0, 1, 1'000'000}, {0, 1, 500'000}}), {2.0, 3.0, 3.5});
}

TEST(Network, CarriesASmallMessagePastTheFlowsOfOthers) {
  NetworkSpec spec = plain();
  spec.packet_bytes = 1500;
  spec.latency = milliseconds(10);
  // The token finds its NICs busy, and does not wait.
  expect_near(play_network(spec, {{0, 1, 1'000'000}, {2, 1, 1'000'000}, {0, 2, 1000, 0.5}}), {2.01, 2.01, 0.511});
}

TEST(Network, KeepsASmallMessageBehindALargeOneOfItsPair) {
  NetworkSpec spec = plain();
  spec.packet_bytes = 1500;
  expect_near(play_network(spec, {{0, 1, 1'000'000}, {0, 1, 1000}, {0, 1, 1000}, {1, 0, 1000}}),
              {1.0, 1.001, 1.002, 0.001});
}

TEST(Network, KeepsALargeMessageBehindASmallOneOfItsPair) {
  NetworkSpec spec = plain();
  spec.packet_bytes = 1500;
  spec.latency = milliseconds(100);
  expect_near(play_network(spec, {{0, 1, 1000}, {0, 1, 1'000'000}}), {0.101, 1.101});
}

TEST(Network, TalksOverTheMemoryOfAHost) {
  NetworkSpec spec = plain();
  spec.host_of = {0, 0, 0, 1};
  spec.local_latency = milliseconds(1);
  expect_near(play_network(spec, {{0, 1, 1'000'000'000}, {0, 3, 1'000'000}}), {0.001, 1.0});
  spec.local_bandwidth = 10e6;  // shared by all ranks of the host
  expect_near(play_network(spec, {{0, 1, 1'000'000}, {1, 2, 1'000'000}, {0, 3, 1'000'000}}), {0.201, 0.201, 1.0});
}

TEST(Network, TakesOnlyLatencyWhereBandwidthIsUnlimited) {
  NetworkSpec spec = plain();
  spec.bandwidth = 0;
  spec.latency = milliseconds(3);
  expect_near(play_network(spec, {{0, 1, 1'000'000'000'000}}), {0.003});
}

// Each host's processor handles one message after the other, at both ends: 0 sends at 1 and 2 s, 2 receives from 1 s
// on.
TEST(Network, HandlesMessagesOneAfterTheOtherOnEachHostsProcessor) {
  NetworkSpec spec = plain();
  spec.bandwidth = 0;
  spec.latency = milliseconds(100);
  spec.overhead = milliseconds(1000);
  expect_near(play_network(spec, {{0, 1, 9}, {0, 1, 9}}), {2.1, 3.1});
  expect_near(play_network(spec, {{0, 2, 9}, {1, 2, 9}}), {2.1, 3.1});
  expect_near(play_network(spec, {{0, 1, 9}, {2, 3, 9}}), {2.1, 2.1});
  spec.host_of = {0, 0, 1, 1};  // ranks of one host share its processor
  expect_near(play_network(spec, {{0, 2, 9}, {1, 3, 9}}), {2.1, 3.1});
}

TEST(Network, HandlesBytesAtTheRateOfAProcessor) {
  NetworkSpec spec = plain();
  spec.bandwidth = 0;
  spec.overhead = milliseconds(1000);
  spec.overhead_rate = 1e6;
  expect_near(play_network(spec, {{0, 1, 500'000}}), {3.0});
  spec.overhead = Duration{};
  expect_near(play_network(spec, {{0, 1, 500'000}, {0, 1, 500'000}}), {1.0, 1.5});
}

TEST(Network, HandlesMessagesOnProcessorsThatAllHostsShare) {
  NetworkSpec spec = plain();
  spec.bandwidth = 0;
  spec.latency = milliseconds(100);
  spec.overhead = milliseconds(1000);
  spec.processors = 2;
  // Sent at 1, 1, 2, 2 s by four hosts; received from 2 s on, when both processors are free again.
  expect_near(play_network(spec, {{0, 4, 9}, {1, 5, 9}, {2, 6, 9}, {3, 7, 9}}), {3.0, 3.0, 4.0, 4.0});
}

TEST(Network, HandsOverInAPairsOrderWhatSeveralProcessorsHandle) {
  NetworkSpec spec = plain();
  spec.bandwidth = 0;
  spec.overhead_rate = 1e6;
  spec.processors = 2;
  // The small ones are handled within a millisecond, on the other processor; of another pair that is all there is.
  expect_near(play_network(spec, {{0, 1, 1'000'000}, {0, 1, 1000, 0.5}, {2, 3, 1000, 0.6}}), {2.0, 2.0, 0.602});
}

TEST(Network, ArrivesAtOnceWhereItIsInstant) {
  expect_near(play({{0, 1, 1'000'000}, {0, 1, 10, 0.5}},
                   [](int, Timeline& timeline) { return make_instant_network(timeline); }),
              {0.0, 0.5});
}

TEST(Network, JittersLatencyByAKeyedDrawAndKeepsThePairsOrder) {
  NetworkSpec spec = plain();
  spec.bandwidth = 0;
  spec.latency = milliseconds(10);
  spec.jitter = 0.5;
  std::vector<TimedFlow> flows;
  for (int i = 0; i < 2000; ++i) flows.push_back({0, 1, 100, i * 1.0});
  for (int i = 0; i < 50; ++i) flows.push_back({1, 0, 100, i * 1e-4});
  const std::vector<double> times = play_network(spec, flows);
  EXPECT_EQ(times, play_network(spec, flows));
  double sum = 0;
  for (std::size_t i = 0; i < 2000; ++i) {
    EXPECT_GE(times[i] - flows[i].at_s, 0.010 - 1e-9);
    sum += times[i] - flows[i].at_s;
  }
  EXPECT_NEAR(sum / 2000, 0.015, 0.0005);
  EXPECT_TRUE(std::is_sorted(times.begin() + 2000, times.end()));
  // Keyed by pair and number of the message: one message less on another pair moves nothing.
  flows.resize(2010);
  const std::vector<double> fewer = play_network(spec, flows);
  EXPECT_TRUE(std::equal(times.begin(), times.begin() + 2000, fewer.begin()));
  EXPECT_NE(times[2001] - times[2000], times[1] - times[0]);
}

TEST(Network, DealsWithAllThatHappensAtOneInstantAtOnce) {
  // 40 ranks send to all others at one time: every flow gets 1/39 of a NIC, and all end together.
  std::vector<TimedFlow> flows;
  for (int a = 0; a < 40; ++a) {
    for (int b = 0; b < 40; ++b) {
      if (a != b) flows.push_back({a, b, 10'000});
    }
  }
  const std::vector<double> times = play_network(plain(), flows);
  for (const double t : times) EXPECT_NEAR(t, 0.39, 1e-6);
}

// --- Links that change in time

constexpr Time after_ms(int ms) { return Time(milliseconds(ms)); }

TEST(Network, SharesAnewWhenALinkChanges) {
  NetworkSpec spec = plain();
  spec.links = {{.a = 0, .bandwidth = 0.5e6, .from = after_ms(400), .until = after_ms(800)}};
  // 400 kB, then 200 kB in the 400 ms at half the rate, then the other 400 kB.
  expect_near(play_network(spec, {{0, 1, 1'000'000}}), {1.2});
  // The flow that met the thin link leaves its part of 2's NIC to the other: 0->2 has 300 kB at 0.6 s and then 0.2
  // MB/s.
  spec.links = {{.a = 0, .bandwidth = 0.2e6, .from = after_ms(600)}};
  expect_near(play_network(spec, {{0, 2, 400'000}, {1, 2, 700'000}}), {1.1, 1.1});
  // Others' flows do not care.
  expect_near(play_network(spec, {{1, 2, 1'000'000}}), {1.0});
}

TEST(Network, ObeysAChangeThatNobodySaw) {
  NetworkSpec spec = plain();
  spec.packet_bytes = 1500;
  spec.links = {
      {.a = 0, .bandwidth = 0.5e6, .latency = milliseconds(100), .from = after_ms(500), .until = after_ms(2500)}};
  expect_near(play_network(spec, {{0, 1, 100'000}, {0, 1, 1000, 0.6}, {0, 1, 100'000, 1.0}, {0, 1, 100'000, 3.0}}),
              {0.1, 0.702, 1.3, 3.1});
}

TEST(Network, HasALinkThatIsLimitedAtTimesOnly) {
  NetworkSpec spec = plain();
  spec.bandwidth = 0;
  spec.host_of = {0, 0, 1, 1};
  spec.links = {{.a = 1, .b = 0, .bandwidth = 1e6, .from = after_ms(1000), .until = after_ms(3000)},
                {.a = 0, .b = 1, .bandwidth = 0.5e6, .from = after_ms(2000), .until = after_ms(9000)}};
  const std::vector<TimedFlow> flows = {{0, 2, 1'000'000'000}, {0, 2, 1'250'000, 1.0}, {1, 3, 250'000, 1.5}};
  // The second alone for 0.5 s, shared with the third for 0.5 s: then 500 kB of it and nothing of the third are left.
  expect_near(play_network(spec, flows), {0.0, 3.0, 2.0});
}

TEST(Network, TellsTheTwoWaysOfALinkApart) {
  NetworkSpec spec = plain();
  spec.links = {{.a = 0, .bandwidth = 0.5e6, .one_way = true},
                {.a = 1, .b = 2, .bandwidth = 0.2e6, .latency = milliseconds(500), .one_way = true}};
  expect_near(play_network(spec, {{0, 3, 100'000}, {3, 0, 100'000}, {1, 2, 100'000}, {2, 1, 100'000}}),
              {0.2, 0.1, 1.0, 0.1});
}

TEST(Network, ReplacesFieldByFieldWhereSeveralRulesHold) {
  NetworkSpec spec = plain();
  spec.links = {{.a = 0, .bandwidth = 0.5e6, .latency = milliseconds(250)},
                {.a = 0, .bandwidth = 2e6, .from = after_ms(0), .until = after_ms(10'000)},
                {.a = 0, .latency = milliseconds(500), .from = after_ms(5000)}};
  expect_near(play_network(spec, {{0, 1, 1'000'000}, {0, 1, 1'000'000, 6.0}}), {1.25, 7.5});
}

// --- Links that are cut

TEST(Network, KeepsBytesStandingWhileALinkIsCut) {
  NetworkSpec spec = plain();
  spec.links = {{.a = 0, .from = after_ms(400), .until = after_ms(900), .cut = true}};
  // 400 kB before and 600 kB after; the flow out of 1 has 2's NIC to itself meanwhile.
  expect_near(play_network(spec, {{0, 1, 1'000'000}}), {1.5});
  expect_near(play_network(spec, {{0, 2, 400'000}, {1, 2, 700'000}}), {1.1, 0.9});
  // Into it, begun before the cut, in it, and when it is over; on others' ways nothing is cut.
  expect_near(play_network(spec, {{1, 0, 500'000}, {2, 0, 100'000, 0.5}, {3, 0, 100'000, 2.0}, {1, 2, 100'000, 0.5}}),
              {1.1, 1.1, 2.1, 0.6});
}

TEST(Network, CutsALinkThatIsElseUnlimited) {
  NetworkSpec spec = plain();
  spec.bandwidth = 0;
  spec.host_of = {0, 0, 1, 2};
  spec.links = {{.a = 1, .b = 0, .from = after_ms(400), .until = after_ms(900), .cut = true}};
  const std::vector<TimedFlow> flows = {{0, 2, 1'000'000, 0.1},
                                        {0, 2, 1'000'000, 0.5},
                                        {2, 1, 1'000'000, 0.6},
                                        {0, 3, 1'000'000, 0.5},
                                        {0, 1, 1'000'000, 0.5}};
  expect_near(play_network(spec, flows), {0.1, 0.9, 0.9, 0.5, 0.5});
}

/// Returns the time at which nothing is left to happen on the timeline of a network with a single flow.
double last_event(const NetworkSpec& spec, const Flow& flow) {
  TestTimeline timeline;
  const auto network = make_network(spec, 2, timeline, 1, 0);
  double arrived = 0;
  network->transfer(flow, [&] { arrived = to_seconds(timeline.now()); });
  timeline.run();
  EXPECT_NEAR(arrived, to_seconds(timeline.now()), 1e-6);
  return to_seconds(timeline.now());
}

// By the rates of the cut the last 5 kB would take 150 years: nothing may be left to happen then, or a trial fails.
TEST(Network, ForgetsTheRatesOfACutThatIsOver) {
  NetworkSpec spec = plain();
  spec.links = {{.a = 0, .from = after_ms(400), .until = after_ms(900), .cut = true}};
  EXPECT_NEAR(last_event(spec, {0, 1, 405'000}), 0.905, 1e-6);
}

// The cut link is the flow's bottleneck only while it is cut; before and after, the receiver's NIC is.
TEST(Network, ForgetsACutLinkThatAFlowHasLeft) {
  NetworkSpec spec = plain();
  spec.links = {{.a = 1, .bandwidth = 5e5}, {.a = 0, .from = after_ms(400), .until = after_ms(900), .cut = true}};
  EXPECT_NEAR(last_event(spec, {0, 1, 405'000}), 1.31, 1e-6);
}

// A latency runs meanwhile; nothing is there while the link is cut, and a pair keeps its order.
TEST(Network, HoldsSmallMessagesWhileALinkIsCut) {
  NetworkSpec spec = plain();
  spec.packet_bytes = 1500;
  spec.latency = milliseconds(100);
  spec.links = {{.a = 0, .from = after_ms(400), .until = after_ms(900), .cut = true},
                {.a = 0, .b = 1, .from = after_ms(850), .until = after_ms(1200), .cut = true}};
  const std::vector<TimedFlow> flows = {{0, 2, 1000, 0.2},  {0, 2, 1000, 0.3}, {0, 2, 1000, 0.2995}, {0, 2, 1000, 0.85},
                                        {0, 2, 1000, 0.95}, {0, 1, 1000, 0.5}, {0, 1, 10'000, 0.6},  {2, 1, 1000, 0.5}};
  expect_near(play_network(spec, flows), {0.301, 0.9015, 0.9005, 0.951, 1.051, 1.201, 1.211, 0.601});
}

// Under any changes, a NIC carries what its bandwidth allows, to the byte, and pairs keep their order.
TEST(Network, ConservesBytesAndOrderWhileLinksChange) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Random random({.seed = seed});
    NetworkSpec spec = plain();
    double carried = 0, allowed = 0, rate = 1e6;  // through 0's NIC, which is busy from the start until all is there
    for (int change = 1; change < 20; ++change) {
      const double next = 0.2e6 + random.uniform() * 2e6;
      spec.links.push_back({.a = 0, .bandwidth = next, .from = after_ms(change * 100)});
      const int other = 1 + static_cast<int>(random.below(3));
      spec.links.push_back(
          {.a = other, .bandwidth = 5e6 + random.uniform() * 1e6, .latency = {}, .from = after_ms(change * 70)});
    }
    std::vector<TimedFlow> flows;
    for (int i = 0; i < 60; ++i) {
      const auto bytes = static_cast<std::int64_t>(1 + random.below(60'000));
      flows.push_back({0, 1 + static_cast<int>(random.below(3)), bytes, 0});
      carried += static_cast<double>(bytes);
    }
    const std::vector<double> times = play_network(spec, flows);
    const double end = *std::max_element(times.begin(), times.end());
    double at = 0;
    for (const NetworkSpec::Link& link : spec.links) {
      if (link.a != 0) continue;
      const double until = std::min(end, to_seconds(link.from.time_since_epoch()));
      allowed += std::max(0.0, until - at) * rate;
      at = std::max(at, until);
      rate = link.bandwidth;
    }
    allowed += (end - at) * rate;
    EXPECT_NEAR(allowed, carried, 1e-5 * carried) << seed;
    std::array<double, 4> last{};
    for (std::size_t i = 0; i < flows.size(); ++i) {
      EXPECT_GE(times[i], last[static_cast<std::size_t>(flows[i].to)]) << seed;
      last[static_cast<std::size_t>(flows[i].to)] = times[i];
    }
  }
}

}  // namespace
}  // namespace hopbench
