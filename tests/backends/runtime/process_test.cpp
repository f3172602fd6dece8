// ProcessRuntime over a wire in memory, with threads as ranks.
#include "backends/runtime/process/process.h"
#include "backends/base/record/event.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "backends/base/error.h"
#include "tests/backends/runtime/process_ranks.h"

namespace hopbench {
namespace {

using std::chrono::milliseconds;

constexpr Kind kData{1}, kAsk{2}, kAnswer{3};

TEST(ProcessRuntime, LetsOneStrandRunAtATime) {
  LoopbackHub hub;
  Rank self(hub, alone());
  int inside = 0, most = 0, turns = 0;  // plain ints: a sanitizer sees who touches them without the baton
  const auto strand = [&] {
    for (int i = 0; i < 50; ++i) {
      most = std::max(most, ++inside);
      ++turns;
      --inside;
      self.runtime.occupy({.cost = milliseconds(0), .job = [](const auto&) {}, .milestones = {}});
      self.runtime.await([] { return false; }, self.runtime.now() + std::chrono::microseconds(50), "a moment");
    }
  };
  self.runtime.run([&] {
    for (int s = 0; s < 3; ++s) self.runtime.spawn(strand);
    strand();
    self.runtime.await([&] { return turns == 200; }, kNever, "the others");
  });
  EXPECT_EQ(turns, 200);
  EXPECT_EQ(most, 1);
}

TEST(ProcessRuntime, KeepsTheOrderOfEachSender) {
  Ranks ranks(3);
  ranks.run([](Rank& self, int r) {
    if (r != 0) {
      for (Iter k = 0; k < 100; ++k) self.runtime.post(0, message_of(kData, k));
      return;
    }
    Iter next[3] = {};
    for (int i = 0; i < 200; ++i) {
      const Message m = self.recv(is(kData));
      EXPECT_EQ(m.iter, next[m.from]++);
      EXPECT_EQ(m.bytes, kHeaderBytes);
    }
  });
}

TEST(ProcessRuntime, KeepsWhatTheWireHasNoRoomFor) {
  Ranks ranks(2);
  ranks.hub.end(1).room = 2;
  ranks.run([](Rank& self, int r) {
    if (r == 0) {
      for (Iter k = 0; k < 50; ++k) self.runtime.post(1, message_of(kData, k));
      return;  // with most of them unsent: the rank ends only when they are
    }
    for (Iter k = 0; k < 50; ++k) EXPECT_EQ(self.recv(is(kData)).iter, k);
  });
}

TEST(ProcessRuntime, EndsOnlyWhenAllIsSent) {
  Ranks ranks(2, 1);  // a server, whose end nobody waits for
  ranks.hub.end(1).room = 2;
  int received = 0;
  ranks.run([&received](Rank& self, int r) {
    if (r == 0) {
      for (Iter k = 0; k < 50; ++k) self.runtime.post(1, message_of(kData, k));
      return;
    }
    for (;; ++received) self.recv(is(kData));
  });
  EXPECT_EQ(received, 50);
}

TEST(ProcessRuntime, DeliversToItself) {
  LoopbackHub hub;
  Rank self(hub, alone());
  self.runtime.run([&] {
    self.runtime.post(0, message_of(kData, 7));
    EXPECT_EQ(self.recv(is(kData)).from, 0);
  });
}

TEST(ProcessRuntime, ReturnsFalseAtTheDeadline) {
  LoopbackHub hub;
  Rank self(hub, alone());
  self.runtime.run([&] {
    const Time deadline = self.runtime.now() + milliseconds(20);
    EXPECT_FALSE(self.runtime.await([] { return false; }, deadline, "nothing"));
    EXPECT_GE(self.runtime.now(), deadline);
    EXPECT_TRUE(self.runtime.await([] { return true; }, deadline, "what is there")) << "ready wins over the deadline";
  });
}

TEST(ProcessRuntime, StartsAtTheTrialsStart) {
  LoopbackHub hub;
  ProcessOptions options = alone();
  const auto start = std::chrono::steady_clock::now() + milliseconds(30);
  options.start_monotonic_ns = Duration(start.time_since_epoch()).count();
  Rank self(hub, options);
  self.runtime.run([&] { EXPECT_GE(self.runtime.now(), Time{}); });
  EXPECT_GE(std::chrono::steady_clock::now(), start);
}

TEST(ProcessRuntime, WakesAStrandWhenAnotherMakesItReady) {
  LoopbackHub hub;
  Rank self(hub, alone());
  int baton_passes = 0;
  self.runtime.run([&] {
    bool ping = false;
    self.runtime.spawn([&] {
      for (int i = 0; i < 100; ++i) {
        self.runtime.await([&] { return ping; }, kNever, "ping");
        ping = false;
        ++baton_passes;
      }
    });
    for (int i = 0; i < 100; ++i) {
      ping = true;
      self.runtime.await([&] { return !ping; }, kNever, "pong");
    }
  });
  EXPECT_EQ(baton_passes, 100);
}

TEST(ProcessRuntime, AnswersWhileItComputes) {
  Ranks ranks(2);
  std::atomic<bool> computing = true;
  ranks.run([&computing](Rank& self, int r) {
    if (r == 0) {
      self.runtime.spawn([&self] {  // ended by Stop
        while (true) {
          const Message ask = self.recv(is(kAsk), "a question");
          self.runtime.post(ask.from, message_of(kAnswer, ask.iter));
        }
      });
      const auto job = [](const auto&) { std::this_thread::sleep_for(milliseconds(300)); };
      self.runtime.occupy({.cost = milliseconds(300), .job = job, .milestones = {}});
      computing = false;
      return;
    }
    self.runtime.post(0, message_of(kAsk, 1));
    self.recv(is(kAnswer));
    EXPECT_TRUE(computing);
  });
}

TEST(ProcessRuntime, AnswersThoughTheStrandThatPolledIsGone) {
  Ranks ranks(2);
  std::atomic<bool> answered = false;
  ranks.run([&answered](Rank& self, int r) {
    if (r == 1) {
      self.runtime.post(0, message_of(kData, 0));
      self.recv(is(kData), "the other to compute");
      self.runtime.post(0, message_of(kAsk, 1));
      self.recv(is(kAnswer));
      answered = true;
      return;
    }
    self.runtime.spawn([&self] {  // waits second, so it does not poll at first
      while (true) {
        const Message ask = self.recv(is(kAsk), "a question");
        self.runtime.post(ask.from, message_of(kAnswer, ask.iter));
      }
    });
    self.recv(is(kData));
    self.runtime.post(1, message_of(kData, 0));
    const auto until_answered = [&](const auto&) {
      for (int i = 0; i < 20'000 && !answered; ++i) std::this_thread::sleep_for(milliseconds(1));
    };
    self.runtime.occupy({.cost = milliseconds(0), .job = until_answered, .milestones = {}});
    EXPECT_TRUE(answered);
  });
}

TEST(ProcessRuntime, AnswersAfterItsBodyReturned) {
  Ranks ranks(2);
  ranks.run([](Rank& self, int r) {
    if (r == 0) {
      self.runtime.spawn([&self] {
        while (true) {
          const Message ask = self.recv(is(kAsk), "a question");
          self.runtime.post(ask.from, message_of(kAnswer, ask.iter));
        }
      });
      return;
    }
    self.recv(is(kBye), "the other's end");
    self.runtime.post(0, message_of(kAsk, 1));
    EXPECT_EQ(self.recv(is(kAnswer)).iter, 1);
  });
}

TEST(ProcessRuntime, StopsServersWhenAllWorkersHaveFinished) {
  Ranks ranks(4, 2);  // two servers, connected to each other as well
  int served[4] = {};
  ranks.run([&served](Rank& self, int r) {
    if (r < 2) {
      for (Iter k = 0; k < 5; ++k) {
        for (int server : {2, 3}) self.runtime.post(server, message_of(kAsk, k));
        for (int i = 0; i < 2; ++i) self.recv(is(kAnswer));
      }
      return;
    }
    while (true) {
      const Message ask = self.recv(is(kAsk), "a worker");
      ++served[r];
      self.runtime.post(ask.from, message_of(kAnswer, ask.iter));
    }
  });
  EXPECT_EQ(served[2], 10);
  EXPECT_EQ(served[3], 10);
}

TEST(ProcessRuntime, ThrowsWhatASpawnedStrandThrew) {
  LoopbackHub hub;
  Rank self(hub, rank_of(2, 0));
  try {
    self.runtime.run([&] {
      self.runtime.spawn([] { throw trial_error("the responder broke"); });
      self.recv(is(kData), "what never comes");
    });
    FAIL();
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "the responder broke");
  }
}

TEST(ProcessRuntime, ThrowsWhatAPredicateThrewInItsOwnStrand) {
  LoopbackHub hub;
  Rank self(hub, rank_of(2, 0));
  bool broken = false, caught = false;
  self.runtime.run([&] {
    self.runtime.spawn([&] {
      try {
        self.runtime.await([&]() -> bool { return broken ? throw trial_error("lost") : false; }, kNever, "it");
      } catch (const Error&) {
        caught = true;
      }
      LoopbackWire(hub, 1).try_send(0, message_of(kBye, 0));
    });
    self.runtime.occupy({.cost = milliseconds(20), .job = {}, .milestones = {}});  // meanwhile it waits
    broken = true;
  });
  EXPECT_TRUE(caught);
}

TEST(ProcessRuntime, EndsBeforeItsTimeWhenAsked) {
  LoopbackHub hub;
  Rank self(hub, rank_of(2, 0));
  std::thread other([&] {
    std::this_thread::sleep_for(milliseconds(20));
    self.runtime.end();
  });
  EXPECT_THROW(self.runtime.run([&] {
    self.runtime.spawn([&] { self.runtime.occupy({.cost = std::chrono::hours(1), .job = {}, .milestones = {}}); });
    self.recv(is(kData), "what never comes");
  }),
               Error);
  other.join();
}

TEST(ProcessRuntime, ShowsOnTheBoardWhatItDoes) {
  LoopbackHub hub;
  RankSlot slot;
  ProcessOptions options = alone();
  options.slot = &slot;
  Rank self(hub, options);
  self.runtime.run([&] {
    EXPECT_EQ(slot.phase, Phase::kRunning);
    Event entered;
    entered.what = EventKind::kEnter;
    entered.iter = 12;
    self.runtime.observer->on(entered);
    EXPECT_EQ(slot.iteration, 12);
    Event gradient;
    gradient.what = EventKind::kGradient;
    for (const int samples : {4, 7}) {
      gradient.count = samples;
      self.runtime.observer->on(gradient);
    }
    EXPECT_EQ(slot.samples, 11);
    const std::int64_t beats = slot.beats;
    self.runtime.occupy({.cost = milliseconds(1),
                         .job = [&](const auto&) { EXPECT_EQ(slot.phase, Phase::kComputing); },
                         .milestones = {}});
    EXPECT_GT(slot.beats, beats);
    self.runtime.spawn([&] {
      EXPECT_EQ(slot.phase, Phase::kWaiting);
      EXPECT_STREQ(slot.waiting_for, "a token");
    });
    self.runtime.await([] { return false; }, self.runtime.now() + milliseconds(50), "a token");
  });
  EXPECT_EQ(slot.phase, Phase::kFinished);
}

TEST(ProcessRuntime, ShowsOnTheBoardSinceWhenItWaitsWhateverItsRespondersDo) {
  LoopbackHub hub;
  RankSlot slot;
  ProcessOptions options = alone();
  options.slot = &slot;
  Rank self(hub, options);
  self.runtime.run([&] {
    const auto nap = [&](int ms, const Ready& look) {
      self.runtime.await(look, self.runtime.now() + milliseconds(ms), "requests");
    };
    const auto never = [] { return false; };
    self.runtime.spawn([&] {
      nap(20, never);
      nap(200, never);
    });
    self.runtime.spawn([&] {
      Phase phase{};
      std::int64_t since = 0;
      nap(60, [&] {
        phase = slot.phase;
        since = slot.since;
        return false;
      });
      EXPECT_EQ(phase, Phase::kWaiting) << "the other responder waits again";
      const std::int64_t now = Duration(std::chrono::steady_clock::now().time_since_epoch()).count();
      EXPECT_GE(now - since, 60'000'000) << "no wait has begun anew";
    });
    self.runtime.await(never, self.runtime.now() + milliseconds(100), "a token");
  });
}

TEST(ProcessRuntime, ShowsOnTheBoardWhoIsSilentWhileItWaits) {
  LoopbackHub hub;
  RankSlot slot;
  ProcessOptions options = rank_of(30, 0);
  options.slot = &slot;
  Rank self(hub, options);
  const auto say = [&](int peer, Kind kind) { LoopbackWire(hub, peer).try_send(0, message_of(kind, 0)); };
  const auto shows = [&](const std::string& silent) {
    return self.runtime.await([&] { return slot.silent == silent; }, self.runtime.now() + std::chrono::seconds(20),
                              "a token");
  };
  self.runtime.run([&] {
    say(7, kData);
    self.runtime.await([] { return false; }, self.runtime.now() + milliseconds(1), "who was heard before");
    EXPECT_STREQ(slot.silent, "");
    self.runtime.spawn([&] { self.runtime.await([] { return false; }, kNever, "requests"); });
    say(29, kGone);
    for (int peer : {1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 12}) say(peer, kData);
    EXPECT_TRUE(shows("7, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, ...")) << slot.silent;
    EXPECT_STREQ(slot.waiting_for, "a token") << "not what a responder waits for";
    for (int peer = 13; peer < 29; ++peer) say(peer, kBye);
    EXPECT_TRUE(shows("1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12")) << slot.silent << ": who left is not awaited";
    for (int peer = 1; peer < 13; ++peer) say(peer, kBye);
  });
}

TEST(ProcessRuntime, TellsTheObserverOfMessages) {
  struct Log : Observer {
    void on(const Event& event) override { events.push_back(event); }
    std::vector<Event> events;
  } log;
  LoopbackHub hub;
  ProcessOptions options = alone();
  options.observer = &log;
  Rank self(hub, options);
  self.runtime.run([&] {
    self.runtime.mailbox.ignore(is_before(kData, 5));
    for (Iter k : {4, 5}) {
      Message m = message_of(kData, k);
      m.words = {k * 10};
      self.runtime.post(0, std::move(m));
    }
    self.recv(is(kData));
  });
  ASSERT_EQ(log.events.size(), 4u);
  EXPECT_EQ(log.events[0].what, EventKind::kSend);
  EXPECT_EQ(log.events[2].what, EventKind::kDrop);
  EXPECT_EQ(log.events[2].iter, 4);
  EXPECT_EQ(log.events[3].what, EventKind::kDeliver);
  EXPECT_EQ(log.events[3].count, 50);
}

}  // namespace
}  // namespace hopbench
