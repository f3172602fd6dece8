// The checkers for graphs that change, quorums and cut gradients, tested as in tests/checkers/checkers_test.cpp.
#include <gtest/gtest.h>

#include "tests/checkers/event_stream.h"

namespace hopbench::checkers {
namespace {

CheckedRun of(const std::string& protocol, int workers) {
  CheckedRun run = ring(workers);
  run.protocol = protocol;
  run.knobs.clear();
  return run;
}

TEST(Matchings, AreUsedBothWaysWithOneWeight) {
  const CheckedRun run = with(of("matcha", 4), "budget", 1.0);
  const auto averages = [&](float there, float back, int partner) {
    Stream stream(matchings(run));
    for (int w = 0; w < 4; ++w) stream.enter(w, 0);
    stream.reduce(0, 0, {1, 0}, {0, 0}, {there, 1 - there}).reduce(1, 0, {partner, 1}, {0, 0}, {back, 1 - back});
    if (partner != 0) stream.reduce(2, 0, {1, 2}, {0, 0}, {back, 1 - back});
    for (int w = 0; w < 4; ++w) stream.enter(w, 1);
    return stream.ok();
  };
  EXPECT_TRUE(averages(0.3f, 0.3f, 0));
  EXPECT_FALSE(averages(0.3f, 0.4f, 0));
  EXPECT_FALSE(averages(0.3f, 0.3f, 2)) << "1 averages with another than 0, which averages with it";
  Stream heavy(matchings(run));
  EXPECT_FALSE(heavy.enter(0, 0).reduce(0, 0, {1, 0}, {0, 0}, {0.3f, 1.0f}).ok()) << "weights that do not sum to 1";
}

TEST(Matchings, KeepToTheBudget) {
  const auto used = [](double budget) {
    Stream stream(matchings(with(of("matcha", 4), "budget", budget)));
    for (Iter k = 0; k < 100; ++k) {
      for (int w = 0; w < 4; ++w) stream.enter(w, k);
      for (int w = 0; w < 4; ++w) stream.reduce(w, k, {(w + 3) % 4, w, (w + 1) % 4}, {k, k, k}, {0.2f, 0.6f, 0.2f});
    }
    return stream.ok();
  };
  EXPECT_TRUE(used(1));
  EXPECT_FALSE(used(0.5)) << "all links in every iteration";
}

// Workers 0 .. 3 on a ring, controller 4.
TEST(ActiveRounds, BeginWithALinkThatIsNew) {
  const auto done = [](Stream& stream, int worker, Iter k) -> Stream& {
    return stream.pass(worker, 4, kRequestKind, k).take(worker, 4, kRequestKind, k);
  };
  CheckedRun run = of("dsgd_aau", 4);
  run.servers = 1;
  Stream good(active_rounds(run));
  done(good, 0, 0);
  done(good, 2, 0);
  done(good, 1, 0);
  good.send(4, 0, kReplyKind, 0).send(4, 1, kReplyKind, 0).send(4, 2, kReplyKind, 0);
  good.reduce(0, 0, {0, 1}, {0, 0}, {2 / 3.0f, 1 / 3.0f});
  EXPECT_TRUE(good.ok()) << good.checker().violations().front();
  EXPECT_FALSE(good.reduce(2, 0, {1, 2}, {0, 0}, {0.5f, 0.5f}).ok()) << "1 has two active neighbours: a third";
  Stream early(active_rounds(run));
  done(early, 0, 0);
  done(early, 2, 0);
  EXPECT_FALSE(early.send(4, 0, kReplyKind, 0).ok()) << "0 and 2 are no neighbours";
  Stream late(active_rounds(run));
  done(late, 0, 0);
  done(late, 1, 0);
  EXPECT_FALSE(done(late, 2, 0).ok()) << "0 and 1 could have gone on";
  Stream stranger(active_rounds(run));
  done(stranger, 0, 0);
  done(stranger, 1, 0);
  EXPECT_FALSE(stranger.send(4, 3, kReplyKind, 0).ok());
}

TEST(Pulls, AreOfTheNeighbourThatWasAsked) {
  const auto drawn = [](int asked, int from, float own, float other = 0.25f) {
    Stream stream(pulls(of("netmax", 5)));
    stream.enter(0, 0).send(0, asked, kRequestKind, 0);
    return stream.reduce(0, 0, {0, from}, {0, 0}, {own, other}).ok();
  };
  EXPECT_TRUE(drawn(1, 1, 0.75f));
  EXPECT_FALSE(drawn(1, 4, 0.75f));
  EXPECT_FALSE(drawn(2, 2, 0.75f)) << "no neighbour";
  EXPECT_FALSE(drawn(1, 1, 1.0f));
  EXPECT_TRUE(drawn(1, 1, 0.5f, 0.5f));
  EXPECT_FALSE(drawn(1, 1, 0.4f, 0.6f)) << "more than half";
}

// Learners 0 .. 3, syncer 4.
TEST(QuorumMerges, HaveAQuorum) {
  const CheckedRun run = with(servers("decoupled_diloco", 4), "quorum", std::int64_t{2});
  const auto merged = [&](const std::vector<int>& pushed, const std::vector<int>& applied) {
    Stream stream(quorum_merges(run));
    for (const int learner : pushed) stream.pass(learner, 4, kPushKind, 0).take(learner, 4, kPushKind, 0);
    for (const int learner : applied) stream.apply(4, learner, 3);
    return stream.send(4, 0, kWeightsKind, 0).ok();
  };
  EXPECT_TRUE(merged({0, 2}, {0, 2}));
  EXPECT_TRUE(merged({0, 2, 3}, {0, 2, 3}));
  EXPECT_FALSE(merged({0}, {0}));
  EXPECT_FALSE(merged({0, 2}, {0, 2, 3})) << "3 has sent nothing";
  EXPECT_FALSE(merged({0, 2, 3}, {0, 2})) << "3 is left out";
  EXPECT_FALSE(merged({0, 2}, {0, 2, 2}));
}

TEST(FrontParts, AreTheNextOnesOfTheBatch) {
  CheckedRun run{.protocol = "abs_sgd", .workers = 2};
  run.batch = 4;
  Stream good(front_parts(run));
  good.enter(0, 0).gradient(0, 0, 0, 2).gradient(0, 0, 2, 2).enter(0, 1).gradient(0, 1, 4, 2);
  EXPECT_TRUE(good.ok()) << good.checker().violations().front();
  EXPECT_FALSE(good.gradient(0, 1, 7, 1).ok()) << "a gap";
  Stream twice(front_parts(run));
  EXPECT_FALSE(twice.enter(0, 0).gradient(0, 0, 0, 2).gradient(0, 0, 0, 2).ok());
  Stream more(front_parts(run));
  EXPECT_FALSE(more.enter(0, 0).gradient(0, 0, 0, 4).gradient(0, 0, 4, 2).ok());
}

// Each event is 1 us after the one before, whoever it is of.
TEST(FrontParts, HaveOneTimeLimit) {
  CheckedRun run{.protocol = "dropcompute", .workers = 2};
  run.batch = 4;
  run.knobs["measured"] = std::int64_t{1};
  const auto measured = [&](Stream& stream) -> Stream& {
    return stream.enter(0, 0).gradient(0, 0, 0, 4).enter(1, 0).gradient(1, 0, 0, 4).enter(0, 1).enter(1, 1);
  };
  Stream early(front_parts(run));
  early.enter(0, 0).gradient(0, 0, 0, 2);
  EXPECT_FALSE(early.send(0, 1, kReduceScatterKind, 0).ok()) << "cut while times are measured";
  Stream good(front_parts(run));
  measured(good)
      .gradient(0, 1, 4, 2)
      .gradient(1, 1, 4, 2)
      .send(0, 1, kReduceScatterKind, 1)
      .send(1, 0, kReduceScatterKind, 1);
  EXPECT_TRUE(good.ok());
  Stream apart(front_parts(run));
  measured(apart).gradient(0, 1, 4, 2).send(0, 1, kReduceScatterKind, 1);
  apart.gradient(1, 1, 4, 1).gradient(1, 1, 5, 1).gradient(1, 1, 6, 1);
  EXPECT_FALSE(apart.ok()) << "0 stopped after 2 us, 1 began another after 4";
}

}  // namespace
}  // namespace hopbench::checkers
