// Every checker is shown a stream that keeps its invariant and one that breaks it: a checker that cannot fail is worth
// nothing. The streams are written by hand, in a small language.
#include <gtest/gtest.h>

#include "tests/checkers/event_stream.h"

namespace hopbench::checkers {
namespace {

Stream& all_enter(Stream& stream, int n, Iter k) {
  for (int i = 0; i < n; ++i) stream.enter(i, k);
  return stream;
}

TEST(Graph, MeasuresDistancesWithoutThoseThatFinished) {
  CheckedRun run{.protocol = "hop", .workers = 4, .edges = {{0, 1}, {1, 2}, {2, 3}, {3, 0}}};
  Graph graph(run);
  EXPECT_EQ(graph.distance(0, 3), 3);
  EXPECT_EQ(graph.distance(3, 0), 1);
  EXPECT_FALSE(graph.undirected());
  EXPECT_TRUE(graph.regular());
  graph.remove(1);
  EXPECT_EQ(graph.distance(0, 3), Graph::kFar);
  EXPECT_EQ(graph.distance(2, 0), 2);
}

/// Three gradients of one worker, in parts of two samples: the first is used, the second cut, the third lost.
Stream three_gradients() {
  Stream stream(gradient_counts(servers("specsync", 1)));
  stream.enter(0, 0).gradient(0, 0, 0, 2).gradient(0, 0, 2, 2).apply(1, 0, 0);
  stream.enter(0, 1).gradient(0, 1, 4, 2).cut(0, 1, 2).gradient(0, 1, 4, 2).gradient(0, 1, 6, 2).lose(0, 1);
  return stream;
}

RankRecord counted(std::int64_t gradients, std::int64_t lost, std::int64_t samples, double cut) {
  RankRecord record;
  record.gradients = gradients;
  record.gradients_lost = lost;
  record.samples = samples;
  record.figures["gradients cut"] = cut;
  return record;
}

TEST(GradientCounts, AreThoseOfTheEvents) {
  EXPECT_TRUE(three_gradients().counts({counted(2, 1, 8, 1)}));
  EXPECT_FALSE(three_gradients().counts({counted(5, 1, 8, 1)})) << "parts are no gradients";
  EXPECT_FALSE(three_gradients().counts({counted(3, 1, 8, 1)})) << "what is cut is none";
  EXPECT_FALSE(three_gradients().counts({counted(2, 0, 8, 1)}));
  EXPECT_FALSE(three_gradients().counts({counted(2, 1, 10, 1)}));
  EXPECT_FALSE(three_gradients().counts({counted(2, 1, 8, 0)}));
}

TEST(GradientCounts, LeaveNoneOut) {
  Stream waits = three_gradients();
  waits.enter(0, 2).gradient(0, 2, 8, 4);
  EXPECT_TRUE(waits.counts({counted(3, 1, 12, 1)})) << "it is in no batch that is full";
  Stream forgotten = three_gradients();
  forgotten.enter(0, 2).gradient(0, 2, 8, 4).enter(0, 3).gradient(0, 3, 12, 4).apply(1, 0, 3);
  EXPECT_FALSE(forgotten.counts({counted(4, 1, 16, 1)})) << "a later one is used, and this neither used nor lost";
  Stream twice = three_gradients();
  twice.apply(1, 0, 1);
  EXPECT_FALSE(twice.counts({counted(2, 1, 8, 1)})) << "used and lost";
}

TEST(WeightsSum, IsOne) {
  EXPECT_TRUE(Stream(weights_sum(ring(3))).reduce(0, 0, {0, 1}, {0, 0}, {0.25f, 0.75f}).ok());
  EXPECT_FALSE(Stream(weights_sum(ring(3))).reduce(0, 0, {0, 1}, {0, 0}, {0.25f, 0.5f}).ok());
}

TEST(GapBound, OfUpdateQueuesIsTheDistance) {
  const CheckedRun run = with(ring(6), "gap_control", std::string("queues"));
  Stream good(gap_bound(run));
  all_enter(good, 6, 0).enter(2, 1).enter(3, 1).enter(4, 1).enter(3, 2);
  EXPECT_TRUE(good.ok()) << good.checker().violations().front();
  Stream bad(gap_bound(run));
  all_enter(bad, 6, 0).enter(1, 1).enter(1, 2);  // a neighbour of 0, two ahead
  EXPECT_FALSE(bad.ok());
  EXPECT_NE(bad.checker().violations()[0].find("rank 1: is 2 iterations ahead of rank 0, allowed are 1"),
            std::string::npos);
}

TEST(GapBound, OfBackupWorkersIsMaxIgTimesTheDistance) {
  const CheckedRun run = with(with(ring(6), "backup", std::int64_t{1}), "max_ig", std::int64_t{2});
  Stream good(gap_bound(run));
  all_enter(good, 6, 0).enter(1, 1).enter(1, 2);
  EXPECT_TRUE(good.ok());
  EXPECT_FALSE(good.enter(1, 3).ok());
}

TEST(GapBound, OfStalenessIsTheSmallerOfBothColumns) {
  const CheckedRun run = with(with(ring(8), "staleness", std::int64_t{2}), "max_ig", std::int64_t{5});
  Stream stream(gap_bound(run));
  all_enter(stream, 8, 0).enter(1, 1).enter(1, 2).enter(1, 3);
  EXPECT_TRUE(stream.ok());
  EXPECT_FALSE(stream.enter(1, 4).ok());  // s + 1 = 3, although max_ig is 5
}

TEST(GapBound, OfAcknowledgementsIsTwiceTheWayThere) {
  // 0 -> 1 -> 2 -> 3 -> 4 -> 0: 0 is one edge before 1, and 1 is four before 0.
  CheckedRun run{.protocol = "hop", .workers = 5, .edges = {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 0}}};
  run.knobs["gap_control"] = std::string("notify_ack");
  Stream stream(gap_bound(run));
  all_enter(stream, 5, 0).enter(0, 1);
  EXPECT_TRUE(stream.ok());
  stream.enter(4, 1).enter(0, 2);
  EXPECT_TRUE(stream.ok());  // two ahead of 1
  stream.enter(3, 1).enter(4, 2).enter(0, 3);
  EXPECT_FALSE(stream.ok());
}

TEST(GapBound, DoesNotCountThoseThatHaveFinished) {
  const CheckedRun run = with(ring(4), "gap_control", std::string("queues"));
  Stream stream(gap_bound(run));
  all_enter(stream, 4, 0).finished(0).enter(1, 1).enter(2, 1).enter(1, 2);
  EXPECT_TRUE(stream.ok());
}

TEST(LeadBound, HoldsLockStep) {
  Stream stream(lead_bound(ring(3), 1));
  all_enter(stream, 3, 0).enter(0, 1).enter(1, 1).enter(2, 1);
  EXPECT_TRUE(stream.enter(0, 2).ok());
  EXPECT_FALSE(stream.enter(0, 3).ok());
}

TEST(TokenCount, IsMaxIgPlusTheDifferenceOfIterations) {
  Stream good(token_count(ring(3)));
  all_enter(good, 3, 0).settle();
  good.spend(0, 1, 1).spend(0, 2, 1).enter(0, 1).send(0, 1, kTokenKind, 1, 1).send(0, 2, kTokenKind, 1, 1).settle();
  good.deliver(0, 1, kTokenKind, 1).settle();
  EXPECT_TRUE(good.ok()) << good.checker().violations().front();
  EXPECT_GT(good.checker().looked(), 0);
}

TEST(TokenCount, FindsAGrantForAnIterationNotYetEntered) {
  Stream bad(token_count(ring(3)));
  all_enter(bad, 3, 0).send(0, 1, kTokenKind, 1, 1).send(0, 2, kTokenKind, 1, 1);
  EXPECT_FALSE(bad.ok());
}

TEST(TokenCount, FindsATokenThatWasNeverThere) {
  Stream bad(token_count(ring(3)));
  all_enter(bad, 3, 0).spend(0, 1, 2);
  EXPECT_FALSE(bad.ok());
  EXPECT_NE(bad.checker().violations()[0].find("1 more than had arrived"), std::string::npos);
}

TEST(TokenCount, FindsTokensLostInAJump) {
  const CheckedRun run = with(with(ring(3), "max_jump", std::int64_t{2}), "max_ig", std::int64_t{2});
  Stream bad(token_count(run));
  all_enter(bad, 3, 0).spend(0, 1, 2).spend(0, 2, 2).enter(0, 2);
  bad.send(0, 1, kTokenKind, 2, 1).send(0, 2, kTokenKind, 2, 2);
  EXPECT_FALSE(bad.ok());
}

TEST(QueueCapacity, IsOneMoreThanMaxIgASender) {
  Stream stream(queue_capacity(ring(3)));
  stream.pass(1, 0, kParamsKind, 0).settle().pass(1, 0, kParamsKind, 1).settle();
  EXPECT_TRUE(stream.ok());
  stream.take(1, 0, kParamsKind, 0).pass(1, 0, kParamsKind, 2).drop(2, 0, kParamsKind, 0).settle();
  EXPECT_TRUE(stream.ok());
  EXPECT_FALSE(stream.pass(1, 0, kParamsKind, 3).ok());
}

TEST(UpdatesSent, MissesOne) {
  Stream good(updates_sent(ring(3)));
  good.enter(0, 0).send(0, 1, kParamsKind, 0).send(0, 2, kParamsKind, 0).enter(0, 1);
  EXPECT_TRUE(good.ok());
  EXPECT_FALSE(good.send(0, 1, kParamsKind, 1).enter(0, 2).ok());
  Stream twice(updates_sent(ring(3)));
  EXPECT_FALSE(twice.enter(0, 0).send(0, 1, kParamsKind, 0).send(0, 1, kParamsKind, 0).ok());
  Stream wrong_tag(updates_sent(ring(3)));
  EXPECT_FALSE(wrong_tag.enter(0, 0).send(0, 1, kParamsKind, 1).ok());
  Stream checks(updates_sent(with(ring(3), "check_receiver", true)));
  EXPECT_TRUE(checks.enter(1, 1).enter(0, 0).send(0, 2, kParamsKind, 0).enter(0, 1).ok());
  EXPECT_FALSE(checks.send(0, 2, kParamsKind, 1).enter(0, 2).ok());  // rank 1 may still use it
}

TEST(SteppedOnce, IsAStepOrALoss) {
  const auto dropping = [](const char* jump_momentum) {
    CheckedRun run = with(with(ring(3), "max_jump", std::int64_t{4}), "jump_momentum", std::string(jump_momentum));
    return with(run, "form", std::string("parallel"));
  };
  const auto begun = [](const CheckedRun& run) {
    Stream stream(stepped_once(run));
    stream.enter(0, 0).gradient(0, 0, 0, 4);
    return stream;
  };
  for (const char* rule : {"drop", "keep"}) {
    EXPECT_TRUE(begun(dropping(rule)).apply(0, 0, 0).enter(0, 1).ok());
    EXPECT_FALSE(begun(dropping(rule)).enter(0, 1).ok()) << "neither";
    EXPECT_FALSE(begun(dropping(rule)).apply(0, 0, 0).apply(0, 0, 0).enter(0, 1).ok());
  }
  EXPECT_TRUE(begun(dropping("drop")).lose(0, 0).enter(0, 3).ok());
  EXPECT_FALSE(begun(dropping("drop")).lose(0, 0).apply(0, 0, 0).ok()) << "both";
  EXPECT_TRUE(begun(dropping("keep")).apply(0, 0, 0).enter(0, 3).lose(0, 0).ok());
}

TEST(HeardOrLost, IsWhatAnUpdateSentInTimeHolds) {
  const CheckedRun run = with(with(ring(3), "max_jump", std::int64_t{4}), "max_ig", std::int64_t{4});
  const auto behind = [&](int tokens) -> Stream {  // rank 0 steps in 0 and sends it; the others are `tokens` ahead
    Stream stream(heard_or_lost(run));
    all_enter(stream, 3, 0);
    for (const int other : {1, 2}) {
      if (tokens > 0) stream.pass(other, 0, kTokenKind, 1, tokens).take(other, 0, kTokenKind, 1, tokens);
    }
    stream.apply(0, 0, 0).send(0, 1, kParamsKind, 0).send(0, 2, kParamsKind, 0);
    return stream;
  };
  EXPECT_TRUE(behind(0).enter(0, 3).reduce(0, 3, {1, 2}, {2, 2}).ok()) << "both may use it";
  EXPECT_FALSE(behind(2).enter(0, 3).reduce(0, 3, {1, 2}, {2, 2}).ok()) << "nobody can";
  EXPECT_TRUE(behind(2).lose(0, 0).enter(0, 3).reduce(0, 3, {1, 2}, {2, 2}).ok());
  EXPECT_TRUE(behind(2).enter(0, 3).reduce(0, 3, {0, 1, 2}, {1, 2, 2}).ok()) << "it keeps its own model";
  EXPECT_FALSE(behind(2).lose(0, 0).reduce(1, 0, {0, 1, 2}, {0, 0, 0}).ok()) << "rank 1 has it";
}

TEST(Quorum, IsEveryNeighbourButTheBackup) {
  const CheckedRun run = with(ring(4), "backup", std::int64_t{1});
  Stream stream(quorum(run));
  all_enter(stream, 4, 0).send(1, 0, kParamsKind, 0).send(3, 0, kParamsKind, 0);
  EXPECT_TRUE(stream.reduce(0, 0, {0, 1}, {0, 0}).ok());
  EXPECT_TRUE(stream.reduce(0, 0, {0, 1, 3}, {0, 0, 0}).ok());
  EXPECT_FALSE(stream.reduce(0, 0, {0}, {0}).ok());  // both neighbours left out
}

TEST(Quorum, FindsWrongTagsStrangersAndInventions) {
  Stream stale(quorum(ring(4)));
  all_enter(stale, 4, 0).send(1, 0, kParamsKind, 0).send(3, 0, kParamsKind, 0).enter(0, 1);
  EXPECT_FALSE(stale.reduce(0, 1, {0, 1, 3}, {1, 0, 0}).ok());
  Stream stranger(quorum(ring(4)));
  all_enter(stranger, 4, 0).send(1, 0, kParamsKind, 0).send(2, 0, kParamsKind, 0).send(3, 0, kParamsKind, 0);
  EXPECT_FALSE(stranger.reduce(0, 0, {0, 1, 2, 3}, {0, 0, 0, 0}).ok());
  Stream invented(quorum(ring(4)));
  all_enter(invented, 4, 0).send(1, 0, kParamsKind, 0);
  EXPECT_FALSE(invented.reduce(0, 0, {0, 1, 3}, {0, 0, 0}).ok());
  Stream selfless(quorum(ring(4)));
  all_enter(selfless, 4, 0).send(1, 0, kParamsKind, 0).send(3, 0, kParamsKind, 0);
  EXPECT_FALSE(selfless.reduce(0, 0, {1, 3}, {0, 0}).ok());
}

TEST(Quorum, AfterAJumpLeavesOutTheOwnUpdate) {
  const CheckedRun run = with(with(ring(4), "backup", std::int64_t{1}), "max_jump", std::int64_t{4});
  Stream stream(quorum(run));
  all_enter(stream, 4, 0).send(1, 0, kParamsKind, 2).send(3, 0, kParamsKind, 2).enter(0, 3);
  EXPECT_TRUE(stream.reduce(0, 3, {1, 3}, {2, 2}).ok());
  Stream own(quorum(run));
  all_enter(own, 4, 0).send(1, 0, kParamsKind, 2).send(3, 0, kParamsKind, 2).enter(0, 3);
  EXPECT_FALSE(own.reduce(0, 3, {0, 1, 3}, {2, 2, 2}).ok());
}

TEST(Quorum, DoesNotWaitForAnUpdateThatNeverComes) {
  Stream stream(quorum(ring(4)));
  all_enter(stream, 4, 0).send(1, 0, kParamsKind, 0).finished(3);
  EXPECT_TRUE(stream.reduce(0, 0, {0, 1}, {0, 0}).ok());
}

TEST(Staleness, TakesOneUpdateANeighbourNotOlderThanAllowed) {
  const CheckedRun run = with(ring(4), "staleness", std::int64_t{2});
  Stream good(staleness(run));
  all_enter(good, 4, 0).enter(0, 1).enter(0, 2);
  EXPECT_TRUE(good.reduce(0, 2, {0, 1, 3}, {2, 0, 4}).ok());
  good.enter(0, 3);
  EXPECT_FALSE(good.reduce(0, 3, {0, 1, 3}, {3, 0, 4}).ok());  // 3 - 2 > 0
  Stream twice(staleness(run));
  EXPECT_FALSE(all_enter(twice, 4, 0).reduce(0, 0, {0, 1, 1, 3}, {0, 0, 1, 0}).ok());
  Stream missing(staleness(run));
  EXPECT_FALSE(all_enter(missing, 4, 0).reduce(0, 0, {0, 1}, {0, 0}).ok());
  Stream once(staleness(with(run, "reuse", false)));
  all_enter(once, 4, 0).reduce(0, 0, {0, 1, 3}, {0, 0, 0}).enter(0, 1);
  EXPECT_FALSE(once.reduce(0, 1, {0, 1, 3}, {1, 0, 0}).ok()) << "averaged again";
  Stream back(staleness(run));
  all_enter(back, 4, 0).reduce(0, 0, {0, 1, 3}, {0, 1, 1}).enter(0, 1);
  EXPECT_FALSE(back.reduce(0, 1, {0, 1, 3}, {1, 0, 1}).ok());
}

TEST(ReduceWeights, AreLinearInFreshness) {
  const CheckedRun run = with(ring(4), "staleness", std::int64_t{2});
  Stream good(reduce_weights(run));
  good.enter(0, 0).enter(0, 1).enter(0, 2).reduce(0, 2, {0, 1, 3}, {2, 0, 4}, {3.0f / 9, 1.0f / 9, 5.0f / 9});
  EXPECT_TRUE(good.ok()) << good.checker().violations().front();
  Stream plain(reduce_weights(run));
  plain.enter(0, 0).enter(0, 1).enter(0, 2).reduce(0, 2, {0, 1, 3}, {2, 0, 4});
  EXPECT_FALSE(plain.ok());
}

TEST(ReduceWeights, AreEqualWithoutStaleness) {
  Stream good(reduce_weights(ring(4)));
  EXPECT_TRUE(good.enter(0, 0).reduce(0, 0, {0, 1, 3}, {0, 0, 0}).ok());
  // The divisor counts one update that is not there.
  EXPECT_FALSE(good.reduce(0, 0, {0, 1}, {0, 0}, {1.0f / 3, 1.0f / 3}).ok());
  Stream order(reduce_weights(ring(4)));
  EXPECT_FALSE(order.enter(0, 0).reduce(0, 0, {1, 3, 0}, {0, 0, 0}).ok());
}

TEST(MeanKept, NeedsDoublyStochasticWeights) {
  Stream good(mean_kept(ring(3)));
  for (int i = 0; i < 3; ++i) good.reduce(i, 0, {0, 1, 2}, {0, 0, 0});
  EXPECT_TRUE(good.ok());
  Stream bad(mean_kept(ring(3)));
  bad.reduce(0, 0, {0, 1, 2}, {0, 0, 0}).reduce(1, 0, {0, 1, 2}, {0, 0, 0}).reduce(2, 0, {0, 2}, {0, 0});
  EXPECT_FALSE(bad.ok());
}

TEST(OneUnacknowledged, HoldsBackTheNextUpdate) {
  Stream good(one_unacknowledged(ring(3)));
  good.pass(0, 1, kParamsKind, 0).reduce(1, 0, {1, 0}, {0, 0}).pass(1, 0, kAckKind, 0).send(0, 1, kParamsKind, 1);
  EXPECT_TRUE(good.ok());
  EXPECT_FALSE(good.send(0, 1, kParamsKind, 2).ok());
  Stream early(one_unacknowledged(ring(3)));
  EXPECT_FALSE(early.pass(0, 1, kParamsKind, 0).send(1, 0, kAckKind, 0).ok());
}

TEST(SspBound, CountsPushes) {
  const CheckedRun run = servers("ps_ssp", 2);
  Stream stream(ssp_bound(run, 1));
  stream.pass(0, 2, kPushKind, 0).pass(0, 2, kPushKind, 1);
  EXPECT_TRUE(stream.ok());
  EXPECT_FALSE(stream.pass(0, 2, kPushKind, 2).ok());
  Stream alone(ssp_bound(run, 1));
  alone.finished(1).pass(0, 2, kPushKind, 0).pass(0, 2, kPushKind, 1).pass(0, 2, kPushKind, 2);
  EXPECT_TRUE(alone.ok());
}

TEST(BspRound, IsMadeOfOneGradientAWorker) {
  Stream good(bsp_round(servers("ps_bsp", 2)));
  EXPECT_TRUE(good.apply(2, 0, 0).apply(2, 1, 0).send(2, 0, kWeightsKind, 1).apply(2, 1, 1).apply(2, 0, 1).ok());
  Stream twice(bsp_round(servers("ps_bsp", 2)));
  EXPECT_FALSE(twice.apply(2, 0, 0).apply(2, 0, 0).ok());
  Stream mixed(bsp_round(servers("ps_bsp", 2)));
  EXPECT_FALSE(mixed.apply(2, 0, 0).apply(2, 1, 1).ok());
  Stream early(bsp_round(servers("ps_bsp", 2)));
  EXPECT_FALSE(early.apply(2, 0, 0).send(2, 0, kWeightsKind, 1).apply(2, 1, 0).ok());
  Stream incomplete(bsp_round(servers("ps_bsp", 2)));
  EXPECT_FALSE(incomplete.apply(2, 0, 0).ok());
}

TEST(PushApplied, CountsEachGradientOnce) {
  Stream good(push_applied(servers("ps_asp", 2)));
  EXPECT_TRUE(good.pass(0, 2, kPushKind, 0).apply(2, 0, 0).ok());
  EXPECT_FALSE(good.apply(2, 0, 0).ok());
  Stream lost(push_applied(servers("ps_asp", 2)));
  EXPECT_FALSE(lost.pass(0, 2, kPushKind, 0).ok());
}

TEST(Delivery, KeepsOrderAndLosesNothing) {
  Stream good(delivery(ring(3)));
  good.send(0, 1, kParamsKind, 0).send(0, 1, kTokenKind, 1).deliver(0, 1, kParamsKind, 0).deliver(0, 1, kTokenKind, 1);
  good.take(0, 1, kParamsKind, 0).pass(0, 1, kParamsKind, 1).drop(0, 1, kParamsKind, 1);
  good.send(0, 1, kParamsKind, 2).drop(0, 1, kParamsKind, 2);  // on arrival
  EXPECT_TRUE(good.ok()) << good.checker().violations().front();
  EXPECT_FALSE(good.take(0, 1, kParamsKind, 0).ok());
  Stream swapped(delivery(ring(3)));
  swapped.send(0, 1, kParamsKind, 0).send(0, 1, kTokenKind, 1).deliver(0, 1, kTokenKind, 1);
  EXPECT_FALSE(swapped.deliver(0, 1, kParamsKind, 0).ok());
  Stream lost(delivery(ring(3)));
  EXPECT_FALSE(lost.send(0, 1, kParamsKind, 0).ok());
  Stream invented(delivery(ring(3)));
  EXPECT_FALSE(invented.deliver(0, 1, kParamsKind, 0).ok());
}

TEST(EnterOrder, GoesOneByOneOrByAnAllowedJump) {
  Stream good(enter_order(ring(1)));
  EXPECT_TRUE(good.enter(0, 0).enter(0, 1).enter(0, 2).ok());
  EXPECT_FALSE(good.enter(0, 4).ok());
  Stream jump(enter_order(with(ring(1), "max_jump", std::int64_t{3})));
  EXPECT_TRUE(jump.enter(0, 0).enter(0, 3).ok());
  EXPECT_FALSE(jump.enter(0, 7).ok());
  Stream again(enter_order(ring(1)));
  EXPECT_FALSE(again.enter(0, 0).enter(0, 0).ok());
  CheckedRun ends = ring(1);
  ends.iterations = 3;
  Stream early(enter_order(ends));
  EXPECT_FALSE(early.enter(0, 0).enter(0, 1).ok());
  EXPECT_FALSE(Stream(enter_order(ends)).ok()) << "nobody began";
  EXPECT_TRUE(Stream(enter_order(ring(1))).ok()) << "there may be fewer credits than workers";
}

TEST(MakeCheckers, ChoosesByConfiguration) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(names(ring(4)),
            (Names{"delivery", "enter_order", "gradient_counts", "weights_sum", "gap_bound", "updates_sent",
                   "stepped_once", "quorum", "reduce_weights", "token_count", "queue_capacity"}));
  EXPECT_EQ(names(with(ring(4), "staleness", std::int64_t{1})),
            (Names{"delivery", "enter_order", "gradient_counts", "weights_sum", "gap_bound", "updates_sent",
                   "stepped_once", "staleness", "reduce_weights", "token_count", "queue_capacity"}));
  CheckedRun real = ring(4);
  real.virtual_time = false;
  EXPECT_EQ(names(real), (Names{"delivery", "enter_order", "gradient_counts", "weights_sum", "gap_bound",
                                "updates_sent", "stepped_once", "quorum", "reduce_weights"}));
  EXPECT_EQ(names({.protocol = "selsync"}),
            (Names{"delivery", "enter_order", "gradient_counts", "weights_sum", "lead_bound", "sync_on_flag"}));
  EXPECT_EQ(names(servers("sync_switch", 4)),
            (Names{"delivery", "enter_order", "gradient_counts", "weights_sum", "push_applied", "one_switch"}));
  EXPECT_EQ(names(servers("dbw", 4)),
            (Names{"delivery", "enter_order", "gradient_counts", "weights_sum", "backup_update"}));
  CheckedRun partial = with(groups("partial_reduce", 4, 2), "avoid_frozen", true);
  EXPECT_EQ(names(partial), (Names{"delivery", "enter_order", "gradient_counts", "weights_sum", "group_matrix",
                                   "one_group", "group_size", "group_weights", "model_age", "connected_windows"}));
  partial = with(with(partial, "avoid_frozen", false), "weights", std::string("dynamic"));
  partial.knobs["decay"] = 0.5;
  EXPECT_EQ(names(partial), (Names{"delivery", "enter_order", "gradient_counts", "weights_sum", "one_group",
                                   "group_size", "group_weights", "model_age"}));
  EXPECT_EQ(names(groups("prague", 4, 2)), (Names{"delivery", "enter_order", "gradient_counts", "weights_sum",
                                                  "group_matrix", "one_group", "division"}));
  EXPECT_EQ(names(servers("ps_bsp", 4)), (Names{"delivery", "enter_order", "gradient_counts", "weights_sum",
                                                "push_applied", "lead_bound", "bsp_round"}));
}

}  // namespace
}  // namespace hopbench::checkers
