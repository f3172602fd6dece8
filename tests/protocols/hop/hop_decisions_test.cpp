// The decisions of docs/readings/hop.md, each shown by a test named after it, on the event log. Those about jumps (H7
// to H11) are in hop_jumps_test.cpp.
#include <gtest/gtest.h>

#include "tests/protocols/hop/hop_events.h"

namespace hopbench {
namespace {

using namespace hop_events;  // NOLINT: the language of these tests

TEST(HopDecision, H1_SpendsFromAllThenEntersThenGrants) {
  Cluster cluster = uneven();
  cluster.run("hop", kBackup);
  const std::vector<Event> events = before_the_end(cluster);
  std::int64_t granted = 0, spent = 0;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const Event& entry = events[i];
    if (entry.what != EventKind::kEnter || entry.iter == 0) continue;
    const std::size_t degree = cluster.graph().out(entry.rank).size();
    ASSERT_GE(i, degree);
    for (std::size_t d = 1; d <= degree; ++d) {
      const Event &spend = events[i - d], &grant = events[i + d];
      EXPECT_TRUE(of(spend, EventKind::kSpend) && spend.rank == entry.rank && spend.time == entry.time);
      EXPECT_TRUE(of(grant, EventKind::kSend, kToken) && grant.iter == entry.iter && grant.time == entry.time);
    }
    spent += std::int64_t(degree);
    granted += std::int64_t(degree);
  }
  EXPECT_EQ(count(events, EventKind::kSpend), spent);  // and there are no others
  EXPECT_EQ(count(events, EventKind::kSend, kToken), granted);
}

TEST(HopDecision, H2_TakesFromAllQueuesAtOnce) {
  // Rank 2 has tokens of everybody but the slow rank 3: it keeps them all until 3 grants one.
  Cluster cluster = uneven("ring");
  cluster.run("hop", kBackup);
  EXPECT_GT(cluster.records[2].waits.at("a token from a slower neighbour"), Duration{});
  const std::vector<Event> own = of_rank(before_the_end(cluster), 2);
  for (std::size_t i = 0; i < own.size(); ++i) {
    if (own[i].what != EventKind::kSpend) continue;
    const bool first = own[i - 1].what != EventKind::kSpend;
    const Event& other = own[first ? i + 1 : i - 1];
    EXPECT_EQ(other.what, EventKind::kSpend);
    EXPECT_EQ(other.time, own[i].time);
    EXPECT_NE(other.peer, own[i].peer);
  }
}

TEST(HopDecision, H3_ACreditThatIsReadTooLowOnlyShortensAJump) {
  Cluster cluster = uneven();
  cluster.network.latency = std::chrono::milliseconds(25);
  cluster.run("hop", kJumps);
  EXPECT_EQ(cluster.broken(), "");  // token_count counts what is on its way
  const Topology graph = cluster.graph();
  std::vector<Iter> at(8, 0);
  int jumps = 0, shorter = 0;
  for (const Event& event : before_the_end(cluster)) {
    if (event.what != EventKind::kEnter) continue;
    const Iter stride = event.iter - at[std::size_t(event.rank)];
    Iter least = 1000;
    for (int o : graph.out(event.rank)) least = std::min(least, at[std::size_t(o)]);
    const Iter behind = least - at[std::size_t(event.rank)];
    if (stride > 1) {
      ++jumps;
      EXPECT_LE(stride, behind);
    }
    if (behind >= 2 && stride < std::min<Iter>(behind, 3)) ++shorter;
    at[std::size_t(event.rank)] = event.iter;
  }
  EXPECT_GT(jumps, 0);
  EXPECT_GT(shorter, 0);
}

TEST(HopDecision, H4_AQueueHoldsMaxIgTokensAtTheStart) {
  for (int max_ig : {1, 2, 5}) {
    Cluster cluster{.nodes = 4, .slow = {{3, 1000.0}}, .topology = "complete", .iterations = 30};
    cluster.keep_events = true;
    cluster.run("hop", {{"backup", 1}, {"max_ig", max_ig}});
    Iter spent = 0;
    for (const Event& event : of_rank(cluster.events, 0)) {
      if (of(event, EventKind::kTake, kToken) && event.peer == 3) break;
      if (of(event, EventKind::kSpend) && event.peer == 3) spent += event.count;
    }
    EXPECT_EQ(spent, max_ig);
  }
  Cluster cluster;
  EXPECT_THROW(cluster.run("hop", {{"max_ig", 0}}), Error);
}

TEST(HopDecision, H5_LateUpdatesAreDroppedOnArrival) {
  Cluster cluster = uneven("complete");
  cluster.run("hop", {{"backup", 3}, {"max_ig", 3}});
  std::vector<Iter> needed(8, 0);
  std::int64_t dropped = 0;
  for (const Event& event : cluster.events) {
    Iter& next = needed[std::size_t(event.rank)];
    if (event.what == EventKind::kReduced) next = event.iter + 1;
    if (of(event, EventKind::kDeliver, kParams)) {
      EXPECT_GE(event.iter, next) << "kept by rank " << event.rank;
    }
    if (!of(event, EventKind::kDrop, kParams)) continue;
    EXPECT_LT(event.iter, next);
    ++dropped;
  }
  EXPECT_GT(dropped, 0);
  EXPECT_EQ(cluster.broken(), "");
}

TEST(HopDecision, H5_WithStalenessTheNewestUpdateOfANeighbourReplacesTheOneBefore) {
  Cluster cluster = uneven();
  cluster.run("hop", {{"staleness", 3}});
  std::map<std::pair<int, int>, Iter> newest;  // (receiver, sender)
  std::int64_t stale = 0, ahead = 0;
  for (const Event& event : cluster.events) {
    if (of(event, EventKind::kTake, kParams)) newest[{event.rank, event.peer}] = event.iter;
    if (event.what != EventKind::kReduced) continue;
    for (std::size_t t = 0; t < event.senders.size(); ++t) {
      if (event.senders[t] == event.rank) continue;
      EXPECT_EQ(event.tags[t], newest.at({event.rank, event.senders[t]}));
      stale += event.tags[t] < event.iter;
      ahead += event.tags[t] > event.iter;
    }
  }
  EXPECT_GT(stale, 0);
  EXPECT_GT(ahead, 0);
}

TEST(HopDecision, H6_StalenessZeroIsTheStandardReceive) {
  Cluster standard = uneven(), reference = standard, one = standard;
  standard.run("hop", {{"staleness", 0}});
  reference.run("dpsgd");
  one.run("hop", {{"staleness", 1}});
  EXPECT_EQ(standard.params_hash(), reference.params_hash());
  EXPECT_NE(one.params_hash(), reference.params_hash());
  for (const Event& event : standard.events) {
    for (Iter tag : event.tags) EXPECT_EQ(tag, event.iter);  // though neighbours were ahead: newest is not it
  }
  EXPECT_GT(standard.lead_max(), 0);
}

/// Returns, for each update of rank 3, the number of its neighbour rank 2's averages that used it.
std::map<Iter, int> averages_of_the_slow_one(bool reuse) {
  Cluster cluster{.nodes = 8, .slow = {{3, 4.0}}, .topology = "ring", .iterations = 20};
  cluster.keep_events = true;
  cluster.run("hop", {{"staleness", 3}, {"reuse", reuse}});
  std::map<Iter, int> averages;
  for (const Event& event : before_the_end(cluster)) {
    if (event.what != EventKind::kReduced || event.rank != 2) continue;
    for (std::size_t i = 0; i < event.senders.size(); ++i) {
      if (event.senders[i] == 3) ++averages[event.tags[i]];
    }
  }
  return averages;
}

TEST(HopDecision, H17_AnUpdateIsInSeveralAveragesUnlessReuseIsOff) {
  int most = 0;
  for (const auto& [tag, averages] : averages_of_the_slow_one(true)) most = std::max(most, averages);
  EXPECT_EQ(most, 4) << "of iterations k to k + 3";
  const std::map<Iter, int> once = averages_of_the_slow_one(false);
  EXPECT_GE(once.size(), 5U);
  for (const auto& [tag, averages] : once) EXPECT_EQ(averages, 1) << tag;
  Cluster cluster;
  EXPECT_THROW(cluster.run("hop", {{"reuse", false}}), Error);
}

TEST(HopDecision, H12_SumsByAscendingSenderSoBitsDoNotDependOnWhoComesFirst) {
  Cluster reference{.nodes = 8, .topology = "complete", .iterations = 15};
  reference.run("hop");
  for (std::uint64_t shuffle = 1; shuffle <= 5; ++shuffle) {
    Cluster cluster = uneven("complete");
    cluster.iterations = 15;
    cluster.shuffle = shuffle;
    cluster.run("hop");
    EXPECT_EQ(cluster.params_hash(), reference.params_hash());
    for (const Event& event : cluster.events) EXPECT_TRUE(std::is_sorted(event.senders.begin(), event.senders.end()));
  }
}

TEST(HopDecision, H13_BackupWithStalenessIsRefused) {
  Cluster cluster;
  try {
    cluster.run("hop", {{"backup", 1}, {"staleness", 1}});
    FAIL() << "it ran";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("no known rule"), std::string::npos) << error.what();
  }
}

TEST(HopDecision, H14_WithNotifyAckNobodyWaitsToSendButAllHasLeftBeforeTheNextIteration) {
  Cluster cluster{.nodes = 8, .slow = {{3, 3.0}}, .topology = "ring", .iterations = 20};
  cluster.network.latency = std::chrono::milliseconds(2);
  cluster.keep_events = true;
  cluster.run("hop", {{"gap_control", "notify_ack"}});
  std::vector<Time> entered(8);
  std::vector<std::size_t> sent(8, 0);
  int later = 0;
  for (const Event& event : before_the_end(cluster)) {
    const std::size_t r = std::size_t(event.rank);
    if (of(event, EventKind::kSend, kParams)) {
      later += event.time > entered[r];
      ++sent[r];
    }
    // Its gradient takes its time from the entry on, whatever may not yet leave.
    if (event.what == EventKind::kGradient) {
      EXPECT_EQ(event.time - entered[r], std::chrono::milliseconds(r == 3 ? 30 : 10));
    }
    if (event.what == EventKind::kEnter) {
      EXPECT_EQ(sent[r], event.iter == 0 ? 0u : 2u);
      sent[r] = 0;
      entered[r] = event.time;
    }
  }
  EXPECT_GT(later, 0);
  EXPECT_EQ(cluster.broken(), "");
}

}  // namespace
}  // namespace hopbench
