// The checkers' rules for survivors: streams in which a rank dies, by hand as in checkers_test.cpp.
#include <gtest/gtest.h>

#include "tests/checkers/event_stream.h"

namespace hopbench::checkers {
namespace {

TEST(SurvivorsCheckers, EnterOrderAsksTheDeadForNoFurtherIteration) {
  CheckedRun run = ring(3);
  run.iterations = 1;
  Stream stream(enter_order(run));
  EXPECT_TRUE(stream.enter(0, 0).enter(1, 0).dies(2).ok());
  Stream alive(enter_order(run));
  EXPECT_FALSE(alive.enter(0, 0).enter(1, 0).ok());
}

TEST(SurvivorsCheckers, QuorumCountsTheDeadAmongTheBackups) {
  const CheckedRun run = with(ring(4), "backup", std::int64_t{1});
  Stream stream(quorum(run));
  stream.enter(0, 0).send(1, 0, kParamsKind, 0).dies(3);
  EXPECT_TRUE(stream.reduce(0, 0, {0, 1}, {0, 0}).ok());
  EXPECT_FALSE(stream.enter(0, 1).dies(1).reduce(0, 1, {0}, {1}).ok()) << "both are dead, and one backup";
}

/// 0 asks 1 in iteration 0.
Stream& asked(Stream& stream) { return stream.send(0, 1, kRequestKind, 0); }

TEST(SurvivorsCheckers, PairSumAcceptsAVoidExchangeOnly) {
  const CheckedRun run = ring(4);
  Stream unanswered(pair_sum(run));
  EXPECT_TRUE(asked(unanswered).dies(1).hears_of_death(0, 1).apply(0, 0, 0).ok());
  Stream answered(pair_sum(run));
  asked(answered).send(1, 0, kReplyKind, 0).reduce(1, 0, {0, 1}, {0, 0}).dies(1).hears_of_death(0, 1);
  EXPECT_FALSE(answered.apply(0, 0, 0).ok()) << "the answer is there or comes";
  Stream unheard(pair_sum(run));
  EXPECT_FALSE(asked(unheard).dies(1).apply(0, 0, 0).ok()) << "nobody told it of the death";
}

TEST(SurvivorsCheckers, PairSumFindsTalkWithTheDead) {
  const CheckedRun run = ring(4);
  Stream answers(pair_sum(run));
  asked(answers).dies(0).hears_of_death(1, 0);
  EXPECT_FALSE(answers.send(1, 0, kReplyKind, 0).ok());
  Stream asks(pair_sum(run));
  EXPECT_FALSE(asked(asks.dies(1).hears_of_death(0, 1)).ok());
}

TEST(SurvivorsCheckers, BackupRoundExpectsNoAnswerToTheDead) {
  const CheckedRun run = with(servers("ps_backup", 4), "backup", std::int64_t{2});
  const auto update = [](Stream& stream) -> Stream& {
    return stream.apply(4, 0, 0).apply(4, 1, 0).send(4, 0, kWeightsKind, 0);  // nothing to 1
  };
  Stream dead(backup_round(run));
  update(dead.dies(1).hears_of_death(4, 1)).send(4, 2, kWeightsKind, 0).apply(4, 0, 1).apply(4, 2, 1);
  EXPECT_TRUE(dead.send(4, 0, kWeightsKind, 1).send(4, 2, kWeightsKind, 1).ok());
  Stream alive(backup_round(run));
  update(alive).send(4, 2, kWeightsKind, 0).apply(4, 0, 1).apply(4, 2, 1);
  EXPECT_FALSE(alive.send(4, 0, kWeightsKind, 1).send(4, 2, kWeightsKind, 1).ok());
}

TEST(SurvivorsCheckers, GroupsLackOnlyTheDead) {
  const CheckedRun run = groups("partial_reduce", 3, 3);
  const auto grouped = [](Stream& stream) -> Stream& {
    for (int w : {0, 1, 2}) stream.send(3, w, kReplyKind, 0).take(3, w, kReplyKind, 0);
    return stream;
  };
  for (CheckerPtr (*make)(const CheckedRun&) : {group_size, group_matrix}) {
    Stream dead(make(run));
    grouped(dead).dies(2).reduce(0, 0, {0, 1}, {0, 0}).reduce(1, 0, {0, 1}, {0, 0});
    EXPECT_TRUE(dead.ok()) << dead.checker().name();
    Stream halfway(make(run));
    grouped(halfway).dies(2).reduce(0, 0, {0, 1, 2}, {0, 0, 0}).reduce(1, 0, {0, 1, 2}, {0, 0, 0});
    EXPECT_TRUE(halfway.ok()) << halfway.checker().name();
  }
  Stream left_out(group_size(run));
  EXPECT_FALSE(grouped(left_out).reduce(0, 0, {0, 1}, {0, 0}).ok());
  Stream idle(group_matrix(run));
  grouped(idle).reduce(0, 0, {0, 1, 2}, {0, 0, 0}).reduce(1, 0, {0, 1, 2}, {0, 0, 0});
  EXPECT_FALSE(idle.ok()) << "2 lives and did not average";
}

TEST(SurvivorsCheckers, OneGroupAsksForNoAnswerToTheDead) {
  const CheckedRun run = groups("prague", 3, 2);
  Stream dead(one_group(run));
  EXPECT_TRUE(dead.deliver(1, 3, kRequestKind, 0).dies(1).ok());
  Stream alive(one_group(run));
  EXPECT_FALSE(alive.deliver(1, 3, kRequestKind, 0).ok());
}

TEST(SurvivorsCheckers, DivisionFindsTheDeadInAGroupThatIsToldAfterwards) {
  const CheckedRun run = groups("prague", 4, 2);
  constexpr std::int64_t kZeroAndOne = 3, kZeroAlone = 1;  // a bit a worker
  Stream without(division(run));
  without.hears_of_death(4, 1).send(4, 0, kReplyKind, 0, kZeroAlone);
  EXPECT_TRUE(without.ok()) << without.checker().violations().front();
  Stream with_it(division(run));
  with_it.hears_of_death(4, 1).send(4, 0, kReplyKind, 0, kZeroAndOne);
  EXPECT_FALSE(with_it.ok());
  Stream told_before(division(run));
  told_before.send(4, 2, kReplyKind, 0, kZeroAndOne).hears_of_death(4, 1).send(4, 0, kReplyKind, 0, kZeroAndOne);
  EXPECT_TRUE(told_before.ok());
}

}  // namespace
}  // namespace hopbench::checkers
