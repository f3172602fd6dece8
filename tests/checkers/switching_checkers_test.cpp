// The checkers for SelSync, Sync-Switch and DBW, tested as in tests/checkers/checkers_test.cpp.
#include <gtest/gtest.h>

#include "tests/checkers/event_stream.h"

namespace hopbench::checkers {
namespace {

Stream& all_enter(Stream& stream, int n, Iter k) {
  for (int i = 0; i < n; ++i) stream.enter(i, k);
  return stream;
}

CheckedRun flags() { return {.protocol = "selsync", .workers = 2}; }

// Both workers enter iteration k and tell each other their flags.
Stream& tell(Stream& stream, Iter k, bool of_0, bool of_1) {
  all_enter(stream, 2, k);
  return stream.send(0, 1, kRequestKind, k, of_0 ? 1 : 0).send(1, 0, kRequestKind, k, of_1 ? 1 : 0);
}

TEST(SyncOnFlag, AveragesWhereAFlagIsRaisedAndNowhereElse) {
  Stream good(sync_on_flag(flags()));
  tell(good, 0, true, false).send(0, 1, kReduceScatterKind, 0).send(1, 0, kReduceScatterKind, 0);
  tell(good, 1, false, false);
  EXPECT_TRUE(good.enter(0, 2).finished(1).ok()) << good.checker().violations().front();
  Stream idle(sync_on_flag(flags()));
  EXPECT_FALSE(tell(idle, 0, false, false).send(0, 1, kReduceScatterKind, 0).ok());
  Stream deaf(sync_on_flag(flags()));
  EXPECT_FALSE(tell(deaf, 0, true, false).send(0, 1, kReduceScatterKind, 0).enter(1, 1).ok());
}

TEST(SyncOnFlag, NeedsAllFlagsAlikeForAll) {
  CheckedRun three = flags();
  three.workers = 3;
  Stream two_faced(sync_on_flag(three));
  all_enter(two_faced, 3, 0).send(0, 1, kRequestKind, 0, 1);
  EXPECT_TRUE(two_faced.ok());
  EXPECT_FALSE(two_faced.send(0, 2, kRequestKind, 0, 0).ok());
  Stream hasty(sync_on_flag(flags()));
  EXPECT_FALSE(all_enter(hasty, 2, 0).send(0, 1, kRequestKind, 0, 1).send(0, 1, kReduceScatterKind, 0).ok());
  Stream silent(sync_on_flag(flags()));
  EXPECT_FALSE(all_enter(silent, 2, 0).send(0, 1, kRequestKind, 0, 0).enter(1, 1).ok());
}

CheckedRun switches(double fraction, Iter iterations) {
  CheckedRun run = servers("sync_switch", 2);
  run.iterations = iterations;
  run.knobs["fraction"] = fraction;
  run.knobs["online"] = std::string("off");
  return run;
}

TEST(OneSwitch, IsRoundsAndThenSingleGradients) {
  Stream good(one_switch(switches(0.5, 2)));
  good.reduce(2, 0, {0, 1}, {0, 0}).apply(2, 0, 0).apply(2, 1, 0).send(2, 0, kWeightsKind, 0).apply(2, 1, 1);
  EXPECT_TRUE(good.apply(2, 0, 1).ok()) << good.checker().violations().front();
  EXPECT_FALSE(good.reduce(2, 1, {0, 1}, {1, 1}).ok());  // back again
  Stream early(one_switch(switches(0.5, 4)));
  EXPECT_FALSE(early.reduce(2, 0, {0, 1}, {0, 0}).apply(2, 0, 0).apply(2, 1, 0).apply(2, 0, 1).ok());
  CheckedRun online = switches(0.5, 4);
  online.knobs["online"] = std::string("greedy");
  Stream forward(one_switch(online));
  EXPECT_TRUE(forward.reduce(2, 0, {0, 1}, {0, 0}).apply(2, 0, 0).apply(2, 1, 0).apply(2, 0, 1).ok());
  CheckedRun two = switches(0.5, 0);
  two.servers = 2;
  Stream apart(one_switch(two));
  EXPECT_FALSE(apart.reduce(2, 0, {0, 1}, {0, 0}).apply(2, 0, 0).apply(2, 1, 0).apply(3, 0, 0).ok());
}

TEST(OneSwitch, NeedsWholeRounds) {
  Stream missing(one_switch(switches(1, 1)));
  EXPECT_FALSE(missing.reduce(2, 0, {0}, {0}).apply(2, 0, 0).ok());
  Stream early(one_switch(switches(1, 1)));
  EXPECT_FALSE(early.reduce(2, 0, {0, 1}, {0, 0}).apply(2, 0, 0).send(2, 0, kWeightsKind, 0).apply(2, 1, 0).ok());
  Stream mixed(one_switch(switches(1, 1)));
  EXPECT_FALSE(mixed.reduce(2, 0, {0, 1}, {0, 1}).apply(2, 0, 0).apply(2, 1, 1).ok());
  Stream left(one_switch(switches(1, 0)));
  EXPECT_TRUE(left.finished(1).reduce(2, 0, {0}, {0}).apply(2, 0, 0).ok());
}

TEST(BackupUpdate, IsMadeOfAsManyGradientsAsAnnounced) {
  const CheckedRun run = servers("dbw", 2);
  Stream good(backup_update(run));
  good.reduce(2, 0, {0, 1}, {0, 0}).apply(2, 0, 0).apply(2, 1, 0).send(2, 0, kWeightsKind, 1, 1);
  good.send(2, 1, kWeightsKind, 1, 1)
      .take(1, 2, kPushKind, 1)
      .reduce(2, 1, {1}, {1})
      .apply(2, 1, 1)
      .send(2, 1, kWeightsKind, 2, 2);
  good.send(2, 0, kWeightsKind, 2, 2);  // came late
  EXPECT_TRUE(good.ok()) << good.checker().violations().front();
  EXPECT_FALSE(good.reduce(2, 2, {1}, {2}).ok());  // one of two
  Stream alone(backup_update(run));
  EXPECT_TRUE(alone.finished(1).reduce(2, 0, {0}, {0}).apply(2, 0, 0).ok());
  Stream many(backup_update(run));
  many.reduce(2, 0, {0, 1}, {0, 0}).apply(2, 0, 0).apply(2, 1, 0).send(2, 0, kWeightsKind, 1, 1);
  EXPECT_FALSE(many.reduce(2, 1, {0, 1}, {1, 1}).ok());
}

// Worker 1 never got version 1, so whatever it pushes is of version 0: under the label of version 1 as well.
TEST(BackupUpdate, FindsLateGradientsUnderAnyLabel) {
  for (const bool late : {false, true}) {
    Stream stream(backup_update(servers("dbw", 3)));
    stream.reduce(3, 0, {0, 1, 2}, {0, 0, 0}).apply(3, 0, 0).apply(3, 1, 0).apply(3, 2, 0);
    stream.send(3, 0, kWeightsKind, 1, 2).send(3, 2, kWeightsKind, 1, 2);
    if (!late) stream.send(3, 1, kWeightsKind, 1, 2);
    stream.take(0, 3, kPushKind, 1).take(1, 3, kPushKind, 1);
    EXPECT_EQ(stream.reduce(3, 1, {0, 1}, {1, 1}).apply(3, 0, 1).apply(3, 1, 1).ok(), !late);
  }
}

TEST(BackupUpdate, FindsLateGradientsAndOldWeights) {
  const CheckedRun run = servers("dbw", 2);
  const auto first = [&] {
    Stream stream(backup_update(run));
    stream.reduce(2, 0, {0, 1}, {0, 0}).apply(2, 0, 0).apply(2, 1, 0).send(2, 0, kWeightsKind, 1, 2);
    stream.send(2, 1, kWeightsKind, 1, 2).take(0, 2, kPushKind, 1).take(1, 2, kPushKind, 1);
    return stream;
  };
  EXPECT_TRUE(first().reduce(2, 1, {0, 1}, {1, 1}).apply(2, 0, 1).apply(2, 1, 1).ok());
  EXPECT_FALSE(first().reduce(2, 1, {0, 1}, {1, 0}).ok());
  EXPECT_FALSE(first().apply(2, 1, 0).ok());
  EXPECT_FALSE(first().reduce(2, 1, {0, 1}, {1, 1}).apply(2, 0, 1).apply(2, 1, 0).ok());
  EXPECT_FALSE(first().send(2, 1, kWeightsKind, 0, 2).ok());
  EXPECT_FALSE(first().send(2, 1, kWeightsKind, 1, 1).ok());  // another number
  EXPECT_FALSE(first().reduce(2, 1, {0, 1}, {1, 1}).apply(2, 0, 1).apply(2, 1, 1).send(2, 0, kWeightsKind, 2, 0).ok());
}

}  // namespace
}  // namespace hopbench::checkers
