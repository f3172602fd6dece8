// The checkers of groups that a generator or a controller makes (Prague, Partial Reduce), each shown to fail.
#include <gtest/gtest.h>

#include "tests/checkers/event_stream.h"

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

// The events have the members up to rank 63 only: that 70 is in group 1 too is known when it is told.
TEST(OneGroup, LooksBackAtMembersBeyondTheFirstWord) {
  for (bool done : {true, false}) {
    Stream stream(one_group(groups("prague", 80, 2)));
    const auto ask = [&](int w) { stream.pass(w, 80, kRequestKind, 0); };
    const auto told = [&](int w, Iter group, std::int64_t bits) { stream.send(80, w, kReplyKind, group, bits); };
    ask(70);
    ask(2);
    told(70, 0, 0b001);  // of 0 and 70
    if (done) ask(70);
    told(2, 1, 0b100);  // of 2 and 70
    if (!done) ask(70);
    EXPECT_TRUE(stream.checker().ok());
    told(70, 1, 0b100);
    EXPECT_EQ(stream.ok(), done);
  }
  // Locked though it has not been told yet: of 70 in group 0 all is known too late for group 1, but not forgotten.
  Stream untold(one_group(groups("prague", 80, 2)));
  for (const int w : {0, 1, 70}) untold.pass(w, 80, kRequestKind, 0);
  untold.send(80, 0, kReplyKind, 0, 0b01).send(80, 1, kReplyKind, 1, 0b10);  // with 70, each
  untold.send(80, 70, kReplyKind, 0, 0b01).pass(70, 80, kRequestKind, 0);
  EXPECT_TRUE(untold.checker().ok());
  EXPECT_FALSE(untold.send(80, 70, kReplyKind, 1, 0b10).ok());
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

TEST(ModelAge, GoesOnFromTheNewestOfTheGroup) {
  const auto begun = [] {
    Stream stream(model_age(groups("partial_reduce", 2, 2)));
    stream.gradient(1, 0, 0, 4).gradient(1, 1, 0, 4).gradient(0, 0, 0, 4);
    stream.reduce(0, 0, {0, 1}, {1, 2}).reduce(1, 1, {0, 1}, {1, 2}).gradient(0, 1, 0, 4).gradient(1, 2, 0, 4);
    return stream;
  };
  EXPECT_TRUE(begun().reduce(0, 1, {0, 1}, {3, 3}).reduce(1, 2, {0, 1}, {3, 3}).ok());
  EXPECT_FALSE(begun().reduce(0, 1, {0, 1}, {2, 3}).ok()) << "as if it had never been averaged";
}

// --- Divisions of four workers, two on each host.

class Divided : public Stream {
 public:
  explicit Divided(std::int64_t threshold = 0) : Stream(division(run_of(threshold))) {}
  Divided& ask(int worker, bool leaves = false) {
    take(worker, 4, kRequestKind, 0, leaves ? 1 : 0);
    return *this;
  }
  Divided& told(Iter number, const std::vector<int>& members) {
    for (const int w : members) send(4, w, kReplyKind, number);
    return *this;
  }

 private:
  static CheckedRun run_of(std::int64_t threshold) {
    CheckedRun run = with(groups("prague", 4, 2), "inter_intra", true);
    run.knobs["slow_threshold"] = threshold;
    run.hosts = {0, 0, 1, 1};
    return run;
  }
};

// Group 0: who is no head on host 0; 1: on host 1; 2: the heads; 3 and 4: whole hosts. All ask once, then twice.
Divided& first_level(Divided& all, int head) {
  all.ask(0).told(0, {1 - head}).told(1, {3}).told(2, {head, 2});
  return all;
}

TEST(Division, IsHeadsThenWholeHosts) {
  Divided good;
  EXPECT_TRUE(first_level(good, 0).ask(1).told(3, {0, 1}).told(4, {2, 3}).ok());
  Divided alone;
  EXPECT_FALSE(first_level(alone, 0).told(3, {0}).told(4, {2, 3}).ok()) << "a host without one";
  Divided overlap;
  EXPECT_FALSE(overlap.ask(0).told(0, {0}).told(1, {3}).told(2, {0, 2}).told(3, {0, 1}).told(4, {2, 3}).ok());
  Divided more;
  EXPECT_FALSE(first_level(more, 0).told(3, {0, 1}).told(4, {2, 3}).told(5, {0, 2}).ok()) << "a group too many";
}

TEST(Division, LeavesOutWhoHasLeft) {
  for (const bool left : {true, false}) {
    Divided stream;
    if (left) stream.ask(3, true);
    EXPECT_EQ(stream.ask(0).told(0, {1}).told(1, {0, 2}).told(2, {0, 1}).ok(), left);
  }
}

// Worker 0 has asked once and asks again; nobody else has.
TEST(Division, LeavesOutWhoIsSlow) {
  const auto ahead = [](std::int64_t threshold) {
    Divided stream(threshold);
    first_level(stream, 0).told(3, {0, 1}).told(4, {2, 3}).ask(0);
    return stream;
  };
  for (const bool filter : {true, false}) {
    EXPECT_EQ(ahead(filter ? 1 : 0).told(5, {0}).ok(), filter);
    EXPECT_EQ(ahead(filter ? 1 : 0).told(5, {1}).told(6, {3}).told(7, {0, 2}).told(8, {0, 1}).told(9, {2, 3}).ok(),
              !filter);
  }
  // 1 asks, which is slow beside 0: 0 is drawn, but the whole host does not average with 1.
  for (const bool together : {true, false}) {
    Divided stream = ahead(1);
    stream.told(5, {0}).ask(0).told(6, {0}).ask(1).told(7, {1}).told(8, {3}).told(9, {0, 2});
    if (together) stream.told(10, {0, 1});
    EXPECT_EQ(stream.told(together ? 11 : 10, {2, 3}).ok(), !together);
  }
}

TEST(Division, DrawsEveryHeadSometimes) {
  for (const bool others : {true, false}) {
    Divided stream;
    for (Iter i = 0; i < 40; ++i) {
      const int a = others ? int(i % 2) : 0, b = 2 + a;
      stream.ask(0).told(5 * i, {1 - a}).told(5 * i + 1, {5 - b}).told(5 * i + 2, {a, b});
      stream.told(5 * i + 3, {0, 1}).told(5 * i + 4, {2, 3});
    }
    EXPECT_EQ(stream.ok(), others);
  }
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
