// Virtual time: messages and waits.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/backends/runtime/simulation_fixture.h"

namespace hopbench {
namespace {

class SimulationTurns : public SimulationTest {};
INSTANTIATE_TEST_SUITE_P(Kinds, SimulationTurns, testing::Values(StrandKind::kFibers, StrandKind::kThreads), kind_name);

// --- Messages

TEST_P(SimulationTurns, CarriesAMessageInLatencyPlusBytesOverBandwidth) {
  make_lan(2);
  sim_->start(0, [&] { rank(0).post(1, {.kind = kPing, .iter = 7, .words = {4, 5}, .bytes = 10'000}); });
  sim_->start(1, [&] {
    const Message m = recv(1, is(kPing, 7));
    EXPECT_EQ(rank(1).now(), at_ms(11));
    EXPECT_EQ(m.from, 0);
    EXPECT_EQ(m.words[1], 5);
  });
  sim_->run();
  EXPECT_EQ(sim_->messages_delivered(), 1);
}

TEST_P(SimulationTurns, ChargesBodyAndHeaderWhereTheSenderNamedNoBytes) {
  make_lan(2, Duration{}, 1e6);
  sim_->start(0, [&] { rank(0).post(1, {.kind = kPing, .body = Vec(1000).share()}); });
  sim_->start(1, [&] {
    EXPECT_EQ(recv(1, is(kPing)).bytes, 4000 + kHeaderBytes);
    EXPECT_EQ(rank(1).now(), Time{} + microseconds(4000 + kHeaderBytes));
  });
  sim_->run();
}

TEST_P(SimulationTurns, DeliversToItselfWithoutTheNetwork) {
  make_lan(1);
  sim_->start(0, [&] {
    rank(0).post(0, {.kind = kPing, .bytes = 1'000'000});
    EXPECT_FALSE(rank(0).mailbox.has(is(kPing)));  // only when the turn is given away
    EXPECT_EQ(recv(0, is(kPing)).from, 0);
    EXPECT_EQ(rank(0).now(), Time{});
  });
  sim_->run();
}

TEST_P(SimulationTurns, KeepsEachPairsOrderWhateverTheSizes) {
  make(3);
  NetworkSpec spec = lan();
  spec.packet_bytes = 1500;
  spec.jitter = 2.0;
  sim_->use(make_network(spec, 3, *sim_, 1, 0));
  for (int r = 0; r < 2; ++r) {
    sim_->start(r, [&, r] {
      for (Iter k = 0; k < 200; ++k) {
        rank(r).post(2, {.kind = kPing, .iter = k, .bytes = k % 3 == 0 ? 50'000 : 200});
        if (k % 7 == 0) sleep(r, milliseconds(20));
      }
    });
  }
  sim_->start(2, [&] {
    Iter next[2] = {};
    for (int i = 0; i < 400; ++i) {
      const Message m = recv(2, is(kPing));
      EXPECT_EQ(m.iter, next[m.from]++);
    }
  });
  sim_->run();
}

// --- Waiting

TEST_P(SimulationTurns, ReturnsAtOnceWhereTheConditionHolds) {
  make(1);
  sim_->start(0, [&] {
    EXPECT_TRUE(rank(0).await([] { return true; }, Time{}, "nothing"));
    EXPECT_FALSE(rank(0).await(never, Time{}, "the past"));
    EXPECT_EQ(rank(0).now(), Time{});
  });
  sim_->run();
}

TEST_P(SimulationTurns, WaitsUntilADeadlineOrAMessageWhicheverIsFirst) {
  make_lan(2, milliseconds(10), 0);
  sim_->start(0, [&] {
    sleep(0, milliseconds(30));
    rank(0).post(1, {.kind = kPing});
  });
  sim_->start(1, [&] {
    const auto ping = [&] { return rank(1).mailbox.has(is(kPing)); };
    EXPECT_FALSE(rank(1).await(ping, at_ms(25), "a ping"));
    EXPECT_EQ(rank(1).now(), at_ms(25));
    EXPECT_TRUE(rank(1).await(ping, at_ms(90), "a ping"));
    EXPECT_EQ(rank(1).now(), at_ms(40));
    sleep(1, milliseconds(100));  // the old deadline must not end this one
    EXPECT_EQ(rank(1).now(), at_ms(140));
  });
  sim_->run();
}

TEST_P(SimulationTurns, TakesReadyForReadyWhenTheDeadlineComesAtTheSameTime) {
  make_lan(2, milliseconds(10), 0);
  sim_->start(0, [&] { rank(0).post(1, {.kind = kPing}); });
  sim_->start(1, [&] {
    EXPECT_TRUE(rank(1).await([&] { return rank(1).mailbox.has(is(kPing)) || rank(1).now() >= at_ms(10); }, at_ms(10),
                              "either"));
  });
  sim_->run();
}

TEST_P(SimulationTurns, LooksAtConditionsAgainAfterAnyStrandOfTheRank) {
  make(1);
  bool open = false;
  std::string said;
  sim_->start(0, [&] {
    rank(0).spawn([&] {
      rank(0).await([&] { return open; }, kNever, "the gate");
      said += "through ";
    });
    sleep(0, milliseconds(5));
    open = true;
    said += "opened ";
    sleep(0, milliseconds(5));
    said += "end";
  });
  sim_->run();
  EXPECT_EQ(said, "opened through end");
}

TEST_P(SimulationTurns, GivesSpawnedStrandsTheirFirstTurnInOrderOnceTheCallerWaits) {
  make(1);
  std::string said;
  sim_->start(0, [&] {
    for (const char* name : {"a", "b", "c"}) {
      rank(0).spawn([&, name] {
        said += name;
        rank(0).spawn([&, name] { said += std::string(name) + "'"; });
      });
    }
    said += "-";
    sleep(0, Duration{1});
    said += ".";
  });
  sim_->run();
  EXPECT_EQ(said, "-abca'b'c'.");
}

TEST_P(SimulationTurns, ServesTheOldestWaitFirst) {
  make(1);
  std::string said;
  int permits = 0;
  const auto wait = [&](const char* name) {
    return [&, name] {
      for (int i = 0; i < 2; ++i) {
        rank(0).await([&] { return permits > 0; }, kNever, "a permit");
        --permits;
        said += name;
      }
    };
  };
  sim_->start(0, [&] {
    rank(0).spawn(wait("a"));
    rank(0).spawn(wait("b"));
    for (int i = 0; i < 4; ++i) {
      sleep(0, milliseconds(1));
      permits = 1;
    }
  });
  sim_->run();
  EXPECT_EQ(said, "abab");
}

TEST_P(SimulationTurns, KeepsTenThousandTimersApart) {
  const int ranks = GetParam() == StrandKind::kFibers ? 100 : 3, timers = 100;
  make(ranks);
  int fired = 0;
  Time last{};
  for (int r = 0; r < ranks; ++r) {
    sim_->start(r, [&, r] {
      for (int i = 0; i < timers; ++i) {
        rank(r).spawn([&, r, i] {
          const Time due = Time{} + microseconds((r * timers + i) * 7919 % 10'007);
          EXPECT_FALSE(rank(r).await(never, due, "a timer"));
          EXPECT_EQ(rank(r).now(), due);
          EXPECT_GE(rank(r).now(), last);
          last = rank(r).now();
          ++fired;
        });
      }
      sleep(r, milliseconds(11));
    });
  }
  sim_->run();
  EXPECT_EQ(fired, ranks * timers);
}

TEST_P(SimulationTurns, PassesAnExceptionOfTheConditionToTheStrandThatWaits) {
  make_lan(2);
  sim_->start(0, [&] { rank(0).post(1, {.kind = kPing, .bytes = 1}); });
  sim_->start(1, [&] {
    const auto gone = [&]() -> bool {
      if (rank(1).mailbox.has(is(kPing))) throw trial_error("rank 0 died");
      return false;
    };
    EXPECT_THROW(rank(1).await(gone, kNever, "anything"), Error);
    sleep(1, milliseconds(1));  // and the strand goes on
  });
  sim_->run();
}

}  // namespace
}  // namespace hopbench
