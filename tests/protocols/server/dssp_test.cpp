#include <gtest/gtest.h>

#include <algorithm>

#include "protocols/server/dssp_controller.h"
#include "tests/cluster.h"

namespace hopbench::server {
namespace {

Time at_ms(double ms) { return Time{} + seconds_to_duration(ms * 1e-3); }

// --- The controller --------------------------------------------------------------------------------------------------

int best_of_the_grid(const PushTimes& p, const PushTimes& slow, int r_max) {
  int best = 0;
  Duration least = Duration::max();
  for (int r = 0; r <= r_max; ++r) {
    for (int k = 0; k <= r_max; ++k) {
      const Time mine = p.latest + r * (p.latest - p.before),
                 theirs = slow.latest + (k + 1) * (slow.latest - slow.before);
      if (std::chrono::abs(mine - theirs) >= least) continue;
      least = std::chrono::abs(mine - theirs);
      best = r;
    }
  }
  return best;
}

TEST(DsspController, GivesFigure2) {
  const PushTimes p{.latest = at_ms(0), .before = at_ms(-1000)}, slow{.latest = at_ms(-650), .before = at_ms(-4500)};
  EXPECT_EQ(extra_iterations(p, slow, 4), 3);
  EXPECT_EQ(extra_iterations(p, slow, 8), 7);
}

TEST(DsspController, EqualsTheSearchOfTheWholeGrid) {
  for (std::uint64_t seed = 1; seed <= 20'000; ++seed) {
    Random random({.seed = seed, .purpose = Purpose::kTest});
    const auto some = [&] { return Duration{std::int64_t(random.below(random.chance(0.5) ? 6 : 1000))}; };  // few: ties
    const Time now{some() + Duration{1000}};
    const PushTimes p{.latest = now, .before = now - some()};
    const Time last = now - some();
    const PushTimes slow{.latest = last, .before = last - some()};
    const int r_max = int(random.below(20));
    const int r = extra_iterations(p, slow, r_max);
    EXPECT_EQ(r, best_of_the_grid(p, slow, r_max)) << "seed " << seed;
    EXPECT_GE(r, 0);
    EXPECT_LE(r, r_max);
  }
}

// --- By hand ---------------------------------------------------------------------------------------------------------

// Two workers that push every 10 ms and every 38.5 ms; no communication cost.
std::vector<Time> answers_to_the_fast_one(const Knobs& knobs) {
  Cluster cluster{.nodes = 2, .slow = {{1, 3.85}}, .topology = "complete", .iterations = 9, .instant_network = true};
  Knobs all = knobs;
  all["servers"] = 1;
  cluster.run("dssp", all);
  EXPECT_EQ(cluster.broken(), "");
  std::vector<Time> when;
  for (const Snapshot& report : cluster.reports[0]) when.push_back(report.when);
  return when;
}

TEST(Dssp, HoldsAWorkerUntilTheSlowestPushBringsTheDifferenceToTheThreshold) {
  // Held at its third push, 30 ms: three ahead of none. From then on each push of the slow one frees one of its own.
  const auto when = answers_to_the_fast_one({{"s_l", 2}, {"r_max", 0}});
  EXPECT_EQ(when, (std::vector<Time>{at_ms(10), at_ms(20), at_ms(38.5), at_ms(77), at_ms(115.5), at_ms(154),
                                     at_ms(192.5), at_ms(231), at_ms(269.5)}));
}

TEST(Dssp, AsPrintedGrantsAndGrantsAgain) {
  // Held at 20 and 48.5, as the slow one has not pushed twice. At 87 the controller sees 38.5 ms a push of both and
  // grants 1 (10 ms off as well as 2 would be); at 107 it sees 10 ms and grants 1, for 117 is 1.5 ms from 115.5; at 127
  // 3, for 157 is 3 ms from 154.
  const auto when = answers_to_the_fast_one({{"s_l", 1}, {"r_max", 4}});
  EXPECT_EQ(when, (std::vector<Time>{at_ms(10), at_ms(38.5), at_ms(77), at_ms(87), at_ms(97), at_ms(107), at_ms(117),
                                     at_ms(127), at_ms(137)}));
}

TEST(Dssp, CappedHoldsAtTheUpperThreshold) {
  // The same as above up to 127; at 137 it has pushed 9 times and the slow one 3 times: s_U + 1 = 6 more, so it is held
  // until the slow one has pushed 8 times.
  const auto when = answers_to_the_fast_one({{"s_l", 1}, {"r_max", 4}, {"mode", "capped"}});
  EXPECT_EQ(when, (std::vector<Time>{at_ms(10), at_ms(38.5), at_ms(77), at_ms(87), at_ms(97), at_ms(107), at_ms(117),
                                     at_ms(127), at_ms(308)}));
}

// --- Special cases ---------------------------------------------------------------------------------------------------

Cluster uneven() {
  Cluster cluster{.nodes = 6, .slow = {{2, 3.0}}, .topology = "complete", .iterations = 40};
  cluster.compute.push_back({.what = SlowdownKind::kBernoulli, .factor = 4.0, .probability = 0.1});
  cluster.network.jitter = 1.0;
  cluster.costs.vector_bytes_per_s = 1e6;
  return cluster;
}

TEST(Dssp, WithoutARangeIsSspEventForEvent) {
  for (const char* mode : {"faithful", "capped"}) {
    for (const int s : {0, 1, 3}) {
      for (const int servers : {1, 3}) {
        Cluster dssp = uneven(), ssp = uneven();
        dssp.run("dssp", {{"mode", mode}, {"s_l", s}, {"r_max", 0}, {"servers", servers}});
        ssp.run("ps_ssp", {{"staleness", s}, {"servers", servers}});
        EXPECT_EQ(dssp.events_hash, ssp.events_hash) << mode << ", s = " << s << ", servers = " << servers;
        EXPECT_EQ(dssp.params_hash(), ssp.params_hash());
        EXPECT_EQ(dssp.broken(), "");
      }
    }
  }
}

TEST(Dssp, WithoutRangeAndThresholdIsInLockStep) {
  for (const char* mode : {"faithful", "capped"}) {
    Cluster cluster = uneven();
    cluster.run("dssp", {{"mode", mode}, {"s_l", 0}, {"r_max", 0}});
    EXPECT_LE(cluster.lead_max(), 1);
  }
}

TEST(Dssp, CappedKeepsToItsRangeInAnyOrderOfEvents) {
  for (std::uint64_t shuffle = 1; shuffle <= 20; ++shuffle) {
    Cluster cluster = uneven();
    cluster.shuffle = shuffle;
    cluster.run("dssp", {{"mode", "capped"}, {"s_l", 1}, {"r_max", 3}, {"servers", 3}});
    EXPECT_LE(cluster.lead_max(), 5);
    EXPECT_NE(cluster.checker("ssp_bound"), nullptr);
    EXPECT_EQ(cluster.broken(), "");
  }
}

// --- What the printed algorithm does not enforce ---------------------------------------------------------------------

struct Race {
  std::int64_t iterations = 0;  // of the fast one
  std::int64_t apart = 0;       // most that it has pushed more often, at a push
};

// Two workers, one 2.37 times faster, 3000 s, no communication cost: how far the fast one comes.
Race race(const std::string& protocol, Knobs knobs) {
  Cluster cluster{.nodes = 2, .slow = {{1, 2.37}}, .topology = "complete", .iterations = 3000, .instant_network = true};
  cluster.costs.gradient = std::chrono::seconds(1);
  cluster.keep_events = true;
  knobs["servers"] = 1;
  cluster.run(protocol, knobs);
  EXPECT_EQ(cluster.broken(), "");
  Race result;
  std::int64_t apart = 0;
  for (const Event& event : cluster.events) {
    if (event.what == EventKind::kApplied) apart += event.peer == 0 ? 1 : -1;
    result.apart = std::max(result.apart, apart);
  }
  for (const Snapshot& report : cluster.reports[0]) result.iterations += report.when <= at_ms(3e6) ? 1 : 0;
  return result;
}

TEST(Dssp, AsPrintedIsAspAtSteadySpeedsAndCappedIsSsp) {
  const auto within = [](const Race& result, double expected) {
    EXPECT_NEAR(double(result.iterations), expected, 0.02 * expected);
  };
  within(race("ps_asp", {}), 3000);
  within(race("ps_ssp", {{"staleness", 3}}), 1269);
  within(race("ps_ssp", {{"staleness", 15}}), 1281);
  const Race faithful = race("dssp", {}), capped = race("dssp", {{"mode", "capped"}});
  within(faithful, 3000);
  within(capped, 1274);
  EXPECT_GT(faithful.apart, 1000);  // nothing bounds it
  EXPECT_EQ(capped.apart, 16);      // s_U + 1, reached
}

}  // namespace
}  // namespace hopbench::server
