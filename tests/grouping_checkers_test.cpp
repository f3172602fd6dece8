// The checkers of groups that a generator or a controller makes (Prague, Partial Reduce), each shown to fail.
#include <gtest/gtest.h>

#include "tests/event_stream.h"

namespace hopbench::checkers {
namespace {

TEST(GroupMatrix, IsAProjectionThatKeepsTheMean) {
  Stream good(group_matrix(groups("prague", 4, 2)));
  good.send(0, 1, kReduceScatterKind, 7).send(1, 0, kReduceScatterKind, 7);
  EXPECT_TRUE(good.reduce(0, 0, {0, 1}, {0, 0}).reduce(1, 0, {0, 1}, {0, 0}).ok());
  Stream weighted(group_matrix(groups("prague", 4, 2)));
  weighted.reduce(0, 0, {0, 1}, {0, 0}, {0.75f, 0.25f}).reduce(1, 0, {0, 1}, {0, 0}, {0.75f, 0.25f});
  EXPECT_FALSE(weighted.ok());
  Stream slow(group_matrix(groups("prague", 4, 2)));  // symmetric and doubly stochastic, but no projection
  slow.reduce(0, 0, {0, 1}, {0, 0}, {0.75f, 0.25f}).reduce(1, 0, {0, 1}, {0, 0}, {0.25f, 0.75f});
  EXPECT_FALSE(slow.ok());
  Stream alone(group_matrix(groups("prague", 4, 2)));
  EXPECT_FALSE(alone.reduce(0, 0, {0, 1}, {0, 0}).ok());
  Stream others(group_matrix(groups("prague", 4, 2)));
  EXPECT_FALSE(others.reduce(0, 0, {0, 1}, {0, 0}).reduce(1, 0, {1, 2}, {0, 0}).ok());
}

// A group of `members`, a bit for each, is told to worker w of four.
Stream& tell(Stream& stream, int w, Iter group, std::int64_t members) {
  return stream.send(4, w, kReplyKind, group, members);
}

TEST(OneGroup, IsToldWhoAskedAndHasFinishedItsLast) {
  const auto ask = [](Stream& stream, int worker) { stream.pass(worker, 4, kRequestKind, 0); };
  Stream good(one_group(groups("prague", 4, 2)));
  ask(good, 0);
  ask(good, 1);
  tell(good, 0, 0, 0b11);
  tell(good, 1, 0, 0b11).pass(0, 4, kAckKind, 0).pass(1, 4, kAckKind, 0);
  ask(good, 0);
  EXPECT_TRUE(tell(good, 0, 1, 0b1).pass(0, 4, kAckKind, 0).ok()) << good.checker().violations().front();
  EXPECT_FALSE(tell(good, 0, 2, 0b1).ok());  // unasked
  Stream forgotten(one_group(groups("prague", 4, 2)));
  ask(forgotten, 0);
  EXPECT_FALSE(forgotten.ok());
  Stream back(one_group(groups("prague", 4, 2)));
  ask(back, 0);
  tell(back, 0, 1, 0b1);
  ask(back, 0);
  EXPECT_FALSE(tell(back, 0, 0, 0b1).ok());
  Stream stranger(one_group(groups("prague", 4, 2)));
  ask(stranger, 2);
  EXPECT_FALSE(tell(stranger, 2, 0, 0b11).ok());
}

TEST(OneGroup, StartsWhenAllMembersAreDoneWithTheirLast) {
  for (bool done : {true, false}) {
    Stream stream(one_group(groups("prague", 4, 2)));
    stream.pass(0, 4, kRequestKind, 0).pass(1, 4, kRequestKind, 0);
    tell(stream, 0, 0, 0b101);  // of 0 and 2
    if (done) stream.pass(0, 4, kAckKind, 0);
    EXPECT_EQ(tell(stream, 1, 1, 0b011).ok(), done);  // of 0 and 1: seen though 0 is not told yet
  }
}

// Worker 2 is in group 0, which has started, but is not told before it asks.
TEST(OneGroup, HasALockOnMembersThatAreNotToldYet) {
  for (bool done : {true, false}) {
    Stream stream(one_group(groups("prague", 4, 2)));
    stream.pass(0, 4, kRequestKind, 0).pass(3, 4, kRequestKind, 0);
    tell(stream, 0, 0, 0b0101).pass(2, 4, kRequestKind, 0);
    if (done) tell(stream, 2, 0, 0b0101).pass(2, 4, kAckKind, 0);
    tell(stream, 3, 1, 0b1100);
    if (!done) tell(stream, 2, 0, 0b0101);
    EXPECT_EQ(stream.ok(), done);
  }
}

TEST(GroupSize, IsP) {
  Stream good(group_size(groups("partial_reduce", 4, 2)));
  EXPECT_TRUE(good.send(4, 0, kReplyKind, 0).send(4, 1, kReplyKind, 0).reduce(0, 0, {0, 1}, {0, 0}).ok());
  EXPECT_TRUE(good.send(4, 2, kReplyKind, -1).ok());  // goes on alone
  EXPECT_FALSE(good.reduce(0, 0, {0, 1, 2}, {0, 0, 0}).ok());
  Stream few(group_size(groups("partial_reduce", 4, 3)));
  EXPECT_FALSE(few.send(4, 0, kReplyKind, 0).send(4, 1, kReplyKind, 0).ok());
}

TEST(GroupWeights, SumToOneAndFallWithStaleness) {
  CheckedRun run = with(groups("partial_reduce", 4, 2), "weights", std::string("dynamic"));
  run.knobs["decay"] = 0.5;
  Stream good(group_weights(run));
  good.send(0, 1, kReduceScatterKind, 7).send(1, 0, kReduceScatterKind, 7);
  EXPECT_TRUE(good.reduce(0, 0, {0, 1}, {3, 5}, {0.2f, 0.8f}).ok()) << good.checker().violations().front();
  EXPECT_FALSE(good.reduce(1, 0, {0, 1}, {4, 5}, {1.0f / 3, 2.0f / 3}).ok());  // of the same group
  Stream flat(group_weights(run));
  EXPECT_FALSE(flat.reduce(0, 0, {0, 1}, {3, 5}).ok());
  Stream heavy(group_weights(with(run, "weights", std::string("constant"))));
  EXPECT_FALSE(heavy.reduce(0, 0, {0, 1}, {3, 5}, {0.75f, 0.75f}).ok());
}

TEST(ConnectedWindows, LeaveNobodyOut) {
  const CheckedRun run = with(groups("partial_reduce", 4, 2), "window", std::int64_t{3});
  const auto group = [](Stream& stream, Iter number, int a, int b) -> Stream& {
    return stream.send(4, a, kReplyKind, number).send(4, b, kReplyKind, number);
  };
  Stream good(connected_windows(run));
  group(good, 0, 0, 1);
  group(good, 1, 2, 3);
  EXPECT_TRUE(group(good, 2, 1, 2).ok());
  EXPECT_FALSE(group(good, 3, 1, 2).ok());  // 0 met nobody in the last three
  Stream finished(connected_windows(run));
  group(finished, 0, 0, 1);
  group(finished, 1, 1, 2).finished(3);
  EXPECT_TRUE(group(finished, 2, 0, 1).ok());
}

}  // namespace
}  // namespace hopbench::checkers
