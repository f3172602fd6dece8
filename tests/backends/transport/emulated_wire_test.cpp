// Messages over emulated links: when they are handed over. What every wire promises, wire_test asks of this one too.
#include "backends/runtime/links/emulated_wire.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "tests/backends/transport/wire_fixture.h"
#include "tests/backends/transport/wire_talk.h"
#include "tests/folder.h"

namespace hopbench {
namespace {

/// Later than this the machine would have to be very busy; a link that is not obeyed is wrong by far more.
#ifdef __SANITIZE_THREAD__
constexpr double kEarly_s = 0.1, kLate_s = 0.27;  // everything is slow; what is told apart here lies farther apart
#else
constexpr double kEarly_s = 0.1, kLate_s = 0.1;
#endif

class EmulatedWireTest : public WireTest {
 protected:
  EmulatedWireTest() {
    links.bandwidth = 1e6;
    links.latency = milliseconds(20);
  }

  /// Rank 0 gets messages of these bytes, all sent at one instant by the other ranks, one each; when they were there.
  std::vector<double> arrivals_of(const std::vector<std::int64_t>& bytes) {
    std::vector<double> arrived(bytes.size());
    const int size = static_cast<int>(bytes.size()) + 1;
    run(size, [&](Wire& wire, int r) {
      meet(size);
      if (r > 0) {
        send(wire, 0, message_with(bytes[static_cast<std::size_t>(r) - 1], r));
      } else {
        for (std::size_t i = 0; i < bytes.size(); ++i) {
          const Message m = next_data(wire);
          arrived[static_cast<std::size_t>(m.from) - 1] = since_start();
        }
      }
      wire.close(seconds(10));
    });
    return arrived;
  }

  /// All go on at one instant, the start.
  void meet(int size) {
    if (++there_ == size) {
      start = std::chrono::steady_clock::now() + milliseconds(20);
      met_ = true;
    }
    while (!met_) std::this_thread::sleep_for(milliseconds(1));
    std::this_thread::sleep_until(start);
  }
  double since_start() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); }

  std::chrono::steady_clock::time_point start;

  static Message message_with(std::int64_t bytes, Iter iter) {
    return message_of(kData, iter, static_cast<std::size_t>(bytes - kHeaderBytes) / sizeof(float));
  }

  static void expect_at(const std::vector<double>& arrived, const std::vector<double>& due) {
    for (std::size_t i = 0; i < due.size(); ++i) {
      EXPECT_GT(arrived[i], due[i] - kEarly_s) << "sender " << i + 1;  // earlier where another sender was late
      EXPECT_LT(arrived[i], due[i] + kLate_s) << "sender " << i + 1;
    }
  }

 private:
  std::atomic<int> there_ = 0;
  std::atomic<bool> met_ = false;
};

TEST_P(EmulatedWireTest, HoldsAMessageForLatencyAndBytes) { expect_at(arrivals_of({400'000}), {0.42}); }

TEST_P(EmulatedWireTest, SharesTheReceiversNicAmongSenders) {
  // 1 MB/s for three: the smallest is there when each has had 200 kB, the next when each of two has another 200.
  expect_at(arrivals_of({200'000, 400'000, 600'000}), {0.62, 1.02, 1.22});
}

TEST_P(EmulatedWireTest, HasLinksOfTheirOwnForHostsAndPairs) {
  links.bandwidth = 0;
  links.links = {{.a = 2, .bandwidth = 0.5e6}, {.a = 0, .b = 1, .latency = milliseconds(700)}};
  expect_at(arrivals_of({200'000, 200'000, 200'000}), {0.7, 0.42, 0.02});
}

TEST_P(EmulatedWireTest, IsAsSlowEachWayAsThatWayIs) {
  links.links = {{.a = 0, .b = 1, .bandwidth = 0.25e6, .one_way = true}};
  std::vector<double> arrived(2);
  run(2, [&](Wire& wire, int r) {
    meet(2);
    send(wire, 1 - r, message_with(200'000, 0));
    next_data(wire);
    arrived[static_cast<std::size_t>(r)] = since_start();
    wire.close(seconds(10));
  });
  expect_at(arrived, {0.22, 0.82});
}

TEST_P(EmulatedWireTest, FollowsALinkThatChanges) {
  links.latency = Duration{};
  links.links = {{.a = 0, .bandwidth = 0.1e6, .until = Time(seconds(1))}};
  const std::vector<double> arrived = arrivals_of({400'000});
  const double thin = 1 - std::chrono::duration<double>(start - links_began).count();  // for so long after the start
  const double due = thin + (0.4e6 - 0.1e6 * thin) / 1e6;
  EXPECT_GT(arrived[0], due - kEarly_s);
  EXPECT_LT(arrived[0], due + kLate_s);
}

TEST_P(EmulatedWireTest, FollowsARecordedLink) {
  const Folder folder;
  folder.write("link.csv", "time,bandwidth\n0,0.1e6\n0.6,0.5e6\n0.9,2e6\n");
  links.latency = Duration{};
  links.bandwidth = 0;
  LinkRule rule{.what = LinkRuleKind::kTrace};
  rule.replay = {.trace = Trace::read(folder / "link.csv"), .end = TraceEnd::kHold};
  links.links = {{.a = 0, .rule = rule}};
  const std::vector<double> arrived = arrivals_of({800'000});
  const double began = std::chrono::duration<double>(start - links_began).count();
  const double left = 0.8e6 - 0.1e6 * std::max(0.6 - began, 0.0) - 0.5e6 * (0.9 - std::clamp(began, 0.6, 0.9));
  expect_at(arrived, {std::max(0.9 - began, 0.0) + left / 2e6});
}

TEST_P(EmulatedWireTest, KeepsTheOrderOfAPairAndSaysByeLast) {
  links.jitter = 3;
  std::vector<Iter> order;
  run(2, [&](Wire& wire, int r) {
    if (r == 0) {
      for (Iter k = 0; k < 40; ++k) send(wire, 1, message_of(kData, k, k % 3 == 0 ? 5000 : 10));
    } else {
      for (Message m = next(wire); m.kind != kBye; m = next(wire)) order.push_back(m.iter);
    }
    wire.close(seconds(20));
  });
  ASSERT_EQ(order.size(), 40u);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST_P(EmulatedWireTest, TellsOfADeadPeerAfterAllThatItHadSent) {
  start = std::chrono::steady_clock::now();
  std::atomic<bool> sent = false;
  run(2, [&](Wire& wire, int r) {
    if (r == 0) {
      for (Iter k = 0; k < 3; ++k) send(wire, 1, message_with(100'000, k));
      while (!sent) wire.wait(milliseconds(10));
      return;  // without a close
    }
    EXPECT_EQ(next(wire).iter, 0);
    sent = true;
    EXPECT_EQ(next(wire).iter, 1);
    EXPECT_EQ(next(wire).iter, 2);
    EXPECT_GE(std::chrono::steady_clock::now() - start, milliseconds(170));
    EXPECT_EQ(next(wire).kind, kGone);
  });
}

TEST_P(EmulatedWireTest, WaitsForSeveralMessagesUntilTheLastIsDue) {
  run(2, [&](Wire& wire, int r) {
    if (r == 0) {
      for (Iter k = 0; k < 4; ++k) send(wire, 1, message_with(100'000, k));
    } else {
      int seen = 0, waits = 0;
      while (seen < 4) {
        while (wire.poll()) ++seen;
        if (seen == 4) break;
        wire.wait(seconds(5), 4 - seen);
        ++waits;
      }
      EXPECT_LE(waits, 3) << "one for each message";
      const std::vector<Duration> late = static_cast<EmulatedWire&>(wire).lateness();
      ASSERT_GE(late.size(), 1u);
      for (const Duration each : late) EXPECT_LT(to_seconds(each), kLate_s);
      for (const Duration each : late) EXPECT_GE(each.count(), 0);
    }
    wire.close(seconds(10));
  });
}

TEST_P(EmulatedWireTest, LetsAllGoWhenThereIsNoEmulatorAnyMore) {
  links.latency = seconds(100);
  LinkEmulator* emulator = new LinkEmulator(links, 2, 1, 0);
  int ends[2] = {emulator->take_end(0), emulator->take_end(1)};
  emulator->start(link_clock_ns());
  std::atomic<int> sent = 0;
  std::vector<std::thread> threads;
  for (int r = 0; r < 2; ++r) {
    threads.emplace_back([&, r] {
      Seat seat(room, r);
      const WireOptions options{r, 2, others(2, r), "", seconds(10)};
      EmulatedWire wire(transport_of(GetParam()).connect(options, seat), options.peers, ends[r]);
      send(wire, 1 - r, message_of(kData, r));
      if (++sent == 2) delete emulator;
      EXPECT_EQ(next(wire).iter, 1 - r);
      wire.close(seconds(10));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

std::vector<std::string> emulated_names() {
  std::vector<std::string> names = wire_names();
  std::erase_if(names, [](const std::string& name) { return !is_emulated(name); });
  return names;
}

INSTANTIATE_TEST_SUITE_P(Over, EmulatedWireTest, testing::ValuesIn(emulated_names()),
                         [](const auto& test) { return test.param; });

TEST(LinkEmulator, TakesNoTimeForMessagesThatAreNoneOfTheNetworks) {
  NetworkSpec spec;
  spec.latency = seconds(100);
  spec.overhead = seconds(100);
  LinkEmulator emulator(spec, 2, 1, 0);
  const int a = emulator.take_end(0), b = emulator.take_end(1);
  emulator.start(link_clock_ns());
  const LinkOffer offer{.to = 1, .bytes = -1, .when_ns = link_clock_ns()};
  ASSERT_EQ(::send(a, &offer, sizeof offer, 0), static_cast<ssize_t>(sizeof offer));
  LinkRelease release;
  ASSERT_EQ(::recv(b, &release, sizeof release, 0), static_cast<ssize_t>(sizeof release));
  EXPECT_EQ(release.from, 0);
  ::close(a);
  ::close(b);
}

}  // namespace
}  // namespace hopbench
