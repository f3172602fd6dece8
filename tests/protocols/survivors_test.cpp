// The survivors of a worker, protocol by protocol. The sweep of invariants_test.cpp checks that every invariant holds
// for them, whichever rank dies and when.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/cluster.h"

namespace hopbench {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

Time at_ms(std::int64_t ms) { return Time{} + milliseconds(ms); }

/// The first event after `since` that fits.
template <class Fits>
Time time_of(const Cluster& cluster, const Fits& fits, Time since = Time{}) {
  const auto found = std::find_if(cluster.events.begin(), cluster.events.end(),
                                  [&](const Event& event) { return event.time > since && fits(event); });
  HB_ASSERT(found != cluster.events.end());
  return found->time;
}

std::int64_t iterations_of(const Cluster& cluster, int worker) { return cluster.records[std::size_t(worker)].iters; }

std::string error_of(Cluster& cluster, const std::string& protocol, const Knobs& knobs = {}) {
  try {
    cluster.run(protocol, knobs);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

/// Every worker for itself.
Protocol local_steps() {
  Protocol protocol{.name = "test", .summary = "", .paper = "", .knobs = {}, .body = nullptr, .reading = ""};
  protocol.body = [](Node& self, const KnobValues&) {
    Vec x = self.initial();
    Optimizer optimizer = self.optimizer(x.size());
    for (Iter k = 0; self.running(k); ++k) {
      self.enter(k);
      optimizer.step(x, self.gradient(x, k).values.share(), k);
      self.report(k + 1, x);
    }
  };
  return protocol;
}

/// Returns the ranks whose models the worker averaged last, those of one group or exchange.
std::vector<int> averaged_last(const Cluster& cluster, int worker) {
  std::vector<int> senders;
  for (const Event& event : cluster.events) {
    if (event.what == EventKind::kReduced && event.rank == worker) senders = event.senders;
  }
  return senders;
}

TEST(Survivors, OfAnAdPsgdExchangeThatTheDeadNeverAnsweredKeepTheirModels) {
  // Serial: 0 asks at 10 ms, after its gradient. 1 dies while the request is on its way.
  Cluster cluster{.nodes = 2, .topology = "complete", .iterations = 6};
  cluster.network.latency = milliseconds(4);
  cluster.killed[1] = at_ms(12);
  cluster.run("adpsgd", {{"form", "serial"}});
  EXPECT_EQ(cluster.broken(), "");
  Cluster alone{.nodes = 2, .topology = "complete", .iterations = 6};
  alone.run(local_steps());
  EXPECT_EQ(iterations_of(cluster, 0), 6);
  EXPECT_EQ(hash_bits(cluster.params(0)), hash_bits(alone.params(0))) << "as if 1 had never been there";
}

TEST(Survivors, OfAnAdPsgdExchangeThatTheDeadHadAnsweredHaveAveraged) {
  Cluster cluster{.nodes = 2, .topology = "complete", .iterations = 6};
  cluster.network.latency = milliseconds(4);
  cluster.killed[1] = at_ms(16);  // asked at 10 ms, answered at 14
  cluster.keep_events = true;
  cluster.run("adpsgd", {{"form", "serial"}});
  EXPECT_EQ(cluster.broken(), "");
  EXPECT_EQ(averaged_last(cluster, 0), (std::vector<int>{0, 1}));
  EXPECT_EQ(cluster.survivors(), (std::vector<int>{0}));
}

TEST(Survivors, OfAdPsgdAskOnlyTheLiving) {
  Cluster cluster{.nodes = 6, .topology = "complete", .iterations = 30};
  cluster.killed[3] = at_ms(100);
  cluster.keep_events = true;
  cluster.run("adpsgd");
  EXPECT_EQ(cluster.broken(), "");
  for (int active : {0, 2, 4}) {
    const auto averages = [&](const Event& event) { return event.what == EventKind::kReduced && event.rank == active; };
    EXPECT_GE(std::count_if(cluster.events.begin(), cluster.events.end(), averages), 29) << "one may be void";
  }
}

TEST(Survivors, AreNotHeldBySspForTheSlowestOnceItIsDead) {
  Cluster cluster{.nodes = 4, .slow = {{3, 50.0}}, .iterations = 20};
  cluster.killed[3] = at_ms(200);
  cluster.keep_events = true;
  for (const char* protocol : {"ps_ssp", "dssp"}) {
    cluster.run(protocol, protocol == std::string("dssp") ? Knobs{{"mode", "capped"}, {"s_l", 1}, {"r_max", 2}}
                                                          : Knobs{{"staleness", 2}});
    EXPECT_EQ(cluster.broken(), "") << protocol;
    const auto enters = [](const Event& event) { return event.what == EventKind::kEnter && event.rank == 0; };
    EXPECT_GT(time_of(cluster, enters, at_ms(60)), at_ms(200)) << protocol << " held nobody before";
    EXPECT_LT(cluster.end, at_ms(500)) << protocol;
    for (int w : {0, 1, 2}) EXPECT_EQ(iterations_of(cluster, w), 20) << protocol;
  }
}

TEST(Survivors, OfParameterServersHaveTheirBoundAmongThemselves) {
  Cluster cluster{.nodes = 4, .slow = {{2, 5.0}, {3, 50.0}}, .iterations = 20};
  cluster.killed[3] = at_ms(100);
  cluster.run("ps_ssp", {{"staleness", 2}});
  EXPECT_EQ(cluster.broken(), "");
  EXPECT_EQ(cluster.lead_over(0, 2), 3);
}

TEST(Survivors, OfAServerDoNotExist) {
  for (const char* protocol : {"ps_asp", "ps_ssp", "dssp", "ps_backup", "elastic_bsp", "dbw", "partial_reduce",
                               "rennala", "k_async", "specsync"}) {
    Cluster cluster{.nodes = 4, .iterations = 20};
    cluster.killed[4] = at_ms(55);
    EXPECT_THAT(error_of(cluster, protocol), HasSubstr("rank 4 died while rank ")) << protocol;
  }
}

/// Returns the number of gradients in each update of the first server.
std::vector<std::size_t> sizes_of_updates(const Cluster& cluster) {
  std::vector<std::size_t> sizes;
  for (const Event& event : cluster.events) {
    if (event.what == EventKind::kReduced && event.rank == cluster.nodes) sizes.push_back(event.senders.size());
  }
  return sizes;
}

TEST(Survivors, TakeTheDeadForBackupWorkersAsLongAsThereAreSome) {
  Cluster cluster{.nodes = 5, .topology = "ring", .iterations = 20};
  cluster.keep_events = true;
  cluster.killed[3] = at_ms(65);
  cluster.run("ps_backup", {{"backup", 1}});
  EXPECT_EQ(cluster.broken(), "");
  EXPECT_EQ(sizes_of_updates(cluster).back(), 4u) << "n - b, of all that live";
  cluster.killed[4] = at_ms(125);
  cluster.run("ps_backup", {{"backup", 1}});
  EXPECT_EQ(cluster.broken(), "");
  EXPECT_EQ(sizes_of_updates(cluster).front(), 4u);
  EXPECT_EQ(sizes_of_updates(cluster).back(), 3u) << "more died than there are backups: all that live";
}

TEST(Survivors, OfBackupWorkersWithoutBackupsStop) {
  Cluster cluster{.nodes = 5, .topology = "ring", .iterations = 20};
  cluster.killed[3] = at_ms(65);
  EXPECT_THAT(error_of(cluster, "ps_backup", {{"backup", 0}}), HasSubstr("rank 3 died while rank "));
}

TEST(Survivors, AreAllThatDbwCounts) {
  Cluster cluster{.nodes = 5, .topology = "ring", .iterations = 20};
  cluster.keep_events = true;
  cluster.killed[3] = at_ms(65);
  cluster.run("dbw", {{"window", 1000}});  // estimates nothing: waits for all
  EXPECT_EQ(cluster.broken(), "");
  EXPECT_EQ(sizes_of_updates(cluster).front(), 5u);
  EXPECT_EQ(sizes_of_updates(cluster).back(), 4u);
}

TEST(Survivors, OfAGroupAverageWhatTheyHave) {
  // A group of all four: their gradients end at 10 ms, and slices take 4 ms. Before that 3 sends nothing, then slices,
  // then its sum.
  for (const auto& [when, with_its_slices] : {std::pair{11, false}, {19, true}, {25, true}}) {
    for (const char* protocol : {"prague", "partial_reduce"}) {
      Cluster cluster{.nodes = 4, .iterations = 1};
      cluster.network.latency = milliseconds(4);
      cluster.killed[3] = at_ms(when);
      cluster.keep_events = true;
      cluster.run(protocol, {{"group_size", 4}});
      EXPECT_EQ(cluster.broken(), "") << protocol << " " << when;
      const std::vector<int> others = {0, 1, 2}, all = {0, 1, 2, 3};
      for (int w : others)
        EXPECT_EQ(averaged_last(cluster, w), with_its_slices ? all : others) << protocol << " " << when;
      // The last two of eight parameters are its slice.
      const std::vector<float> a = Vec::copy_of(cluster.params(0)).to_host(),
                               b = Vec::copy_of(cluster.params(1)).to_host();
      EXPECT_TRUE(std::equal(a.begin(), a.begin() + 6, b.begin())) << protocol << " " << when;
      EXPECT_EQ(std::equal(a.begin() + 6, a.end(), b.begin() + 6), when == 25) << protocol << " " << when;
    }
  }
}

TEST(Survivors, OfStaticGroupsStop) {
  Cluster cluster{.nodes = 8, .iterations = 20};
  cluster.network.host_of = {0, 0, 0, 0, 1, 1, 1, 1};
  cluster.killed[3] = at_ms(65);
  EXPECT_THAT(error_of(cluster, "prague", {{"groups", "static"}}), HasSubstr("rank 3 died while rank "));
}

TEST(Survivors, OfTooSmallAGroupGoOnAlone) {
  Cluster cluster{.nodes = 4, .iterations = 20};
  cluster.killed = {{1, at_ms(65)}, {3, at_ms(95)}};
  cluster.run("partial_reduce", {{"group_size", 3}});
  EXPECT_EQ(cluster.broken(), "");
  for (int w : {0, 2}) EXPECT_EQ(iterations_of(cluster, w), 20);
}

TEST(Survivors, OfHopGoOnWhileTheirBackupsLast) {
  Cluster cluster{.nodes = 8, .topology = "double_ring", .iterations = 20};  // three in-neighbours each
  cluster.killed[3] = at_ms(65);
  const Knobs knobs = {{"backup", 1}, {"max_ig", 2}};
  cluster.run("hop", knobs);
  EXPECT_EQ(cluster.broken(), "");
  for (int w : cluster.survivors()) EXPECT_EQ(iterations_of(cluster, w), 20);
  EXPECT_LT(cluster.end, at_ms(300)) << "nobody waits for the tokens of the dead";
}

TEST(Survivors, OfHopStopWhenTheyLackMoreThanTheirBackups) {
  Cluster cluster{.nodes = 5, .topology = "ring", .iterations = 20};
  cluster.killed = {{1, at_ms(65)}, {3, at_ms(95)}};
  EXPECT_EQ(error_of(cluster, "hop", {{"backup", 1}}),
            "rank 2 cannot go on: of its 2 in-neighbours rank 1, 3 died, and backup = 1 bears the loss of no more "
            "than 1: set backup higher, or take a graph with more neighbours");
}

TEST(Survivors, OfHopWithoutBackupsStop) {
  for (const Knobs& knobs : {Knobs{}, Knobs{{"staleness", 2}}}) {
    Cluster cluster{.nodes = 5, .topology = "ring", .iterations = 20};
    cluster.killed[1] = at_ms(65);
    EXPECT_THAT(error_of(cluster, "hop", knobs), HasSubstr("rank 1 died while rank "));
  }
}

TEST(Survivors, BearAnOrderlyEarlyEndToo) {
  const std::vector<std::pair<std::string, Knobs>> all = {
      {"adpsgd", {}}, {"partial_reduce", {}}, {"prague", {}},      {"ps_asp", {}}, {"ps_ssp", {}},
      {"dssp", {}},   {"ps_backup", {}},      {"elastic_bsp", {}}, {"dbw", {}},    {"hop", {{"backup", 1}}},
  };
  for (const auto& [protocol, knobs] : all) {
    Cluster cluster{.nodes = 8, .slow = {{5, 3.0}}, .topology = "ring", .iterations = 30};
    cluster.leaves = {{2, 3}, {5, 0}};
    cluster.run(protocol, knobs);
    EXPECT_EQ(cluster.broken(), "") << protocol;
    EXPECT_EQ(iterations_of(cluster, 2), 3) << protocol;
    EXPECT_EQ(iterations_of(cluster, 1), 30) << protocol;
  }
}

}  // namespace
}  // namespace hopbench
