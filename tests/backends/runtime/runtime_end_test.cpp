// Virtual time: how a run ends, well or badly, and how ranks leave it.

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "backends/base/record/event.h"
#include "tests/backends/runtime/simulation_fixture.h"

namespace hopbench {
namespace {

class SimulationEnd : public SimulationTest {};
INSTANTIATE_TEST_SUITE_P(Kinds, SimulationEnd, testing::Values(StrandKind::kFibers, StrandKind::kThreads), kind_name);

// --- The end of a run

TEST_P(SimulationEnd, StopsServersOnceTheWorkersHaveReturned) {
  make_lan(3);
  bool stopped = false;
  int served = 0;
  for (int r = 0; r < 2; ++r) {
    sim_->start(r, [&, r] {
      for (Iter k = 0; k < 3; ++k) {
        rank(r).post(2, {.kind = kPing, .iter = k, .bytes = 10});
        recv(r, is(kPong, k));
      }
      rank(r).post(2, {.kind = kPing, .iter = 3, .bytes = 10});  // still served after the body has returned
    });
  }
  sim_->start(
      2,
      [&] {
        try {
          for (;;) {
            const Message m = recv(2, is(kPing));
            ++served;
            rank(2).post(m.from, {.kind = kPong, .iter = m.iter, .bytes = 10});
          }
        } catch (const Stop&) {
          stopped = true;
          throw;
        }
      },
      false);
  sim_->run();
  EXPECT_TRUE(stopped);
  EXPECT_EQ(served, 8);
}

TEST_P(SimulationEnd, KeepsServingFromASecondStrandAfterTheBodyHasReturned) {
  make_lan(2);
  sim_->start(0, [&] {
    rank(0).spawn([&] {
      for (;;) {
        const Message m = recv(0, is(kPing));
        rank(0).post(m.from, {.kind = kPong, .bytes = 10});
      }
    });
  });
  sim_->start(1, [&] {
    sleep(1, milliseconds(50));
    rank(1).post(0, {.kind = kPing, .bytes = 10});
    recv(1, is(kPong));
  });
  sim_->run();
}

TEST_P(SimulationEnd, DoesNotWaitForTheTimersOfServers) {
  make(2);
  sim_->start(0, [&] { sleep(0, milliseconds(3)); });
  int rounds = 0;
  const auto poll_for_ever = [&] {
    for (;; ++rounds) sleep(1, milliseconds(1));
  };
  sim_->start(1, poll_for_ever, false);
  sim_->run();
  EXPECT_EQ(sim_->now(), at_ms(3));
  EXPECT_LE(rounds, 3);
}

TEST_P(SimulationEnd, ReportsADeadlock) {
  make(3);
  sim_->start(0, [&] {
    sleep(0, milliseconds(40));
    rank(0).spawn([&] { rank(0).await(never, kNever, "requests"); });
    rank(0).await(never, kNever, "a token from a slower neighbour");
  });
  sim_->start(1, [&] { rank(1).occupy({.cost = milliseconds(60)}); });
  sim_->start(
      2, [&] { rank(2).await(never, kNever, "pushes"); }, false);
  sim_->describe_with([](int r) { return "iteration " + std::to_string(r + 3); });
  EXPECT_EQ(failure(),
            "deadlock at t=0.060 s\n"
            "  rank 0 waits for a token from a slower neighbour, for 0.020 s: iteration 3\n"
            "  rank 0 waits for requests, for 0.020 s: iteration 3\n"
            "  rank 2 waits for pushes, for 0.060 s: iteration 5");
}

TEST_P(SimulationEnd, ReportsARunThatOnlyPolls) {
  make(1);
  sim_->start(0, [&] {
    for (;;) sleep(0, milliseconds(1));
  });
  EXPECT_NE(failure().find("rank 0 waits for sleep"), std::string::npos);
}

TEST_P(SimulationEnd, NamesTheRankWhoseBodyThrewAndEndsTheOthers) {
  make(3);
  int unwound = 0;
  struct Guard {
    int& count;
    ~Guard() { ++count; }
  };
  for (int r = 0; r < 2; ++r) {
    sim_->start(r, [&, r] {
      Guard guard{unwound};
      rank(r).await(never, kNever, "anything");
    });
  }
  sim_->start(2, [&] {
    sleep(2, milliseconds(1));
    throw Error(ExitCode::kEnvironment, "no such file");
  });
  try {
    sim_->run();
    FAIL();
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "rank 2: no such file");
    EXPECT_EQ(e.code(), ExitCode::kEnvironment);
  }
  EXPECT_EQ(unwound, 2);
}

TEST_P(SimulationEnd, NamesTheRankForAnyOtherExceptionToo) {
  make(1);
  sim_->start(0, [] { throw std::out_of_range("index 9"); });
  EXPECT_EQ(failure(), "rank 0: index 9");
}

TEST_P(SimulationEnd, EndsWithTheExceptionOfAnObserver) {
  struct Checker : Observer {
    void on(const Event&) override {}
    void settled(Time t) override {
      if (t >= at_ms(5)) throw trial_error("the lead is 6 under max_ig = 4");
    }
  } checker;
  make(1, &checker);
  sim_->start(0, [&] {
    for (int i = 0; i < 100; ++i) sleep(0, milliseconds(1));
  });
  EXPECT_EQ(failure(), "the lead is 6 under max_ig = 4");
  EXPECT_EQ(sim_->now(), at_ms(5));
}

TEST_P(SimulationEnd, RunsActionsAtTheirTimes) {
  make(1);
  std::string said;
  sim_->at(at_ms(2), [&] { said += "b"; });
  sim_->at(at_ms(1), [&] {
    said += "a";
    sim_->at(at_ms(2), [&] { said += "c"; });
  });
  sim_->start(0, [] {});
  sim_->run();
  EXPECT_EQ(said, "abc");
}

// --- Departures

TEST_P(SimulationEnd, SaysByeAfterTheLastMessageAndToPeersOnly) {
  make_lan(4);
  sim_->connect(0, 1);
  sim_->connect(2, 1);
  sim_->connect(2, 3);
  std::string heard;
  sim_->start(0, [&] { rank(0).post(1, {.kind = kPing, .bytes = 1'000'000}); });
  sim_->start(1, [&] {
    recv(1, is_from(kBye, 2));
    EXPECT_EQ(rank(1).mailbox.size(), 0U);
    recv(1, is_from(kBye, 0));
    EXPECT_TRUE(rank(1).mailbox.has(is_from(kPing, 0)));
  });
  sim_->start(2, [] {});
  sim_->start(3, [&] {
    recv(3, is_from(kBye, 2));
    sleep(3, milliseconds(5000));
    EXPECT_EQ(rank(3).mailbox.size(), 0U);
  });
  sim_->run();
  EXPECT_EQ(sim_->messages_delivered(), 1);
}

TEST_P(SimulationEnd, SaysByeForAServerThatWasStopped) {
  make_lan(2);
  bool heard = false;
  sim_->start(0, [&] {
    rank(0).spawn([&] {
      recv(0, is_from(kBye, 1));
      heard = true;
    });
  });
  sim_->start(
      1, [&] { rank(1).await(never, kNever, "pushes"); }, false);
  sim_->run();
  EXPECT_TRUE(heard);
}

TEST_P(SimulationEnd, EndsTheStrandsOfAKilledRankAndTellsItsPeersAfterItsLastMessage) {
  for (const int threads : {1, 2}) {
    make(2, nullptr, threads);
    sim_->use(make_network(lan(), 2, *sim_, 1, 0));
    int ended = 0;
    const auto until_stopped = [&](const auto& body) {
      try {
        body();
        FAIL() << "it went on";
      } catch (const Stop&) {
        ++ended;
        throw;
      }
    };
    sim_->start(0, [&] {
      rank(0).post(1, {.kind = kPing, .bytes = 50'000});
      rank(0).spawn([&] { until_stopped([&] { rank(0).await(never, kNever, "requests"); }); });
      rank(0).spawn([&] { until_stopped([&] { sleep(0, milliseconds(20)), sleep(0, milliseconds(20)); }); });
      until_stopped([&] {
        std::vector<int> mine(100, 1);  // the job refers to it
        rank(0).occupy({.cost = milliseconds(100), .job = [&](const auto&) { mine.back() = 2; }});
      });
    });
    sim_->start(1, [&] {
      recv(1, is(kGone));
      EXPECT_EQ(rank(1).now(), Time{} + milliseconds(51) + microseconds(kHeaderBytes));
      EXPECT_TRUE(rank(1).mailbox.has(is(kPing)));
      rank(1).post(0, {.kind = kPing, .bytes = 5});  // vanishes
    });
    sim_->kill(0, at_ms(30));
    sim_->run();
    EXPECT_EQ(ended, 3);
  }
}

TEST_P(SimulationEnd, KillsARankInTheMiddleOfWorkThatDoesNotYield) {
  make(2);
  sim_->start(0, [&] {
    rank(0).occupy({.cost = milliseconds(100), .yields = false});
    FAIL() << "it went on";
  });
  sim_->start(1, [&] {
    recv(1, is(kGone));
    EXPECT_EQ(rank(1).now(), at_ms(30));
  });
  sim_->kill(0, at_ms(30));
  sim_->run();
}

TEST_P(SimulationEnd, LeavesNoGoneOfARankThatHadSaidBye) {
  make(2);
  sim_->start(0, [] {});
  sim_->start(1, [&] {
    sleep(1, milliseconds(50));
    EXPECT_TRUE(rank(1).mailbox.has(is(kBye)));
    EXPECT_FALSE(rank(1).mailbox.has(is(kGone)));
  });
  sim_->kill(0, at_ms(30));
  sim_->run();
}

TEST_P(SimulationEnd, IsNotHeldUpByAKillAfterTheEnd) {
  make(1);
  sim_->start(0, [&] { sleep(0, milliseconds(5)); });
  sim_->kill(0, at_ms(10'000));
  sim_->run();
  EXPECT_EQ(sim_->now(), at_ms(5));
}

TEST_P(SimulationEnd, RefusesAPostToARankThatIsNoPeer) {
  make(3);
  sim_->connect(0, 1);
  for (int r = 0; r < 3; ++r) sim_->start(r, [&, r] { rank(r).post(2, {.kind = kPing}); });
  EXPECT_EQ(failure(), "rank 0: no message to rank 2: it is not a peer: the protocol's links must name this pair");
}

}  // namespace
}  // namespace hopbench
