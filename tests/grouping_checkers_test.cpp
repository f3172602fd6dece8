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

TEST(OneGroup, IsToldWhoAskedAndHasFinishedItsLast) {
  const auto ask = [](Stream& stream, int worker) { stream.pass(worker, 4, kRequestKind, 0); };
  Stream good(one_group(groups("prague", 4, 2)));
  ask(good, 0);
  ask(good, 1);
  good.send(4, 0, kReplyKind, 0).send(4, 1, kReplyKind, 0).pass(0, 4, kAckKind, 0).pass(1, 4, kAckKind, 0);
  ask(good, 0);
  EXPECT_TRUE(good.send(4, 0, kReplyKind, 1).pass(0, 4, kAckKind, 0).ok()) << good.checker().violations().front();
  EXPECT_FALSE(good.send(4, 0, kReplyKind, 2).ok());  // unasked
  Stream forgotten(one_group(groups("prague", 4, 2)));
  ask(forgotten, 0);
  EXPECT_FALSE(forgotten.ok());
  Stream back(one_group(groups("prague", 4, 2)));
  ask(back, 0);
  back.send(4, 0, kReplyKind, 1);
  ask(back, 0);
  EXPECT_FALSE(back.send(4, 0, kReplyKind, 0).ok());
}

TEST(OneGroup, StartsWhenAllMembersAreDoneWithTheirLast) {
  for (bool done : {true, false}) {
    Stream stream(one_group(groups("prague", 4, 2)));
    stream.pass(0, 4, kRequestKind, 0).pass(1, 4, kRequestKind, 0).send(4, 0, kReplyKind, 0);  // of 0 and 2
    if (done) stream.pass(0, 4, kAckKind, 0);
    stream.send(4, 1, kReplyKind, 1);  // of 0 and 1
    if (!done) stream.pass(0, 4, kAckKind, 0);
    stream.pass(0, 4, kRequestKind, 1).send(4, 0, kReplyKind, 1);
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
