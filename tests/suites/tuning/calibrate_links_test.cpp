// From what pairs of ranks measured to a network that explains it.
#include <gtest/gtest.h>

#include <functional>

#include "suites/tuning/calibrate_links.h"

namespace hopbench {
namespace {

/// Returns the seconds a byte for each pair that a machine with these links would measure.
std::vector<PairFigures> figures(int ranks, const Calibration& machine,
                                 const std::function<double(int, int)>& bandwidth, double latency_s = 1e-4) {
  std::vector<PairFigures> all;
  for (int from = 0; from < ranks; ++from) {
    for (int to = 0; to < ranks; ++to) {
      if (from == to) continue;
      const double round_trip = 2 * latency_s + 4 * to_seconds(machine.overhead), bytes = 1e6;
      const double handled = machine.overhead_rate > 0 ? 2 / machine.overhead_rate : 0;
      const double link = bandwidth(from, to) > 0 ? 1 / bandwidth(from, to) : 0;
      const auto sent = [&](double size) { return PairFigures::Sent{size, round_trip + size * (handled + link)}; };
      all.push_back({from, to, round_trip, {sent(bytes / 4), sent(bytes)}});
    }
  }
  return all;
}

Calibration machine() {
  Calibration c;
  c.overhead = std::chrono::microseconds(20);
  c.overhead_rate = 2e9;
  c.processors = 2;
  return c;
}

TEST(NetworkFrom, LeavesOutWhatProcessorsExplain) {
  const NetworkSpec network = network_from(figures(4, machine(), [](int, int) { return 0.0; }), machine(), {});
  EXPECT_EQ(network.bandwidth, 0);
  EXPECT_NEAR(to_seconds(network.latency), 1e-4, 1e-6);
  EXPECT_TRUE(network.links.empty());
  EXPECT_EQ(network.processors, 2);
  EXPECT_EQ(network.overhead_rate, 2e9);
}

TEST(NetworkFrom, FindsTheBandwidthThatAllShare) {
  const NetworkSpec network = network_from(figures(4, machine(), [](int, int) { return 1e8; }), machine(), {});
  EXPECT_NEAR(network.bandwidth, 1e8, 1e6);
  EXPECT_TRUE(network.links.empty());
}

TEST(NetworkFrom, FindsTheWayThatIsThin) {
  for (int ranks : {2, 4}) {
    const auto thin = [](int a, int b) { return a == 1 && b == 0 ? 1e7 : 5e7; };
    const NetworkSpec network = network_from(figures(ranks, machine(), thin), machine(), {});
    EXPECT_NEAR(network.bandwidth, 5e7, 1e6) << ranks;
    ASSERT_EQ(network.links.size(), 1u) << ranks;
    EXPECT_EQ(network.links[0].a, 1);
    EXPECT_EQ(network.links[0].b, 0);
    EXPECT_TRUE(network.links[0].one_way);
    EXPECT_NEAR(network.links[0].bandwidth, 1e7, 1e6);
  }
}

TEST(NetworkFrom, SaysNothingOfTheBandwidthOfModelsThatAreLent) {
  Calibration free = machine();
  free.overhead_rate = 0;
  free.overhead = {};
  const NetworkSpec network = network_from(figures(
                                               4, free, [](int, int) { return 2e12; }, 0),
                                           free, {});
  EXPECT_EQ(network.bandwidth, 0);
  EXPECT_TRUE(network.links.empty());
}

TEST(NetworkFrom, FindsTheHostWithAThinNic) {
  for (int ranks : {3, 4, 8}) {
    const auto thin = [](int a, int b) { return a == 1 || b == 1 ? 1e7 : 1e9; };
    const NetworkSpec network = network_from(figures(ranks, machine(), thin), machine(), {});
    EXPECT_NEAR(network.bandwidth, 1e9, 1e8) << ranks;
    ASSERT_EQ(network.links.size(), 1u) << ranks;
    EXPECT_EQ(network.links[0].a, 1);
    EXPECT_EQ(network.links[0].b, -1);
    EXPECT_NEAR(network.links[0].bandwidth, 1e7, 1e6);
  }
}

TEST(NetworkFrom, FindsTheThinLinkBetweenTwoHosts) {
  const auto thin = [](int a, int b) { return a + b == 3 && a * b == 2 ? 1e7 : 0.0; };  // 1 and 2
  const NetworkSpec network = network_from(figures(4, machine(), thin), machine(), {});
  EXPECT_EQ(network.bandwidth, 0);
  ASSERT_EQ(network.links.size(), 1u);
  EXPECT_EQ(network.links[0].a, 1);
  EXPECT_EQ(network.links[0].b, 2);
  EXPECT_NEAR(network.links[0].bandwidth, 1e7, 1e6);
}

TEST(NetworkFrom, FindsThePairThatIsFarAway) {
  std::vector<PairFigures> all = figures(4, machine(), [](int, int) { return 0.0; });
  for (PairFigures& pair : all) {
    if (pair.from + pair.to != 3 || pair.from * pair.to != 0) continue;  // 0 and 3
    pair.round_trip_s += 0.02;
    for (PairFigures::Sent& sent : pair.bodies) sent.seconds += 0.02;
  }
  const NetworkSpec network = network_from(all, machine(), {});
  ASSERT_EQ(network.links.size(), 1u);
  EXPECT_EQ(network.links[0].a, 0);
  EXPECT_EQ(network.links[0].b, 3);
  EXPECT_EQ(network.links[0].bandwidth, 0);
  EXPECT_NEAR(to_seconds(network.links[0].latency), 0.0101, 1e-4);
}

// A token bucket lets some bytes through at once.
TEST(NetworkFrom, CountsNoBurst) {
  std::vector<PairFigures> all = figures(3, {}, [](int, int) { return 1e7; });
  for (PairFigures& pair : all) {
    for (PairFigures::Sent& sent : pair.bodies) sent.seconds -= 32768 / 1e7;
  }
  EXPECT_NEAR(network_from(all, {}, {}).bandwidth, 1e7, 1e4);
}

TEST(NetworkFrom, TakesRanksOfOneHostTogether) {
  const std::vector<int> hosts = {0, 0, 1, 1};
  const auto thin = [&](int a, int b) { return hosts[std::size_t(a)] == hosts[std::size_t(b)] ? 0.0 : 1e8; };
  const NetworkSpec network = network_from(figures(4, machine(), thin), machine(), hosts);
  EXPECT_NEAR(network.bandwidth, 1e8, 1e6) << "between the two hosts; within one nothing is said";
  EXPECT_TRUE(network.links.empty());
}

}  // namespace
}  // namespace hopbench
