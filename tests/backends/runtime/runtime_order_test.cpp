// Virtual time: the same events in the same order each time, on fibers and on threads, with any number of pool threads;
// and another order for each --shuffle.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "backends/base/random.h"
#include "backends/base/record/event.h"
#include "tests/backends/runtime/simulation_fixture.h"

namespace hopbench {
namespace {

constexpr int kRanks = 6;
constexpr Iter kIterations = 15;

using Seen = std::tuple<Time, int, EventKind, Iter, int, std::uint16_t, std::int64_t>;

struct Recorder : Observer {
  void on(const Event& e) override {
    events.emplace_back(e.time, e.rank, e.what, e.iter, e.peer, e.kind, e.count);
    unsettled = true;
  }
  void settled(Time t) override {
    EXPECT_TRUE(events.empty() || t >= std::get<Time>(events.back()));
    ++settlings;
    unsettled = false;
  }
  std::vector<Seen> events;
  std::int64_t settlings = 0;
  bool unsettled = false;
};

struct Outcome {
  std::vector<Seen> events;
  std::vector<double> results;
  std::int64_t events_run = 0;
};

/// Everything at once: neighbours exchange vectors and are asked by each other's second strands, while jobs compute,
/// vector operations are charged and deadlines pass.
class Play {
 public:
  explicit Play(SimulationOptions options)
      : sim_([&] {
          options.ranks = kRanks;
          options.observer = &recorder_;
          return options;
        }()) {
    NetworkSpec spec = lan(microseconds(500), 1e7);
    spec.packet_bytes = 1500;
    sim_.use(make_network(spec, kRanks, sim_, 1, 0));
    for (int r = 0; r < kRanks; ++r) {
      sim_.connect(r, (r + 1) % kRanks);
      sim_.start(r, [this, r] { body(r); });
    }
  }
  Outcome run() {
    sim_.run();
    EXPECT_FALSE(recorder_.unsettled);
    return {recorder_.events, results_, sim_.events_run()};
  }

 private:
  void body(int r) {
    Runtime& self = sim_.rank(r);
    const int left = (r + kRanks - 1) % kRanks, right = (r + 1) % kRanks;
    self.spawn([this, &self] { answer(self); });
    for (Iter k = 0; k < kIterations; ++k) {
      Random random({.rank = r, .iteration = k});
      for (const int peer : {left, right}) {
        self.post(peer, {.kind = kPing, .iter = k, .words = {r}, .bytes = 1000 + 30'000 * (k % 2)});
      }
      double& result = results_[static_cast<std::size_t>(r)];
      self.occupy({.cost = microseconds(1000 * (1 + random.below(4))), .job = [&](const auto&) {
                     for (int i = 0; i < 2000; ++i) result = result * 0.999 + i + r;
                   }});
      self.await([&] { return self.mailbox.count(is(kPing, k)) == 2; }, kNever, "pings");
      for (int i = 0; i < 2; ++i) result += static_cast<double>(self.mailbox.take(is(kPing, k))->from);
      self.occupy({.cost = microseconds(random.below(300)), .yields = false});
      self.post(right, {.kind = kPong, .iter = k, .bytes = 100});
      if (random.chance(0.3)) self.await(never, self.now() + microseconds(700), "a nap");
    }
  }
  void answer(Runtime& self) {
    for (;;) {
      if (!self.await([&] { return self.mailbox.has(is(kPong)); }, self.now() + microseconds(900), "requests"))
        continue;
      const Message m = *self.mailbox.take(is(kPong));
      if (m.words.size() == 0) self.post(m.from, {.kind = kPong, .iter = m.iter, .words = {1}, .bytes = 5000});
    }
  }

  Recorder recorder_;
  Simulation sim_;
  std::vector<double> results_ = std::vector<double>(kRanks);
};

Outcome play(SimulationOptions options) { return Play(options).run(); }

TEST(Order, IsTheSameEachTime) {
  const Outcome once = play({}), again = play({});
  EXPECT_GT(once.events.size(), 700U);
  EXPECT_EQ(once.events, again.events);
  EXPECT_EQ(once.results, again.results);
}

TEST(Order, IsTheSameOnFibersAndOnThreads) {
  if (!strand_kind_available(StrandKind::kFibers))
    GTEST_SKIP() << "no fibers in this build: Boost.Context is missing or TSan is on";
  for (const std::uint64_t shuffle : {0, 7}) {
    const Outcome fibers = play({.strands = StrandKind::kFibers, .shuffle = shuffle});
    const Outcome threads = play({.strands = StrandKind::kThreads, .shuffle = shuffle});
    EXPECT_EQ(fibers.events, threads.events);
    EXPECT_EQ(fibers.results, threads.results);
    EXPECT_EQ(fibers.events_run, threads.events_run);
  }
}

TEST(Order, IsTheSameForAnyNumberOfPoolThreads) {
  const Outcome one = play({.threads = 1});
  for (const int threads : {2, 4}) {
    const Outcome many = play({.threads = threads});
    EXPECT_EQ(one.events, many.events);
    EXPECT_EQ(one.results, many.results);
    EXPECT_EQ(one.events_run, many.events_run);
  }
}

TEST(Order, IsThatOfTheClockAcrossAllRanks) {
  const Outcome seen = play({});
  EXPECT_TRUE(std::is_sorted(seen.events.begin(), seen.events.end(),
                             [](const Seen& a, const Seen& b) { return std::get<Time>(a) < std::get<Time>(b); }));
}

TEST(Order, EndsWithEveryMessageDelivered) {
  std::int64_t sent = 0, delivered = 0;
  for (const Seen& e : play({}).events) {
    sent += std::get<EventKind>(e) == EventKind::kSend;
    delivered += std::get<EventKind>(e) == EventKind::kDeliver;
  }
  EXPECT_EQ(sent, kRanks * kIterations * 4);
  EXPECT_EQ(sent, delivered);
}

/// Per pair (and over all kinds) the iterations in which messages were sent, and those in which they arrived.
void expect_order_of_pairs_kept(const std::vector<Seen>& events) {
  std::map<std::pair<int, int>, std::vector<std::pair<Iter, std::uint16_t>>> sent, delivered;
  for (const auto& [time, rank, what, iter, peer, kind, count] : events) {
    if (what == EventKind::kSend) sent[{rank, peer}].emplace_back(iter, kind);
    if (what == EventKind::kDeliver) delivered[{peer, rank}].emplace_back(iter, kind);
  }
  EXPECT_EQ(sent, delivered);
}

TEST(Shuffle, PermutesTheScheduleButKeepsEachPairsOrderAndRepeats) {
  std::set<std::vector<Seen>> schedules;
  for (std::uint64_t shuffle = 0; shuffle < 20; ++shuffle) {
    const Outcome seen = play({.shuffle = shuffle});
    expect_order_of_pairs_kept(seen.events);
    schedules.insert(seen.events);
    EXPECT_EQ(seen.events, play({.shuffle = shuffle}).events);
  }
  EXPECT_EQ(schedules.size(), 20U);
}

TEST(Shuffle, PermutesTiesEvenWhereNothingTakesTime) {
  const auto order_of_arrival = [](std::uint64_t shuffle) {
    Simulation sim({.ranks = 5, .shuffle = shuffle});
    std::string order;
    for (int r = 0; r < 4; ++r) {
      sim.start(r, [&, r] {
        for (Iter k = 0; k < 3; ++k) sim.rank(r).post(4, {.kind = kPing, .iter = k});
      });
    }
    sim.start(4, [&] {
      for (int r = 0; r < 4; ++r) EXPECT_EQ(sim.rank(4).now(), Time{});
      for (int i = 0; i < 12; ++i) {
        sim.rank(4).await([&] { return sim.rank(4).mailbox.has(is(kPing)); }, kNever, "a ping");
        const Message m = *sim.rank(4).mailbox.take(is(kPing));
        EXPECT_EQ(std::count(order.begin(), order.end(), static_cast<char>('0' + m.from)), m.iter);
        order += static_cast<char>('0' + m.from);
      }
    });
    sim.run();
    return order;
  };
  EXPECT_EQ(order_of_arrival(0), "000111222333");
  std::set<std::string> orders;
  for (std::uint64_t shuffle = 1; shuffle <= 30; ++shuffle) orders.insert(order_of_arrival(shuffle));
  EXPECT_GT(orders.size(), 15U);
}

TEST(Shuffle, MakesAMessageAtMostTenPercentLonger) {
  std::set<Time> arrivals;
  for (std::uint64_t shuffle = 1; shuffle <= 40; ++shuffle) {
    Simulation sim({.ranks = 2, .shuffle = shuffle});
    sim.use(make_network(lan(milliseconds(10), 0), 2, sim, 1, 0));
    sim.start(0, [&] { sim.rank(0).post(1, {.kind = kPing}); });
    sim.start(1, [&] {
      sim.rank(1).await([&] { return sim.rank(1).mailbox.has(is(kPing)); }, kNever, "a ping");
      arrivals.insert(sim.rank(1).now());
    });
    sim.run();
  }
  EXPECT_GE(*arrivals.begin(), at_ms(10));
  EXPECT_LE(*arrivals.rbegin(), at_ms(11));
  EXPECT_GT(arrivals.size(), 30U);
}

TEST(Observer, SeesADropWhereTheMailboxIgnores) {
  Recorder recorder;
  Simulation sim({.ranks = 2, .observer = &recorder});
  sim.start(0, [&] {
    for (Iter k = 0; k < 2; ++k) sim.rank(0).post(1, {.kind = kPing, .iter = k, .words = {8}});
  });
  sim.start(1, [&] {
    sim.rank(1).mailbox.ignore(is(kPing, 0));
    sim.rank(1).await([&] { return sim.rank(1).mailbox.has(is(kPing)); }, kNever, "a ping");
  });
  sim.run();
  const Time zero{};
  EXPECT_EQ(recorder.events, (std::vector<Seen>{{zero, 0, EventKind::kSend, 0, 1, 1, 8},
                                                {zero, 0, EventKind::kSend, 1, 1, 1, 8},
                                                {zero, 1, EventKind::kDrop, 0, 0, 1, 8},
                                                {zero, 1, EventKind::kDeliver, 1, 0, 1, 8}}));
}

}  // namespace
}  // namespace hopbench
