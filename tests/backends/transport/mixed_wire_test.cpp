// Some pairs through shared memory, others over Gloo. wire_test asks of "mixed" what it asks of all.
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "tests/backends/transport/wire_fixture.h"
#include "tests/backends/transport/wire_talk.h"

namespace hopbench {
namespace {

class MixedWireTest : public WireTest {};
INSTANTIATE_TEST_SUITE_P(Over, MixedWireTest, testing::Values("mixed"), [](const auto& test) { return test.param; });

TEST_P(MixedWireTest, SaysWhatCarriesMessagesToWhom) {
  using Carriers = std::map<std::string, std::vector<int>>;
  std::vector<Carriers> of(4);
  run(4, [&](Wire& wire, int r) {
    of[std::size_t(r)] = wire.carriers();
    wire.close(seconds(10));
  });
  EXPECT_EQ(of[0], (Carriers{{"gloo", {1}}, {"shm", {2, 3}}}));
  EXPECT_EQ(of[1], (Carriers{{"gloo", {0, 3}}, {"shm", {2}}}));
  EXPECT_EQ(of[2], (Carriers{{"shm", {0, 1, 3}}}));
  EXPECT_EQ(of[3], (Carriers{{"gloo", {1}}, {"shm", {0, 2}}}));
}

// A wait is through shared memory, for several messages: one that comes the other way must end it.
TEST_P(MixedWireTest, WaitsForBothWaysAtOnce) {
  run(3, [](Wire& wire, int r) {
    if (r == 0) {
      for (Iter k = 0; k < 200; ++k) {
        for (int got = 0; got < 2;) {
          const auto began = std::chrono::steady_clock::now();
          wire.wait(seconds(5), 2 - got);
          ASSERT_LT(std::chrono::steady_clock::now() - began, seconds(4)) << "nobody woke it";
          while (auto message = wire.poll()) got += message->kind == kData ? 1 : 0;
        }
        for (int to : {1, 2}) send(wire, to, message_of(kAck, k));
      }
    } else {
      for (Iter k = 0; k < 200; ++k) {
        if (r == 1 + int(k % 2)) std::this_thread::sleep_for(milliseconds(1));
        send(wire, 0, message_of(kData, k));
        while (next(wire).kind != kAck) continue;
      }
    }
    wire.close(seconds(10));
  });
}

// Ranks of one process are on one machine.
class AutoWireTest : public WireTest {};
INSTANTIATE_TEST_SUITE_P(Over, AutoWireTest, testing::Values("auto"), [](const auto& test) { return test.param; });

TEST_P(AutoWireTest, TakesSharedMemoryOnOneMachine) {
  if (!find_transport("shm").unavailable().empty()) GTEST_SKIP() << find_transport("shm").unavailable();
  run(3, [](Wire& wire, int r) {
    EXPECT_EQ(wire.carriers(), (std::map<std::string, std::vector<int>>{{"shm", others(3, r)}}));
    wire.close(seconds(10));
  });
}

}  // namespace
}  // namespace hopbench
