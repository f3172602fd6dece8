// Every transport between processes, one of which is killed.
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "backends/base/error.h"
#include "backends/runtime/links/emulated_wire.h"
#include "backends/runtime/process/process.h"
#include "backends/transport/wire.h"
#include "tests/backends/runtime/launched.h"
#include "tests/backends/transport/wire_talk.h"

namespace hopbench {
namespace {

using std::chrono::seconds;

class WireProcessTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const std::string why = transport_of(GetParam()).unavailable();
    if (!why.empty()) GTEST_SKIP() << why;
  }

  static LaunchResult play(LaunchOptions options) {
    LinkEmulator links(wide_links(), options.ranks, 1, 0);
    if (is_emulated(GetParam())) options.links = &links;
    return launch(options);
  }
};

// A job is "<transport> serve" or "<transport> <microseconds>" until rank 3 of 4 dies.

/// Rank 3 sends small messages first, then ones of this size; all floats are 1.
std::size_t floats_of(Iter k, std::size_t later) { return k < 5 ? 100 : later; }

Message ones(std::size_t floats) {
  Message m = message_of(kData, 1, floats);
  m.iter = 0;
  return m;
}

/// Looks at one float of each page of a large body: hundreds of 64 MB may have been lent before the death.
bool all_ones(const Message& m, std::size_t floats) {
  if (m.body.size() != floats || m.body.data()[floats - 1] != 1.0f) return false;
  const std::size_t stride = floats > 1000 ? 1024 : 1;
  for (std::size_t i = 0; i < floats; i += stride) {
    if (m.body.data()[i] != 1.0f) return false;
  }
  return true;
}

/// Returns the number of messages, all whole and in order, that a survivor got from rank 3 before kGone; -1: something
/// was wrong.
int hear_until_gone(Wire& wire, std::size_t floats, int& from_survivors) {
  for (Iter heard = 0;;) {
    const Message m = next(wire);
    if (m.from != 3) {
      from_survivors += m.kind == kAck ? 1 : 0;  // they knew earlier
      continue;
    }
    if (m.kind == kGone) return static_cast<int>(heard);
    if (m.kind != kData || m.iter != heard || !all_ones(m, floats_of(heard, floats))) return -1;
    if (++heard == 5) send(wire, 3, message_of(kAck, 0));
  }
}

int dying(Wire& wire, std::size_t floats, int microseconds) {
  std::thread flood([&] {
    Message small = ones(100), later = ones(floats);
    for (Iter k = 0;; ++k) {
      small.iter = later.iter = k;
      for (int to : {0, 1, 2}) send(wire, to, k < 5 ? small : later);
    }
  });
  for (int acks = 0; acks < 3;) acks += next(wire).kind == kAck ? 1 : 0;
  std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
  raise(SIGKILL);
  return 1;
}

/// The survivors, among themselves, after the death.
bool go_on(Wire& wire, int rank, int heard) {
  for (Iter k = 0; k < 50; ++k) {
    for (int to : others(3, rank)) send(wire, to, message_of(kAck, k, 2000));
  }
  for (; heard < 100; ++heard) {
    if (next_data(wire).kind != kAck) return false;
  }
  return true;
}

/// Two workers ask two servers, which also know each other; every rank runs as in a trial.
int served(ChildChannel& channel, Wire& wire) {
  const int rank = channel.rank();
  ProcessRuntime runtime({.rank = rank,
                          .size = 4,
                          .peers = others(4, rank),
                          .start_monotonic_ns = channel.ready(),
                          .slot = &channel.board().slot(rank)},
                         wire);
  channel.on_end([&runtime] { runtime.end(); });
  int answers = 0;
  const auto recv = [&](Kind kind) {
    runtime.await([&] { return runtime.mailbox.has(is(kind)); }, kNever, "the other side");
    return *runtime.mailbox.take(is(kind));
  };
  const auto worker = [&] {
    for (Iter k = 0; k < 100; ++k) {
      for (int server : {2, 3}) runtime.post(server, message_of(kData, k, 20'000));
      for (int i = 0; i < 2; ++i, ++answers) recv(kAck);
    }
  };
  const auto server = [&] {
    while (true) {
      const Message ask = recv(kData);
      ++answers;
      runtime.post(ask.from, message_of(kAck, ask.iter, 20'000));
    }
  };
  runtime.run(rank < 2 ? std::function<void()>(worker) : server, rank < 2);
  channel.finish(std::to_string(answers));
  return 0;
}

int one_rank() {
  const auto channel = ChildChannel::open();
  const int rank = channel->rank();
  const std::string transport = channel->job().substr(0, channel->job().find(' '));
  const std::string what = channel->job().substr(channel->job().find(' ') + 1);
  try {
    constexpr std::size_t kLarge = 16'000'000;
    const bool ahead = what != "serve" && std::stoi(what) % 4 == 0;  // bodies are received before their heads are read
    const WireOptions options{.rank = rank,
                              .size = channel->size(),
                              .peers = others(channel->size(), rank),
                              .interface = "",
                              .connect_timeout = seconds(20),
                              .body_bytes = ahead ? kLarge * sizeof(float) : 0,
                              .eager_bytes = 3 * kLarge * sizeof(float)};
    std::unique_ptr<Wire> wire = transport_of(transport).connect(options, *channel);
    if (is_emulated(transport)) wire = std::make_unique<EmulatedWire>(std::move(wire), options.peers, kLinksFd);
    if (what == "serve") return served(*channel, *wire);
    channel->ready();
    const int microseconds = std::stoi(what);
    const std::size_t floats = microseconds % 2 == 0 ? kLarge : 100;
    if (rank == 3) return dying(*wire, floats, microseconds);
    int from_survivors = 0;
    const int heard = hear_until_gone(*wire, floats, from_survivors);
    channel->finish(std::to_string(heard) + (go_on(*wire, rank, from_survivors) ? " and went on" : " and broke"));
    wire->close(seconds(10));
    return 0;
  } catch (const std::exception& e) {
    return channel->fail({FailureKind::kError, -1, e.what()}), 1;
  }
}

TEST_P(WireProcessTest, CarriesWorkersAndServersToTheirEnd) {
  const LaunchResult result = play(launch_of(4, GetParam() + " serve"));
  EXPECT_TRUE(result.ok) << result.failure.text;
  for (const RankOutcome& rank : result.ranks) EXPECT_EQ(rank.result, "200") << rank.error;
}

TEST_P(WireProcessTest, TellsOfAKilledPeerAfterItsLastMessage) {
  // Killed with large bodies half sent (even) and among small ones (odd), at several moments.
  for (int microseconds : {0, 1, 1301, 5000, 20000}) {
    LaunchOptions options = launch_of(4, GetParam() + " " + std::to_string(microseconds));
    options.survivors_go_on = true;
    const LaunchResult result = play(options);
    EXPECT_TRUE(result.ok) << result.failure.text;
    for (int r = 0; r < 3; ++r) {
      const std::string& said = result.ranks[r].result;
      ASSERT_NE(said.find(" and went on"), std::string::npos) << said << result.ranks[r].error;
      EXPECT_GE(std::stoi(said), 5);
    }
  }
  EXPECT_EQ(processes_with(test_mark()).size(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Over, WireProcessTest, testing::ValuesIn(wire_names()),
                         [](const auto& test) { return test.param; });

}  // namespace

int test_rank() { return one_rank(); }

}  // namespace hopbench

int main(int argc, char** argv) {
  if (argc > 1 && std::string(argv[1]) == "--rank") return hopbench::test_rank();
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
