// The checkers for late gradients at servers, tested as in tests/checkers/checkers_test.cpp. Workers 0 and 1, server 2.
#include <gtest/gtest.h>

#include "tests/checkers/event_stream.h"

namespace hopbench::checkers {
namespace {

Stream& pushed(Stream& stream, int worker, Iter k, std::int64_t mark = 0) {
  return stream.pass(worker, 2, kPushKind, k, mark).take(worker, 2, kPushKind, k, mark);
}
Stream& mean_of_both(Stream& stream, Iter first, Iter second) {
  return stream.reduce(2, 0, {0, 1}, {0, 0}).apply(2, 0, first).apply(2, 1, second);
}

TEST(FreshBatch, IsOfGradientsAtTheNewestWeights) {
  Stream good(fresh_batch(servers("rennala", 2)));
  pushed(good, 0, 0).answer(2, 0, 0);
  pushed(good, 1, 0);
  mean_of_both(good, 0, 0).answer(2, 1, 0);
  pushed(good, 0, 1).answer(2, 0, 1);  // computed at the first weights
  EXPECT_TRUE(good.lose(0, 1).ok()) << good.checker().violations().front();
  Stream late(fresh_batch(servers("rennala", 2)));
  pushed(late, 0, 0).answer(2, 0, 0);
  pushed(late, 1, 0);
  mean_of_both(late, 0, 0).answer(2, 1, 0);
  pushed(late, 0, 1).answer(2, 0, 1);
  pushed(late, 1, 1);
  EXPECT_FALSE(mean_of_both(late, 1, 1).ok());
  Stream few(fresh_batch(servers("rennala", 2)));
  EXPECT_FALSE(pushed(few, 0, 0).put_applied(2, 0, 0, 1).ok());
  Stream wasted(fresh_batch(servers("rennala", 2)));
  EXPECT_FALSE(pushed(wasted, 0, 0).answer(2, 0, 0).lose(0, 0).ok());
}

TEST(DelayLimit, IsOfWhatIsUsedAndOfWhatIsLost) {
  const CheckedRun run = with(servers("ringmaster", 2), "delay", std::int64_t{1});
  Stream good(delay_limit(run));
  pushed(good, 0, 0);
  good.put_applied(2, 0, 0, 1).answer(2, 0, 0);
  pushed(good, 1, 0).answer(2, 1, 0);
  EXPECT_TRUE(good.lose(1, 0).ok()) << good.checker().violations().front();
  Stream used(delay_limit(run));
  pushed(used, 0, 0);
  used.put_applied(2, 0, 0, 1).answer(2, 0, 0);
  pushed(used, 1, 0);
  EXPECT_FALSE(used.put_applied(2, 1, 0, 1).ok());
  Stream lost(delay_limit(run));
  EXPECT_FALSE(pushed(lost, 0, 0).answer(2, 0, 0).lose(0, 0).ok());
  Stream forgotten(delay_limit(run));
  EXPECT_FALSE(pushed(forgotten, 0, 0).answer(2, 0, 0).ok());
}

TEST(DelayScale, IsOverTheDelay) {
  const CheckedRun run = with(servers("delay_adaptive", 2), "rule", std::string("inverse"));
  const auto third = [&](double scale) {  // of worker 1's first gradient, after two of worker 0
    Stream stream(delay_scale(run));
    pushed(stream, 0, 0);
    stream.put_applied(2, 0, 0, 1).answer(2, 0, 0);
    pushed(stream, 0, 1);
    stream.put_applied(2, 0, 1, 1).answer(2, 0, 1);
    pushed(stream, 1, 0);
    return stream.put_applied(2, 1, 0, scale).ok();
  };
  EXPECT_TRUE(third(1.0 / 3)) << "a delay of two updates";
  EXPECT_FALSE(third(1));
  EXPECT_FALSE(third(0.5));
}

TEST(GlobalBatch, GoesByTokens) {
  const CheckedRun run = with(servers("gba", 2), "tolerance", std::int64_t{0});
  const auto begun = [&] {
    Stream stream(global_batch(run));
    pushed(stream, 0, 0, 0).send(2, 0, kWeightsKind, 0, 1);
    pushed(stream, 0, 1, 1).reduce(2, 0, {0}, {0}, {0.5f}).put_applied(2, 0, 0, 1);
    return stream;
  };
  // The gradient of token 1 came in step 0, whose tokens are 0: it is in time.
  Stream both(global_batch(run));
  pushed(both, 0, 0, 0).send(2, 0, kWeightsKind, 0, 1);
  pushed(both, 0, 1, 1).reduce(2, 0, {0, 0}, {0, 0}, {0.5f, 0.5f}).put_applied(2, 0, 0, 1).apply(2, 0, 1);
  both.send(2, 0, kWeightsKind, 1, 1);
  pushed(both, 1, 0, 0).send(2, 1, kWeightsKind, 0, 2);
  EXPECT_TRUE(both.lose(1, 0).ok()) << both.checker().violations().front();
  EXPECT_FALSE(begun().ok()) << "one of the two is missing";
  Stream token(global_batch(run));
  EXPECT_FALSE(pushed(token, 0, 0, 0).send(2, 0, kWeightsKind, 0, 0).ok());
  Stream told(global_batch(run));
  EXPECT_FALSE(pushed(told, 0, 0, 1).ok());
  Stream lost(global_batch(run));
  EXPECT_FALSE(pushed(lost, 0, 0, 0).send(2, 0, kWeightsKind, 0, 1).lose(0, 0).ok());
}

TEST(KGradients, AreOfDifferentWorkersInKAsync) {
  const CheckedRun run = with(servers("k_async", 2), "k", std::int64_t{2});
  Stream good(k_gradients(run));
  pushed(good, 0, 0);
  pushed(good, 1, 0);
  EXPECT_TRUE(mean_of_both(good, 0, 0).answer(2, 0, 0).answer(2, 1, 0).ok()) << good.checker().violations().front();
  Stream early(k_gradients(run));
  EXPECT_FALSE(pushed(early, 0, 0).answer(2, 0, 0).ok());
  Stream few(k_gradients(run));
  EXPECT_FALSE(pushed(few, 0, 0).put_applied(2, 0, 0, 1).ok());
  Stream left(k_gradients(run));
  EXPECT_TRUE(pushed(left, 0, 0).finished(1).put_applied(2, 0, 0, 1).ok());
  Stream held(k_gradients(with(servers("k_batch_async", 2), "k", std::int64_t{2})));
  pushed(held, 0, 0);
  EXPECT_FALSE(pushed(held, 1, 0).ok());
}

TEST(ServersAgree, OnEveryUpdate) {
  CheckedRun run = servers("rennala", 2);
  run.servers = 2;
  const auto second = [&](int worker, Iter k) {
    Stream stream(servers_agree(run));
    stream.put_applied(2, 0, 0, 1).put_applied(2, 1, 0, 1).put_applied(3, 0, 0, 1);
    return stream.put_applied(3, worker, k, 1).ok();
  };
  EXPECT_TRUE(second(1, 0));
  EXPECT_FALSE(second(0, 1));
  Stream ahead(servers_agree(run));
  EXPECT_FALSE(ahead.put_applied(3, 0, 0, 1).ok());
  Stream dead(servers_agree(run));
  dead.put_applied(2, 0, 0, 1).put_applied(2, 1, 0, 1).dies(0);
  EXPECT_TRUE(dead.put_applied(3, 1, 0, 1).ok());
}

TEST(FreshStart, IsForStaleWeightsOnly) {
  CheckedRun run = servers("specsync", 2);
  run.batch = 4;
  run.knobs["window"] = 1.0;
  run.knobs["rate"] = 0.5;
  // Time goes by a microsecond an event. Worker 0's first window is as long as its first iteration: two events.
  const auto begun = [&] {
    Stream stream(fresh_start(run));
    stream.enter(0, 0).gradient(0, 0, 0, 4);
    pushed(stream, 0, 0).send(2, 0, kWeightsKind, 0);
    return stream;
  };
  Stream told = begun();
  pushed(told, 1, 0).send(2, 0, kSkipKind, 1);
  EXPECT_FALSE(told.ok()) << "before the window ends";
  Stream late = begun();
  for (int i = 0; i < 8; ++i) late.enter(1, i);
  EXPECT_FALSE(late.send(2, 0, kSkipKind, 1).ok()) << "nobody pushed";
  const auto obeyed = [&](bool pulls, std::int64_t samples) {
    Stream stream = begun();
    stream.enter(0, 1).gradient(0, 1, 4, 2).take(2, 0, kSkipKind, 1);
    if (pulls) stream.take(2, 0, kWeightsKind, 1);
    return stream.gradient(0, 1, 4, samples).send(0, 2, kPushKind, 1).ok();
  };
  EXPECT_TRUE(obeyed(true, 4));
  EXPECT_FALSE(obeyed(false, 4));
  EXPECT_FALSE(obeyed(true, 2));
}

}  // namespace
}  // namespace hopbench::checkers
