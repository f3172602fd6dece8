// Node: messages, waits, who has left, what is recorded. Its arithmetic: node_arithmetic_test.cpp.
#include <gtest/gtest.h>

#include "backends/runtime/virtual/simulated.h"
#include "tests/protocols/node/node_fixture.h"

namespace hopbench {
namespace {

std::vector<int> senders_of(const std::vector<Message>& messages) {
  std::vector<int> senders;
  for (const Message& m : messages) senders.push_back(m.from);
  return senders;
}

const std::vector<int> kFour = {1, 2, 3, 4};

TEST_F(NodeTest, GatherReturnsAsSoonAsEnoughSendersAreThereByAscendingSender) {
  runtime.arrives(1, 4, kParams, 7);
  runtime.arrives(2, 2, kParams, 7);
  runtime.arrives(3, 3, kParams, 6);  // another iteration
  runtime.arrives(5, 1, kParams, 7);
  runtime.arrives(9, 3, kParams, 7);
  const auto messages = node().gather(kFour, 3, is(kParams, 7), "parameters");
  EXPECT_EQ(senders_of(messages), (std::vector<int>{1, 2, 4}));
  EXPECT_EQ(runtime.now(), at_ms(5));
  EXPECT_EQ(seen.of(EventKind::kTake).size(), 3u);
}

TEST_F(NodeTest, GatherReturnsFurtherMessagesThatAreHere) {
  for (int from : kFour) runtime.arrives(1, from, kParams, 0);
  EXPECT_EQ(senders_of(node().gather(kFour, 2, is(kParams, 0), "parameters")), kFour);
}

TEST_F(NodeTest, GatherCountsSendersNotMessages) {
  runtime.arrives(1, 2, kPush, 0);
  runtime.arrives(2, 2, kPush, 1);
  runtime.arrives(3, 0, kPush, 2);  // not asked for
  runtime.arrives(4, 1, kPush, 0);
  const auto messages = node().gather(kFour, 2, is(kPush), "gradients");
  EXPECT_EQ(runtime.now(), at_ms(4));
  ASSERT_EQ(senders_of(messages), (std::vector<int>{0, 1, 2, 2})) << "what else matches comes along";
  EXPECT_EQ(messages[2].iter, 0) << "of one sender the oldest first";
}

TEST_F(NodeTest, GatherDoesNotWaitForSendersThatHaveLeft) {
  runtime.arrives(1, 1, kParams, 0);
  runtime.arrives(2, 2, kParams, 0);
  runtime.arrives(3, 3, kBye, 0);
  runtime.arrives(4, 4, kBye, 0);
  EXPECT_EQ(senders_of(node().gather(kFour, 4, is(kParams, 0), "parameters")), (std::vector<int>{1, 2}));
  EXPECT_EQ(runtime.now(), at_ms(4));
  EXPECT_FALSE(node().present(3));
  EXPECT_TRUE(node().present(2));
}

// The quorum is out of reach then: the one message that may still come is enough, and must be looked at.
TEST_F(NodeTest, GatherLooksAtEveryMessageOnceSomebodyHasLeft) {
  runtime.arrives(1, 1, kBye, 0);
  runtime.arrives(2, 3, kPush, 0);
  node().recv(is(kPush), "a gradient");
  runtime.arrives(5, 2, kParams, 0);
  EXPECT_EQ(senders_of(node().gather(std::vector<int>{1, 2}, 2, is(kParams, 0), "parameters")), (std::vector<int>{2}));
  EXPECT_EQ(runtime.now(), at_ms(5));
}

TEST_F(NodeTest, GatherStillTakesWhatALeaverSent) {
  runtime.arrives(1, 1, kParams, 0);
  runtime.arrives(1, 1, kBye, 0);
  runtime.arrives(2, 2, kParams, 0);
  EXPECT_EQ(senders_of(node().gather(std::vector<int>{1, 2}, 2, is(kParams, 0), "parameters")),
            (std::vector<int>{1, 2}));
}

TEST_F(NodeTest, ReceivingFromWhoHasLeftIsAnError) {
  runtime.arrives(1, 3, kBye, 0);
  try {
    node().recv(is_from(kParams, 3), "parameters");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "rank 0 waits for parameters from rank 3, which has left");
  }
}

TEST_F(NodeTest, ReceivingFromWhoDiedSaysSo) {
  runtime.arrives(1, 3, kGone, 0);
  try {
    node().recv(is_from(kParams, 3), "parameters");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "rank 3 died while rank 0 waited for parameters");
  }
}

TEST_F(NodeTest, AWaitFailsWhenARankDies) {
  runtime.arrives(1, 3, kGone, 0);
  try {
    node().gather(kFour, 4, is(kParams, 0), "parameters");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kTrialsFailed);
    EXPECT_STREQ(error.what(), "rank 3 died while rank 0 waited for parameters");
  }
  ASSERT_EQ(seen.of(EventKind::kPeerDied).size(), 1u);
  EXPECT_EQ(seen.of(EventKind::kPeerDied)[0].peer, 3);
}

TEST_F(NodeTest, AWaitForTheDeadAloneFailsToo) {
  for (int from : {1, 2, 4}) runtime.arrives(1, from, kParams, 0);
  runtime.arrives(2, 3, kGone, 0);
  EXPECT_THROW(node().gather(kFour, 4, is(kParams, 0), "parameters"), Error);
}

TEST_F(NodeTest, AServersDeathStopsAProtocolThatContinuesToo) {
  protocol.on_loss = always<OnLoss::kContinues>;
  options.servers = 1;
  runtime.arrives(1, 5, kGone, 0);
  try {
    node().recv(is_from(kWeights, 5), "weights");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "rank 5 died while rank 0 waited for weights");
  }
}

TEST_F(NodeTest, WhatTheDeadHadSentIsReceivedAndThenNothing) {
  protocol.on_loss = always<OnLoss::kContinues>;
  runtime.arrives(1, 3, kParams, 0);
  runtime.arrives(1, 3, kGone, 0);
  node().until([&] { return node().died(3); }, "the death");
  EXPECT_TRUE(node().recv_unless_left(is_from(kParams, 3), "parameters"));
  EXPECT_FALSE(node().recv_unless_left(is_from(kParams, 3), "parameters"));
}

TEST_F(NodeTest, AProtocolThatContinuesGoesOnWithoutTheDead) {
  protocol.on_loss = always<OnLoss::kContinues>;
  runtime.arrives(1, 3, kGone, 0);
  for (int from : {1, 2, 4}) runtime.arrives(2, from, kParams, 0);
  EXPECT_EQ(node().gather(kFour, 4, is(kParams, 0), "parameters").size(), 3u);
  EXPECT_FALSE(node().present(3));
}

TEST_F(NodeTest, AConditionOnWhoIsPresentIsLookedAtAgainWhenSomebodyLeaves) {
  runtime.arrives(4, 2, kBye, 0);
  node().until([&] { return !node().present(2); }, "rank 2");
  EXPECT_EQ(runtime.now(), at_ms(4));
}

TEST_F(NodeTest, WaitingIsCountedByReason) {
  runtime.arrives(3, 1, kParams, 0);
  runtime.arrives(3, 2, kToken, 0);
  runtime.arrives(7, 1, kParams, 1);
  node().enter(0);
  node().recv(is(kParams, 0), "parameters");
  node().recv(is(kToken), "a token");  // here already: no waiting
  node().recv(is(kParams, 1), "parameters");
  node().sleep(milliseconds(2), "a rest");
  EXPECT_EQ(node().record().waits,
            (std::map<std::string, Duration>{{"a rest", milliseconds(2)}, {"parameters", milliseconds(7)}}));
  const auto waits = seen.of(EventKind::kWait);
  ASSERT_EQ(waits.size(), 3u);
  EXPECT_EQ(waits[1].since, at_ms(3));
  EXPECT_EQ(waits[1].time, at_ms(7));
  EXPECT_STREQ(waits[1].text, "parameters");
}

TEST_F(NodeTest, UntilADeadlineSaysWhetherItCameTrue) {
  runtime.arrives(5, 1, kParams, 0);
  EXPECT_FALSE(node().until([&] { return node().has(is(kParams)); }, at_ms(3), "parameters"));
  EXPECT_EQ(runtime.now(), at_ms(3));
  EXPECT_TRUE(node().until([&] { return node().has(is(kParams)); }, at_ms(9), "parameters"));
  EXPECT_EQ(runtime.now(), at_ms(5));
}

TEST_F(NodeTest, SendChargesTheWireForBodyAndHeader) {
  const Vec x(25);
  node().send(2, kParams, 4, share(x), {7});
  ASSERT_EQ(runtime.posted.size(), 1u);
  const auto& [to, message] = runtime.posted[0];
  EXPECT_EQ(to, 2);
  EXPECT_EQ(message.from, 0);
  EXPECT_EQ(message.iter, 4);
  EXPECT_EQ(message.words[0], 7);
  EXPECT_EQ(message.bytes, kHeaderBytes + 100);
  EXPECT_EQ(node().record().messages_sent, 1);
  EXPECT_EQ(node().record().bytes_sent, kHeaderBytes + 100);
}

TEST_F(NodeTest, NothingIsSentToWhoHasLeft) {
  runtime.arrives(1, 2, kBye, 0);
  node().sleep(milliseconds(2), "a rest");
  node().send(2, kParams, 0);
  EXPECT_TRUE(runtime.posted.empty());
  EXPECT_EQ(node().record().messages_sent, 0);
}

TEST_F(NodeTest, IgnoringDropsWhatIsHereAndTellsTheCheckers) {
  for (int from : kFour) runtime.arrives(1, from, kParams, from);
  node().sleep(milliseconds(2), "a rest");
  node().ignore(is_before(kParams, 3));
  const auto drops = seen.of(EventKind::kDrop);
  ASSERT_EQ(drops.size(), 2u);
  EXPECT_EQ(drops[0].peer, 1);
  EXPECT_EQ(drops[1].iter, 2);
  EXPECT_TRUE(node().has(is(kParams, 3)));
}

TEST_F(NodeTest, TheLargestQueueIsRemembered) {
  for (int from : kFour) runtime.arrives(1, from, kParams, 0);
  node().gather(kFour, 4, is(kParams, 0), "parameters");
  EXPECT_EQ(node().record().queue_max, 4);
}

TEST_F(NodeTest, RunsAsManyIterationsAsItIsTold) {
  options.stop.iterations = 2;
  EXPECT_TRUE(node().running(0));
  EXPECT_TRUE(node().running(1));
  EXPECT_FALSE(node().running(2));
  EXPECT_EQ(node().end(), 2);
  EXPECT_EQ(node().total_iterations(), 10);  // of 5 workers
}

TEST_F(NodeTest, CreditsDecideWhereTheyAreGiven) {
  Credits credits(2);
  options.stop = {.iterations = 0, .credits = &credits};
  EXPECT_TRUE(node().running(0));
  EXPECT_TRUE(credits.take()) << "another rank takes the last one";
  EXPECT_FALSE(node().running(1));
  EXPECT_GT(node().end(), 1'000'000'000);
  EXPECT_EQ(node().total_iterations(), 2);  // all there were, taken or not
}

TEST_F(NodeTest, AMarkEndsWhereTheNextIterationIsEntered) {
  const Vec x(4);
  node().enter(0);
  node().gradient(x, 0);
  node().sleep(milliseconds(5), "a token");
  node().enter(1);
  node().gradient(x, 1);
  node().enter(4);  // a jump
  node().gradient(x, 4);
  node().sleep(milliseconds(1), "a token");
  node().finish();
  const auto& marks = node().record().marks;
  ASSERT_EQ(marks.size(), 5u);
  std::vector<Iter> iterations;
  std::vector<int> samples;
  for (const IterationMark& mark : marks) {
    iterations.push_back(mark.iter);
    samples.push_back(mark.samples);
  }
  EXPECT_EQ(iterations, (std::vector<Iter>{0, 1, 2, 3, 4}));
  EXPECT_EQ(samples, (std::vector<int>{10, 10, 0, 0, 10}));
  EXPECT_EQ(marks[0].end, at_ms(15));
  EXPECT_EQ(marks[0].compute, Duration(milliseconds(10)));
  EXPECT_EQ(marks[0].loss, 0.5f);
  EXPECT_EQ(marks[3].end, at_ms(25));
  EXPECT_EQ(marks[4].end, at_ms(36));
  EXPECT_EQ(node().record().iters, 3);
  EXPECT_EQ(node().record().iters_jumped, 2);
  EXPECT_EQ(node().record().finished, at_ms(36));
  EXPECT_EQ(seen.of(EventKind::kFinished).size(), 1u);
}

// Under the stop rule `iterations` fast workers may have to stay for slow ones: that is no part of their iterations.
TEST_F(NodeTest, TheLastMarkEndsWhereThereAreNoMoreIterations) {
  options.stop.iterations = 1;
  EXPECT_TRUE(node().running(0));
  node().enter(0);
  node().gradient(Vec(4), 0);
  EXPECT_FALSE(node().running(1));
  node().sleep(milliseconds(30), "workers that have not finished");
  node().finish();
  ASSERT_EQ(node().record().marks.size(), 1u);
  EXPECT_EQ(node().record().marks[0].end, at_ms(10));
  EXPECT_EQ(node().record().iters, 1);
  EXPECT_EQ(node().record().finished, at_ms(40));
  EXPECT_EQ(node().record().waits.size(), 1u) << "but it was waiting, and is counted as such";
}

TEST_F(NodeTest, AnIterationThatWasOnlyEnteredLeavesNoMark) {
  node().enter(0);
  node().gradient(Vec(4), 0);
  node().enter(1);
  node().finish();
  EXPECT_EQ(node().record().marks.size(), 1u);
  EXPECT_EQ(node().record().iters, 1);
}

TEST_F(NodeTest, ReportHandsOnASnapshot) {
  std::int64_t samples_then = 0;
  Payload kept;
  options.snapshot = [&](Iter k, Time when, std::int64_t samples, const Vec& x) {
    EXPECT_EQ(k, 1);
    EXPECT_EQ(when, at_ms(10));
    samples_then = samples;
    kept = share(x);
  };
  Vec x = node().initial();
  node().enter(0);
  node().gradient(x, 0);
  node().report(1, x);
  x.fill(0);
  EXPECT_EQ(samples_then, 10);
  EXPECT_EQ(kept.data()[3], 4.0f) << "a snapshot never changes";
}

TEST_F(NodeTest, TellsCheckersWhatItDoes) {
  node().enter(0);
  node().applied(3, 2);
  node().spent(4, 2);
  node().lost(1, "jumped");
  ASSERT_EQ(seen.events.size(), 4u);
  EXPECT_EQ(seen.events[0].what, EventKind::kEnter);
  EXPECT_EQ(seen.events[1].peer, 3);
  EXPECT_EQ(seen.events[1].iter, 2);
  EXPECT_EQ(seen.events[2].peer, 4);
  EXPECT_EQ(seen.events[2].count, 2);
  EXPECT_STREQ(seen.events[3].text, "jumped");
  EXPECT_EQ(node().record().gradients_lost, 1);
}

TEST_F(NodeTest, DrawsAreKeyedByRankPurposeAndIteration) {
  const auto first = [&](Purpose purpose, Iter k) { return node().random(purpose, k).next_u64(); };
  EXPECT_EQ(first(Purpose::kPeer, 3), first(Purpose::kPeer, 3));
  EXPECT_NE(first(Purpose::kPeer, 3), first(Purpose::kPeer, 4));
  EXPECT_NE(first(Purpose::kPeer, 3), first(Purpose::kProtocol, 3));
  EXPECT_EQ(first(Purpose::kPeer, 3),
            Random({.seed = 1, .repeat = 0, .purpose = Purpose::kPeer, .rank = 0, .iteration = 3}).next_u64());
}

TEST_F(NodeTest, ServersComeAfterTheWorkers) {
  options.rank = 6;
  options.servers = 2;
  EXPECT_TRUE(node().is_server());
  EXPECT_EQ(node().servers(), (std::vector<int>{5, 6}));
  EXPECT_EQ(node().workers(), (std::vector<int>{0, 1, 2, 3, 4}));
  EXPECT_EQ(node().size, 7);
  EXPECT_EQ(node().host(6), 6);
  EXPECT_TRUE(node().record().server);
}

TEST_F(NodeTest, WhatASpawnedStrandWaitsIsNotTheRanksWaiting) {
  Simulation simulation({.ranks = 1, .observer = &seen});
  Topology alone = make_topology("ring", 1);
  options.workers = 1;
  options.graph = &alone;
  Node self(simulation.rank(0), workload, options);
  bool ready = false;
  simulation.start(0, [&] {
    self.spawn([&] { self.until([&] { return ready; }, "work"); });
    self.sleep(milliseconds(3), "a rest");
    ready = true;
    self.sleep(milliseconds(4), "a rest");
  });
  simulation.run();
  EXPECT_EQ(self.record().waits, (std::map<std::string, Duration>{{"a rest", milliseconds(7)}}));
}

TEST_F(NodeTest, WhoRetiresHasEndedItsLastIterationAndIsNotSeenWaiting) {
  Vec x = node().initial();
  node().enter(0);
  node().gradient(x, 0);
  node().retire();
  runtime.arrives(50, 3, kRequest, 0);
  node().recv(is(kRequest), "others");
  node().finish();
  ASSERT_EQ(node().record().marks.size(), 1u);
  EXPECT_EQ(node().record().marks[0].end, at_ms(10));
  EXPECT_EQ(node().record().iters, 1);
  EXPECT_EQ(node().record().finished, at_ms(50));
  EXPECT_TRUE(node().record().waits.empty());
  EXPECT_TRUE(seen.of(EventKind::kWait).empty());
}

TEST_F(NodeTest, CountsTheVectorsThatItKeepsAndNotThoseOfAMoment) {
  Node& self = node();
  const Vec x = Vec::copy_of(self.initial().share()), tracker(4, host_space()), half(2, host_space());
  Vec of_a_moment;
  for (Iter k = 0; k < 25; ++k) {
    of_a_moment = k % 2 == 0 ? Vec(4, host_space()) : Vec();
    self.enter(k);
  }
  EXPECT_EQ(self.state_vectors(), 2.5);
}

TEST_F(NodeTest, DoesNotTellWhatItKeepsAfterAFewIterations) {
  Node& self = node();
  const Vec x(4, host_space());
  for (Iter k = 0; k < 20; ++k) self.enter(k);
  EXPECT_EQ(self.state_vectors(), 0);
}

}  // namespace
}  // namespace hopbench
