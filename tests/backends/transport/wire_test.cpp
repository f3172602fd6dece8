// Every transport for real processes, between threads; wire_process_test has the processes.
#include "backends/transport/wire.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <csignal>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "backends/base/error.h"
#include "tests/backends/transport/wire_fixture.h"
#include "tests/backends/transport/wire_talk.h"

namespace hopbench {
namespace {

TEST_P(WireTest, KeepsWhatAMessageSays) {
  run(2, [](Wire& wire, int r) {
    if (r == 0) {
      Message m = message_of(kData, -5, 3);
      m.words = {1, -2, std::int64_t{1} << 60};
      send(wire, 1, m);
      Message full = message_of(kAck, 1, 1000);
      while (full.words.size() < Words::kMax) full.words.push_back(7);
      send(wire, 1, full);
    } else {
      const Message m = next(wire);
      EXPECT_EQ(m.from, 0);
      EXPECT_EQ(m.kind, kData);
      EXPECT_EQ(m.iter, -5);
      EXPECT_EQ(m.bytes, kHeaderBytes + 12);
      ASSERT_EQ(m.words.size(), 3u);
      EXPECT_EQ(m.words[1], -2);
      EXPECT_EQ(m.words[2], std::int64_t{1} << 60);
      EXPECT_TRUE(whole(m, 3));
      const Message full = next(wire);
      EXPECT_EQ(full.words.size(), Words::kMax);
      EXPECT_TRUE(whole(full, 1000));
    }
    wire.close(seconds(10));
  });
}

TEST_P(WireTest, KeepsTheOrderOfSmallAndLargeMessages) {
  // 1000 floats just fit into a frame with Gloo, 1020 do not; 2'000'000 are 8 MB.
  const std::vector<std::size_t> sizes = {0, 1, 1000, 1011, 1012, 1020, 70'000, 0, 2'000'000, 5};
  run(2, [&](Wire& wire, int r) {
    for (Iter k = 0; k < 60; ++k) {
      const std::size_t floats = sizes[static_cast<std::size_t>(k) % sizes.size()];
      if (r == 0) {
        send(wire, 1, message_of(kData, k, floats));
        continue;
      }
      const Message m = next(wire);
      EXPECT_EQ(m.iter, k);
      EXPECT_TRUE(whole(m, floats)) << k;
    }
    wire.close(seconds(10));
  });
}

TEST_P(WireTest, CarriesAllToAllAmongEight) {
  constexpr int kRanks = 8;
  constexpr Iter kRounds = 30;
  run(kRanks, [](Wire& wire, int r) {
    std::map<int, Iter> expected;
    for (Iter k = 0; k < kRounds; ++k) {
      for (int to : others(kRanks, r)) send(wire, to, message_of(kData, k, k % 3 == 0 ? 5000 : 10));
    }
    for (int i = 0; i < (kRanks - 1) * kRounds; ++i) {
      const Message m = next_data(wire);
      EXPECT_EQ(m.iter, expected[m.from]++);
      EXPECT_TRUE(whole(m, m.iter % 3 == 0 ? 5000 : 10));
    }
    wire.close(seconds(20));
  });
}

TEST_P(WireTest, ConnectsOnlyThePairsThatAreNeeded) {
  peers_of = [](int r) {  // a ring of five
    std::vector<int> peers = {(r + 1) % 5, (r + 4) % 5};
    std::sort(peers.begin(), peers.end());
    return peers;
  };
  run(5, [&](Wire& wire, int r) {
    for (int to : peers_of(r)) send(wire, to, message_of(kData, r));
    const int a = next_data(wire).from, b = next_data(wire).from;
    EXPECT_EQ((std::vector{std::min(a, b), std::max(a, b)}), peers_of(r));
    wire.close(seconds(10));
  });
}

TEST_P(WireTest, HoldsABodyUntilItIsSent) {
  run(2, [](Wire& wire, int r) {
    if (r == 0) {
      for (Iter k = 0; k < 10; ++k) {
        Vec body(500'000);
        body.fill(static_cast<float>(k));
        Message m = message_of(kData, k);
        m.body = body.share();
        send(wire, 1, m);
        m = {};
        body.fill(-1);  // copy on write: what is under way stays
      }
    } else {
      for (Iter k = 0; k < 10; ++k) EXPECT_TRUE(whole(next(wire), 500'000));
    }
    wire.close(seconds(10));
  });
}

TEST_P(WireTest, RefusesWhatItHasNoRoomForAndSaysWhenItHas) {
  std::atomic<bool> full = false;
  run(2, [&](Wire& wire, int r) {
    const int all = 700;
    if (r == 0) {
      Message m = message_of(kData, 0, 20'000);
      for (; m.iter < all; ++m.iter) {
        while (!wire.try_send(1, m)) {
          full = true;
          wire.wait(std::chrono::hours(1));  // returns when there is room
        }
      }
    } else {
      for (int i = 0; i < 100 && !full; ++i) std::this_thread::sleep_for(milliseconds(1));
      for (Iter k = 0; k < all; ++k) EXPECT_EQ(next(wire).iter, k);
    }
    wire.close(seconds(30));
  });
  EXPECT_TRUE(full);
}

TEST_P(WireTest, WakesAWaiter) {
  std::atomic<bool> done = false;
  run(2, [&](Wire& wire, int r) {
    if (r == 0) {
      wire.wake();
      wire.wait(std::chrono::hours(1));  // woken before
      std::thread other([&] { wire.wake(); });
      wire.wait(std::chrono::hours(1));
      other.join();
      const auto before = std::chrono::steady_clock::now();
      wire.wait(milliseconds(20));
      EXPECT_GE(std::chrono::steady_clock::now() - before, milliseconds(15)) << "a wake counts once";
      done = true;
    }
    while (!done) std::this_thread::sleep_for(milliseconds(1));
    wire.close(seconds(10));
  });
}

TEST_P(WireTest, SaysByeAfterTheLastMessage) {
  run(3, [](Wire& wire, int r) {
    for (int to : others(3, r)) {
      for (Iter k = 0; k < 20; ++k) send(wire, to, message_of(kData, k, k == 19 ? 300'000 : 2));
    }
    std::map<int, Iter> expected;
    for (bool bye = r == 0; !bye;) {  // rank 0 closes at once; the others wait for its bye
      const Message m = next(wire);
      if (m.kind == kBye) {
        EXPECT_EQ(expected[m.from], 20);
        bye = m.from == 0;
      } else {
        EXPECT_EQ(m.iter, expected[m.from]++);
      }
    }
    wire.close(seconds(20));
  });
}

TEST_P(WireTest, DeliversAllThatWasSentToAPeerThatClosedEarlier) {
  run(2, [](Wire& wire, int r) {
    if (r == 0) {
      wire.close(seconds(20));
      for (Iter k = 0; k < 30; ++k) EXPECT_EQ(next(wire).iter, k);
      EXPECT_EQ(next(wire).kind, kBye);
      return;
    }
    EXPECT_EQ(next(wire).kind, kBye);
    Message m = message_of(kData, 0, 500'000);
    for (; m.iter < 30; ++m.iter) send(wire, 0, m);
    wire.close(seconds(20));
  });
}

TEST_P(WireTest, DoesNotRepeatAByeThatWasSent) {
  run(2, [](Wire& wire, int r) {
    if (r == 0) {
      send(wire, 1, message_of(kBye, 0));
      send(wire, 1, message_of(kData, 1));  // of a responder that goes on
      wire.close(seconds(10));
      return;
    }
    EXPECT_EQ(next(wire).kind, kBye);
    EXPECT_EQ(next(wire).kind, kData);
    wire.close(seconds(10));
    EXPECT_FALSE(wire.poll().has_value());
  });
}

TEST_P(WireTest, SaysThatAPeerIsGoneThatDidNotClose) {
  std::atomic<int> heard = 0;
  run(3, [&](Wire& wire, int r) {
    if (r == 2) return;  // destroyed without a word
    const Message gone = next(wire);
    EXPECT_EQ(gone.kind, kGone);
    EXPECT_EQ(gone.from, 2);
    for (int i = 0; i < 50; ++i) EXPECT_TRUE(wire.try_send(2, message_of(kData, i, 5000))) << "vanishes";
    ++heard;
    while (heard < 2) std::this_thread::sleep_for(milliseconds(1));
    send(wire, 1 - r, message_of(kData, 1));  // other pairs go on
    EXPECT_EQ(next(wire).kind, kData);
    wire.close(seconds(10));
  });
}

TEST_P(WireTest, IsDestroyedInTheMiddleOfThings) {
  for (int repeat = 0; repeat < 5; ++repeat) {
    run(3, [](Wire& wire, int r) {
      const Message large = message_of(kData, 0, 500'000);
      for (int i = 0; i < 20; ++i) {
        for (int to : others(3, r)) wire.try_send(to, large);
      }
      if (r > 0) wire.wait(milliseconds(r));
    });
  }
}

TEST_P(WireTest, ClosesWithinItsTimeThoughAPeerSaysNothing) {
  std::atomic<bool> closed = false;
  run(2, [&](Wire& wire, int r) {
    if (r == 0) {
      wire.close(milliseconds(50));
      closed = true;
    } else {
      while (!closed) std::this_thread::sleep_for(milliseconds(1));
    }
  });
}

/// Only Gloo receives bodies ahead.
class EagerWireTest : public WireTest {
 protected:
  /// Returns how many bodies of these sizes their sender had to be asked for.
  std::int64_t awaited(const std::vector<std::size_t>& sizes) {
    std::int64_t count = -1;
    run(2, [&](Wire& wire, int r) {
      for (const std::size_t floats : sizes) {
        if (r == 0) {
          send(wire, 1, message_of(kData, 7, floats));
        } else {
          EXPECT_TRUE(whole(next(wire), floats)) << floats;
        }
      }
      wire.close(seconds(10));
      if (r == 0) count = wire.awaited_bodies();
    });
    return count;
  }
};
INSTANTIATE_TEST_SUITE_P(Over, EagerWireTest, testing::Values("gloo"), [](const auto& test) { return test.param; });

TEST_P(EagerWireTest, AsksForBodiesThatDoNotFitOnly) {
  const std::vector<std::size_t> sizes = {100, 60'000, 100'000, 262'144, 262'145, 20'000, 262'144, 262'144, 262'144};
  EXPECT_EQ(awaited(sizes), 1) << "a MiB fits";
  eager_bytes = std::size_t{1} << 19;  // two of 65 536 floats
  EXPECT_EQ(awaited(sizes), 6);
  eager_bytes = 0;
  EXPECT_EQ(awaited(sizes), 8) << "all but those in frames";
}

TEST_P(EagerWireTest, MakesRoomAgainForBodiesThatAreKept) {
  constexpr std::size_t kFloats = 200'000;
  run(2, [](Wire& wire, int r) {
    std::vector<Message> kept;
    for (Iter k = 0; k < 100; ++k) {
      send(wire, 1 - r, message_of(kData, k, kFloats));
      Message message = next(wire);
      EXPECT_EQ(message.iter, k);
      if (k % 10 == 0) kept.push_back(std::move(message));
    }
    for (const Message& message : kept) EXPECT_TRUE(whole(message, kFloats)) << message.iter;
    wire.close(seconds(10));
    EXPECT_EQ(wire.awaited_bodies(), 0);
  });
}

/// Connects to every address that is made known in the first round, before the peer does.
class Stranger {
 public:
  ~Stranger() {
    for (int fd : sockets_) close(fd);
  }
  void meet(int from, int to, const std::string& blob) {
    const std::lock_guard lock(mutex_);
    if (!met_.insert({from, to}).second) return;  // of a pair's later rounds it knows nothing
    sockaddr_in address{};
    constexpr std::size_t kBefore = 16 + 8;  // a token, and what the wire has room for
    ASSERT_GT(blob.size(), kBefore + sizeof address);
    std::memcpy(&address, blob.data() + kBefore, sizeof address);
    ASSERT_EQ(address.sin_family, AF_INET);
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) sockets_.push_back(fd);
  }
  std::size_t connections() const { return sockets_.size(); }

 private:
  std::mutex mutex_;
  std::set<std::pair<int, int>> met_;
  std::vector<int> sockets_;
};

/// Only the wires that listen on sockets.
class ListeningWireTest : public WireTest {};
INSTANTIATE_TEST_SUITE_P(Over, ListeningWireTest, testing::Values("gloo", "emulated_gloo"),
                         [](const auto& test) { return test.param; });

TEST_P(ListeningWireTest, SurvivesAStrangerWhoConnectsFirst) {
  Stranger stranger;
  room.seen = [&](int from, int to, const std::string& blob) {
    if (from != 2) stranger.meet(from, to, blob);  // the pair of ranks 0 and 1 and their sides of others
  };
  run(
      3,
      [](Wire& wire, int r) {
        for (int to : others(3, r)) send(wire, to, message_of(kData, r));
        for (int i = 0; i < 2; ++i) {
          const Message m = next_data(wire);
          EXPECT_EQ(m.iter, m.from);
        }
        wire.close(seconds(10));
      },
      seconds(4));
  EXPECT_GT(stranger.connections(), 0u);
}

TEST(WireRegistry, NamesWhatItKnows) {
  EXPECT_STREQ(find_transport("gloo").name, "gloo");
  try {
    find_transport("glo");
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ExitCode::kUsage);
    EXPECT_NE(std::string(e.what()).find("gloo"), std::string::npos);
  }
}

TEST(GlooWire, SaysThatAnInterfaceIsUnknown) {
  const Transport& gloo = find_transport("gloo");
  if (!gloo.unavailable().empty()) GTEST_SKIP() << gloo.unavailable();
  Room room;
  Seat seat(room, 0);
  try {
    gloo.connect({.rank = 0, .size = 1, .peers = {}, .interface = "nowhere0"}, seat);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ExitCode::kEnvironment);
  }
}

INSTANTIATE_TEST_SUITE_P(Over, WireTest, testing::ValuesIn(wire_names()), [](const auto& test) { return test.param; });

}  // namespace
}  // namespace hopbench
