// The decisions about jumps and ends (docs/readings/hop.md), each shown by a test named after it.
#include <gtest/gtest.h>

#include "tests/hop_events.h"
#include "tests/replay.h"

namespace hopbench {
namespace {

using namespace hop_events;  // NOLINT: the language of these tests

// Tokens in hand, as the log shows them: what was taken from the mailbox less what was spent.
class TokensInHand {
 public:
  TokensInHand(const Cluster& cluster, Iter max_ig) : max_ig_(max_ig) {
    const Topology graph = cluster.graph();
    for (int i = 0; i < cluster.nodes; ++i) {
      for (int owner : graph.out(i)) here_[{i, owner}] = max_ig;
    }
  }
  void on(const Event& event) {
    if (of(event, EventKind::kTake, kToken)) here_.at({event.rank, event.peer}) += event.count;
    if (of(event, EventKind::kSpend)) here_.at({event.rank, event.peer}) -= event.count;
  }
  Iter behind(int rank) const {
    Iter least = 1000;
    for (const auto& [queue, tokens] : here_) {
      if (queue.first == rank) least = std::min(least, tokens);
    }
    return least - max_ig_;
  }

 private:
  Iter max_ig_;
  std::map<std::pair<int, int>, Iter> here_;
};

TEST(HopDecision, H7_AJumpIsAsLongAsTheWorkerIsBehindOrMaxJump) {
  for (const int max_jump : {2, 3, 10}) {
    Cluster cluster = uneven();
    cluster.run("hop", {{"backup", 1}, {"max_ig", 5}, {"max_jump", max_jump}, {"skip_trigger", 2}});
    TokensInHand tokens(cluster, 5);
    std::vector<Iter> at(8, 0), due(8, 0);
    std::vector<char> reported(8, 0);
    std::map<Iter, int> lengths;
    for (const Event& event : before_the_end(cluster)) {
      const std::size_t r = std::size_t(event.rank);
      if (reported[r] != 0 && !of(event, EventKind::kTake, kToken)) {  // it has read its tokens
        const Iter behind = tokens.behind(event.rank);
        due[r] = behind < 2 ? 1 : std::min<Iter>(behind, max_jump);
        reported[r] = 0;
      }
      tokens.on(event);
      if (event.what == EventKind::kReport) reported[r] = 1;
      if (event.what != EventKind::kEnter) continue;
      if (event.iter > 0) {
        EXPECT_EQ(event.iter - at[r], due[r]) << "rank " << event.rank << " at " << at[r];
        ++lengths[due[r]];
      }
      at[r] = event.iter;
    }
    EXPECT_GT(lengths.size(), 1u);
    EXPECT_LE(lengths.rbegin()->first, std::min(max_jump, 5));  // on an undirected graph never over max_ig
  }
}

// Calls `look` with each average right after a jump, and the iterations before and after it.
template <class Look>
int after_jumps(const std::vector<Event>& events, Look look) {
  std::map<int, std::pair<Iter, Iter>> last;  // rank -> iteration before, now
  int jumps = 0;
  for (const Event& event : events) {
    if (event.what == EventKind::kEnter) {
      const auto before = last.find(event.rank);
      last[event.rank] = {before == last.end() ? -1 : before->second.second, event.iter};
    }
    if (event.what != EventKind::kReduced) continue;
    auto& [before, now] = last.at(event.rank);
    if (before >= 0 && now > before + 1) {
      look(event, before, now);
      ++jumps;
    }
    before = now - 1;
  }
  return jumps;
}

bool uses_itself(const Event& reduced) {
  return std::find(reduced.senders.begin(), reduced.senders.end(), reduced.rank) != reduced.senders.end();
}

TEST(HopDecision, H8_AfterAJumpNeighboursAreAveragedWithoutTheWorkerItself) {
  Cluster cluster = uneven();
  cluster.run("hop", kJumps);
  const int jumps = after_jumps(before_the_end(cluster), [&](const Event& reduced, Iter, Iter now) {
    EXPECT_FALSE(uses_itself(reduced));
    EXPECT_GE(reduced.senders.size(), cluster.graph().in(reduced.rank).size() + 1 - 1);  // |N_in| - N_buw
    for (Iter tag : reduced.tags) EXPECT_EQ(tag, now - 1);
  });
  EXPECT_GT(jumps, 0);
  EXPECT_EQ(cluster.total(&RankRecord::gradients_lost), after_jumps(cluster.events, [](const Event&, Iter, Iter) {}));
  EXPECT_EQ(replayed(cluster, kJumps), "");
}

TEST(HopDecision, H8_WithStalenessOfTheIterationBeforeLessS) {
  Cluster cluster = uneven();
  cluster.run("hop", kStaleJumps);
  const int jumps = after_jumps(before_the_end(cluster), [&](const Event& reduced, Iter, Iter now) {
    EXPECT_FALSE(uses_itself(reduced));
    EXPECT_EQ(reduced.senders.size(), cluster.graph().in(reduced.rank).size());
    for (Iter tag : reduced.tags) EXPECT_GE(tag, now - 1 - 3);
  });
  EXPECT_GT(jumps, 0);
  EXPECT_EQ(cluster.broken(), "");
  EXPECT_EQ(replayed(cluster, kStaleJumps), "");
}

TEST(HopDecision, H8_SkipKeepSelfAddsTheWorkersOwnModelAsOneMoreShare) {
  for (Knobs knobs : {kJumps, kStaleJumps}) {
    knobs["skip_keep_self"] = true;
    Cluster cluster = uneven();
    cluster.run("hop", knobs);
    const int jumps = after_jumps(before_the_end(cluster), [&](const Event& reduced, Iter before, Iter) {
      ASSERT_TRUE(uses_itself(reduced));
      const auto self = std::find(reduced.senders.begin(), reduced.senders.end(), reduced.rank);
      EXPECT_EQ(reduced.tags[std::size_t(self - reduced.senders.begin())], before + 1);
    });
    EXPECT_GT(jumps, 0);
    EXPECT_EQ(cluster.total(&RankRecord::gradients_lost), 0);
    EXPECT_EQ(replayed(cluster, knobs), "");
  }
}

TEST(HopDecision, H9_OnADirectedGraphAJumpIsAnnouncedToAllOutNeighbours) {
  Cluster cluster = directed();
  cluster.run("hop", kJumps);
  std::vector<Iter> at(8, 0);
  std::int64_t jumps = 0;
  for (const Event& event : before_the_end(cluster)) {
    Iter& before = at[std::size_t(event.rank)];
    if (event.what == EventKind::kEnter) {
      jumps += event.iter > before + 1;
      before = event.iter;
    }
    if (of(event, EventKind::kSend, kSkip)) {
      EXPECT_EQ(event.iter, before);
    }
  }
  EXPECT_GT(jumps, 0);
  EXPECT_EQ(count(before_the_end(cluster), EventKind::kSend, kSkip), 2 * jumps);
  EXPECT_EQ(cluster.broken(), "");
  EXPECT_EQ(replayed(cluster, kJumps), "");
  Cluster undirected = uneven();
  undirected.run("hop", kJumps);
  EXPECT_GT(undirected.total(&RankRecord::iters_jumped), 0);
  EXPECT_EQ(count(undirected.events, EventKind::kSend, kSkip), 0);
}

TEST(HopDecision, H10_TheLastIterationIsRunAndTheFinishedOweNoTokens) {
  for (Iter iterations = 20; iterations < 30; ++iterations) {
    Cluster cluster = uneven();
    cluster.iterations = iterations;
    cluster.run("hop", {{"backup", 1}, {"max_ig", 8}, {"max_jump", 8}});
    EXPECT_GT(cluster.records[3].iters_jumped, 0);
    Iter last = -1;
    for (const Event& event : of_rank(cluster.events, 3)) {
      if (event.what == EventKind::kGradient) last = event.iter;
    }
    EXPECT_EQ(last, iterations - 1);
  }
  // The slow rank leaves first, far behind: with credits nobody's iterations are fixed.
  for (std::int64_t credits = 100; credits < 110; ++credits) {
    Cluster cluster = uneven();
    cluster.credits = credits;
    cluster.run("hop", kJumps);
    EXPECT_EQ(cluster.total(&RankRecord::gradients), credits);
    EXPECT_EQ(cluster.broken(), "");
  }
}

TEST(HopDecision, H11_MomentumIsTheWorkersOwnAndSurvivesAJump) {
  for (Knobs knobs : {kJumps, kStaleJumps}) {
    for (const char* form : {"parallel", "serial"}) {
      knobs["form"] = std::string(form);
      Cluster cluster = uneven();
      cluster.optimizer.momentum = 0.9f;
      cluster.optimizer.lr = 0.02f;
      cluster.run("hop", knobs);
      EXPECT_GT(cluster.total(&RankRecord::iters_jumped), 0);
      EXPECT_EQ(replayed(cluster, knobs), "") << form;
    }
  }
}

}  // namespace
}  // namespace hopbench
