// The checkers for protocols over parameter servers, tested as in tests/checkers/checkers_test.cpp.
#include <gtest/gtest.h>

#include "tests/checkers/event_stream.h"

namespace hopbench::checkers {
namespace {

// A push of a worker to server 2, which applies it.
Stream& push(Stream& stream, int worker, Iter k) {
  return stream.pass(worker, 2, kPushKind, k).take(worker, 2, kPushKind, k).apply(2, worker, k);
}

TEST(DsspRule, PlaysBothAlgorithmsAlong) {
  CheckedRun run = servers("dssp", 2);
  run.knobs["mode"] = std::string("faithful");
  run.knobs["s_l"] = std::int64_t{1};
  Stream good(dssp_rule(run));
  push(good, 0, 0).answer(2, 0, 0);
  push(good, 0, 1);  // held: two ahead
  push(good, 1, 0).answer(2, 0, 1).answer(2, 1, 0);
  EXPECT_TRUE(push(good, 0, 2).ok()) << good.checker().violations().front();
  EXPECT_FALSE(good.answer(2, 0, 2).ok());  // held
  Stream forgotten(dssp_rule(run));
  push(forgotten, 0, 0);
  EXPECT_FALSE(push(forgotten, 1, 0).ok());
  Stream late(dssp_rule(run));
  EXPECT_FALSE(push(late, 0, 0).send(2, 0, kWeightsKind, 0).ok());  // some time after
  Stream last(dssp_rule(run));
  EXPECT_TRUE(push(last, 0, 0).finished(1).answer(2, 1, 0).ok());
}

// Two workers, 0 and 1, and two servers, 2 and 3.
CheckedRun on_two_servers(const std::string& protocol) {
  CheckedRun run = servers(protocol, 2);
  run.servers = 2;
  return run;
}

// The first server decides that worker's push k is answered.
Stream& decide(Stream& stream, int worker, Iter k) {
  return stream.send(2, worker, kWeightsKind, k).take(2, 3, kClockKind, k, worker);
}

TEST(HeldEverywhere, IsOfEveryServer) {
  const auto begun = [] {  // with s = 0, of worker 0's push
    Stream stream(held_everywhere(on_two_servers("ps_ssp"), 0));
    stream.apply(2, 0, 0).apply(2, 1, 0);
    decide(stream, 0, 0);
    return stream;
  };
  EXPECT_TRUE(begun().apply(3, 0, 0).apply(3, 1, 0).send(3, 0, kWeightsKind, 0).ok());
  EXPECT_TRUE(begun().finished(1).apply(3, 0, 0).send(3, 0, kWeightsKind, 0).ok());
  EXPECT_FALSE(begun().apply(3, 1, 0).send(3, 0, kWeightsKind, 0).ok()) << "without the push itself";
  EXPECT_FALSE(begun().apply(3, 0, 0).send(3, 0, kWeightsKind, 0).ok()) << "without the other worker's";
  EXPECT_FALSE(begun().apply(3, 0, 0).apply(3, 1, 0).send(3, 1, kWeightsKind, 0).ok()) << "undecided";
  Stream first(held_everywhere(on_two_servers("ps_ssp"), 0));
  EXPECT_FALSE(first.apply(2, 0, 0).send(2, 0, kWeightsKind, 0).ok()) << "the first is a server too";
}

TEST(HeldEverywhere, AsksNothingOfTheOthersWhereDsspMayHaveGranted) {
  for (const bool granted : {true, false}) {
    Stream stream(held_everywhere(on_two_servers("dssp"), 0));
    stream.apply(2, 0, 0);
    if (!granted) stream.apply(2, 1, 0);
    decide(stream, 0, 0).apply(3, 0, 0).send(3, 0, kWeightsKind, 0);
    EXPECT_EQ(stream.ok(), granted);
  }
}

TEST(HeldEverywhere, AsksForTheOthersWhereDsspCannotHaveGranted) {
  for (const bool granted : {true, false}) {
    CheckedRun run = on_two_servers("dssp");
    run.knobs["r_max"] = std::int64_t{1};
    Stream stream(held_everywhere(run, 0));
    if (!granted) stream.apply(2, 1, 0);
    stream.apply(2, 0, 0);
    decide(stream, 0, 0);
    if (granted) stream.apply(2, 1, 0).apply(3, 1, 0);  // one answer is left of the grant
    stream.apply(3, 0, 0);
    if (granted) stream.send(3, 0, kWeightsKind, 0).apply(2, 1, 1).apply(2, 0, 1);
    if (granted) decide(stream, 0, 1).apply(3, 0, 1);
    EXPECT_EQ(stream.send(3, 0, kWeightsKind, granted ? 1 : 0).ok(), granted);
  }
}

TEST(DsspRule, GrantsWhatTheControllerSays) {
  CheckedRun run = servers("dssp", 2);
  run.knobs["mode"] = std::string("faithful");
  run.knobs["s_l"] = std::int64_t{0};
  run.knobs["r_max"] = std::int64_t{4};
  // Takes are 4 us apart, the last one 5: worker 0's next pushes are due at 20, 29, 38, 47, 56, worker 1's at 23, 31,
  // 39, 47, 55: they meet at 47, a grant of 3.
  const auto two_each_and_one = [](Stream& s) -> Stream& {
    push(push(s, 0, 0), 1, 0).answer(2, 0, 0).answer(2, 1, 0);
    push(push(s, 0, 1), 1, 1).answer(2, 0, 1).answer(2, 1, 1).enter(0, 2);
    return push(s, 0, 2).answer(2, 0, 2);
  };
  Stream good(dssp_rule(run));
  EXPECT_TRUE(two_each_and_one(good).ok()) << good.checker().violations().front();
  for (Iter k = 3; k <= 5; ++k) push(good, 0, k).answer(2, 0, k);
  EXPECT_TRUE(good.ok()) << good.checker().violations().front();
  run.knobs["r_max"] = std::int64_t{0};
  Stream bad(dssp_rule(run));
  EXPECT_FALSE(two_each_and_one(bad).ok());
}

TEST(BackupRound, IsMadeOfAllButBGradientsOfTheNewestWeights) {
  const CheckedRun run = with(servers("ps_backup", 3), "backup", std::int64_t{1});
  const auto round = [&](Stream& s) -> Stream& {  // of 0 and 1; 2 comes too late
    return s.apply(3, 0, 0).apply(3, 1, 0).send(3, 0, kWeightsKind, 0).send(3, 1, kWeightsKind, 0);
  };
  Stream good(backup_round(run));
  round(good).send(3, 2, kWeightsKind, 0).apply(3, 2, 1).apply(3, 0, 1).send(3, 2, kWeightsKind, 1);
  EXPECT_TRUE(good.ok()) << good.checker().violations().front();
  Stream stale(backup_round(run));
  EXPECT_FALSE(round(stale).apply(3, 2, 0).apply(3, 0, 1).send(3, 2, kWeightsKind, 0).ok());
  Stream few(backup_round(run));
  EXPECT_FALSE(few.apply(3, 0, 0).send(3, 0, kWeightsKind, 0).ok());
  Stream many(backup_round(run));
  EXPECT_FALSE(many.apply(3, 0, 0).apply(3, 1, 0).apply(3, 2, 0).send(3, 0, kWeightsKind, 0).ok());
  Stream twice(backup_round(run));
  EXPECT_FALSE(twice.apply(3, 0, 0).apply(3, 0, 0).apply(3, 1, 0).send(3, 0, kWeightsKind, 0).ok());
  Stream in_time(backup_round(run));
  EXPECT_FALSE(in_time.send(3, 0, kWeightsKind, 0).ok());
  Stream open(backup_round(run));
  EXPECT_FALSE(open.apply(3, 0, 0).ok());
  Stream alone(backup_round(run));
  EXPECT_TRUE(alone.finished(1).finished(2).apply(3, 0, 0).send(3, 0, kWeightsKind, 0).ok());
}

TEST(RoundRobin, KeepsTheCycleAndTheStaleness) {
  Stream good(round_robin(servers("r2sp", 3)));
  for (Iter k = 0; k < 3; ++k) {
    for (int w = 0; w < 3; ++w) good.apply(3, w, k).send(3, w, kWeightsKind, k);
  }
  EXPECT_TRUE(good.ok()) << good.checker().violations().front();
  EXPECT_FALSE(good.apply(3, 1, 3).ok());
  Stream fresh(round_robin(servers("r2sp", 2)));
  EXPECT_FALSE(fresh.apply(2, 0, 0).apply(2, 1, 0).send(2, 0, kWeightsKind, 0).apply(2, 0, 1).ok());
  Stream left(round_robin(servers("r2sp", 3)));
  EXPECT_TRUE(left.apply(3, 0, 0).finished(1).apply(3, 2, 0).apply(3, 0, 1).ok());
}

TEST(ElasticBarrier, IsMetByAll) {
  const CheckedRun run = with(servers("elastic_bsp", 2), "r", std::int64_t{2});
  Stream good(elastic_barrier(run));
  good.take(0, 2, kPushKind, 0).take(1, 2, kPushKind, 0).send(2, 0, kWeightsKind, 0).send(2, 1, kWeightsKind, 0);
  good.take(0, 2, kPushKind, 1, 1).send(2, 0, kWeightsKind, 1).take(0, 2, kPushKind, 2);
  EXPECT_TRUE(good.ok()) << good.checker().violations().front();
  EXPECT_FALSE(good.send(2, 0, kWeightsKind, 2).ok());  // 1 is not there yet
  Stream many(elastic_barrier(run));
  many.take(0, 2, kPushKind, 0, 2).take(0, 2, kPushKind, 1, 1);
  EXPECT_TRUE(many.ok());
  EXPECT_FALSE(many.take(0, 2, kPushKind, 2).ok());
}

}  // namespace
}  // namespace hopbench::checkers
