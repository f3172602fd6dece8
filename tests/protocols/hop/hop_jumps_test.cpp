// The decisions about jumps and ends (docs/readings/hop.md), each shown by a test named after it.
#include <gtest/gtest.h>

#include <set>

#include "tests/protocols/hop/hop_events.h"
#include "tests/replay/replay.h"

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

// A jump is decided after the average, and with jump_momentum = "keep" after the step and the report.
void expect_jumps_as_long_as_behind(const std::string& jump_momentum, EventKind before_it) {
  for (const int max_jump : {2, 3, 10}) {
    Cluster cluster = uneven();
    cluster.run(
        "hop",
        {{"backup", 1}, {"max_ig", 5}, {"max_jump", max_jump}, {"skip_trigger", 2}, {"jump_momentum", jump_momentum}});
    TokensInHand tokens(cluster, 5);
    std::vector<Iter> at(8, 0), due(8, 0);
    std::vector<char> decides(8, 0);
    std::map<Iter, int> lengths;
    for (const Event& event : before_the_end(cluster)) {
      const std::size_t r = std::size_t(event.rank);
      if (decides[r] != 0 && !of(event, EventKind::kTake, kToken)) {  // it has read its tokens
        const Iter behind = tokens.behind(event.rank);
        due[r] = behind < 2 ? 1 : std::min<Iter>(behind, max_jump);
        decides[r] = 0;
      }
      tokens.on(event);
      if (event.what == before_it) decides[r] = 1;
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

TEST(HopDecision, H7_AJumpIsAsLongAsTheWorkerIsBehindOrMaxJump) {
  expect_jumps_as_long_as_behind("drop", EventKind::kReduced);
  expect_jumps_as_long_as_behind("keep", EventKind::kReport);
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
  const std::pair<const char*, const char*> forms[] = {{"parallel", "drop"}, {"parallel", "keep"}, {"serial", "drop"}};
  for (Knobs knobs : {kJumps, kStaleJumps}) {
    for (const auto& [form, jump_momentum] : forms) {
      knobs["form"] = std::string(form);
      knobs["jump_momentum"] = std::string(jump_momentum);
      Cluster cluster = uneven();
      cluster.optimizer.momentum = 0.9f;
      cluster.optimizer.lr = 0.02f;
      cluster.run("hop", knobs);
      EXPECT_GT(cluster.total(&RankRecord::iters_jumped), 0);
      EXPECT_EQ(replayed(cluster, knobs), "") << form << " " << jump_momentum;
    }
  }
}

// The slow worker, which has labels of its own, loses nearly every gradient to a jump. With momentum 0.9 each one that
// moved the momentum would be there ten times over, at a point that no step of its own ever moves, and the model
// reported would be ten steps away from the average that the worker goes on with.
TEST(HopDecision, H15_WhatAJumpThrowsAwayIsNeitherSteppedWithNorReported) {
  const auto worst_loss = [](const char* jump_momentum) {
    Cluster cluster{.nodes = 8, .slow = {{3, 6.0}}, .topology = "ring_based", .iterations = 200};
    cluster.optimizer = {.lr = 0.05f, .momentum = 0.9f};
    cluster.workload = {.model = "mlp",
                        .dataset = "synthetic",
                        .batch = 8,
                        .split = {.what = SplitKind::kShards},
                        .backend = "reference"};
    cluster.run("hop", {{"backup", 1}, {"max_ig", 6}, {"max_jump", 6}, {"jump_momentum", std::string(jump_momentum)}});
    EXPECT_EQ(cluster.broken(), "");
    EXPECT_GT(cluster.total(&RankRecord::gradients_lost), 10);
    double most = 0;
    for (const Snapshot& snapshot : cluster.reports[3]) {
      if (snapshot.k > 100 && snapshot.k < 190) most = std::max(most, cluster.loss(snapshot.x));
    }
    return most;
  };
  EXPECT_GT(worst_loss("keep"), 3 * worst_loss("drop"));
}

// The slow worker's updates come when all its neighbours are past them, so nothing that it computed before a jump ever
// reaches another rank.
TEST(HopDecision, H16_AJumpLosesWhatNoUpdateSentInTimeHolds) {
  for (const char* form : {"parallel", "serial"}) {
    Cluster cluster{.nodes = 8, .slow = {{3, 8.0}}, .topology = "ring", .iterations = 300};
    cluster.run("hop", {{"backup", 1}, {"max_ig", 6}, {"max_jump", 6}, {"form", std::string(form)}});
    EXPECT_EQ(cluster.broken(), "");
    const RankRecord& slow = cluster.records[3];
    EXPECT_GT(slow.gradients, 30);
    EXPECT_GE(slow.gradients_lost, slow.gradients - 8) << form << ": but the first and the last ones";
    EXPECT_EQ(cluster.total(&RankRecord::gradients_lost), slow.gradients_lost) << form;
  }
}

TEST(HopDecision, H15_AStepIsDroppedWithItsGradientOnly) {
  for (const char* jump_momentum : {"drop", "keep"}) {
    Cluster cluster = uneven();
    cluster.run("hop", {{"backup", 1}, {"max_ig", 6}, {"max_jump", 6}, {"jump_momentum", std::string(jump_momentum)}});
    const bool drops = std::string(jump_momentum) == "drop";
    std::set<std::pair<int, Iter>> stepped, lost;
    for (const Event& event : cluster.events) {
      if (event.what == EventKind::kApplied) stepped.insert({event.rank, event.iter});
      if (event.what == EventKind::kLost) lost.insert({event.rank, event.iter});
    }
    EXPECT_GT(lost.size(), 0u);
    for (const auto& gradient : lost) EXPECT_EQ(stepped.count(gradient) == 0, drops);
  }
}

TEST(HopDecision, H15_AChangedDefaultIsNotedWhereItMatters) {
  const Topology ring = make_topology("ring", 8);
  EXPECT_NE(note_of("hop", ring, kJumps).find("jump_momentum = 'keep'"), std::string::npos);
  EXPECT_EQ(note_of("hop", ring, {{"backup", 1}}), "") << "no jumps";
  const std::pair<std::string, KnobValue> settled[] = {{"jump_momentum", std::string("drop")},
                                                       {"jump_momentum", std::string("keep")},
                                                       {"form", std::string("serial")},
                                                       {"skip_keep_self", true}};
  for (const auto& [name, value] : settled) {
    Knobs knobs = kJumps;
    knobs[name] = value;
    EXPECT_EQ(note_of("hop", ring, knobs), "") << name;
  }
}

}  // namespace
}  // namespace hopbench
