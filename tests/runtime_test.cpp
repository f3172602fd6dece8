#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "backends/runtime/simulated.h"

namespace hopbench {
namespace {

using std::chrono::milliseconds;
constexpr Kind kPing{1};

TEST(Simulation, CarriesAMessageInLatencyPlusBytesOverBandwidth) {
  Simulation sim({.ranks = 2});
  sim.use(make_network({.latency = milliseconds(1), .bandwidth = 1e6, .packet_bytes = 0}, 2, sim, 1, 0));
  Time arrived{};
  sim.start(0, [&] { sim.rank(0).post(1, {.kind = kPing, .bytes = 10'000}); });
  sim.start(1, [&] {
    sim.rank(1).await([&] { return sim.rank(1).mailbox.has(is(kPing)); }, kNever, "a ping");
    arrived = sim.rank(1).now();
  });
  sim.run();
  EXPECT_EQ(arrived, Time{} + milliseconds(11));
}

TEST(Simulation, ReportsADeadlock) {
  Simulation sim({.ranks = 2});
  sim.start(0, [&] { sim.rank(0).await([] { return false; }, kNever, "a token from a slower neighbour"); });
  sim.start(1, [&] { sim.rank(1).occupy({.cost = milliseconds(60)}); });
  sim.describe_with([](int) { return std::string("iteration 3"); });
  try {
    sim.run();
    FAIL();
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(),
                 "deadlock at t=0.060 s\n  rank 0 waits for a token from a slower neighbour, for 0.060 s: iteration 3");
  }
}

}  // namespace
}  // namespace hopbench
