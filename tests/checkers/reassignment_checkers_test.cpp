// The checkers for FlexRR and GossipGraD, tested as in tests/checkers/checkers_test.cpp.
#include <gtest/gtest.h>

#include "tests/checkers/event_stream.h"

namespace hopbench::checkers {
namespace {

// Two workers with batches of 8; the batch of worker 1 in iteration 0 is samples 8 to 15.
CheckedRun flexrr() {
  CheckedRun run{.protocol = "flexrr", .workers = 2, .servers = 1, .batch = 8};
  run.knobs["first_slice"] = 0.25;
  return run;
}

TEST(SamplesOnce, AreComputedAndAddedUpOnce) {
  const CheckedRun run = flexrr();
  Stream good(samples_once(run));
  good.gradient(1, 0, 8, 6).gradient(0, 1, 14, 2).reduce(1, 0, {0, 1}, {0, 0}, {0.25f, 0.75f});
  EXPECT_TRUE(good.ok()) << good.checker().violations().front();
  EXPECT_FALSE(good.gradient(1, 0, 12, 1).ok());  // too late
  Stream twice(samples_once(run));
  EXPECT_FALSE(twice.gradient(1, 0, 8, 6).gradient(0, 1, 13, 3).ok());
  Stream few(samples_once(run));
  EXPECT_FALSE(few.gradient(1, 0, 8, 6).reduce(1, 0, {1}, {0}, {1.0f}).ok());
  Stream unused(samples_once(run));
  EXPECT_FALSE(unused.gradient(1, 0, 8, 8).ok());
  Stream weights(samples_once(run));
  weights.gradient(1, 0, 8, 6).gradient(0, 1, 14, 2);
  EXPECT_FALSE(weights.reduce(1, 0, {0, 1}, {0, 0}, {0.5f, 0.5f}).ok());
  Stream across(samples_once(run));
  EXPECT_FALSE(across.gradient(0, 0, 4, 8).ok());
}

TEST(Slices, AreOfferedGivenAndConfirmed) {
  const CheckedRun run = flexrr();
  const auto slice = [](Stream& s, std::int64_t samples) -> Stream& {  // of worker 1, to 0
    return s.send(0, 1, kRequestKind, 0, 6).send(1, 0, kReplyKind, 0, samples);
  };
  const auto begun = [](Stream& s) -> Stream& { return s.enter(0, 0).enter(1, 0); };
  Stream good(slices(run));
  slice(begun(good), 2).send(0, 1, kAckKind, 0, 2);
  slice(good, 0);  // refused
  slice(good, 4).send(0, 1, kAckKind, 0, 4).reduce(1, 0, {0, 1}, {0, 0});
  EXPECT_TRUE(good.ok()) << good.checker().violations().front();
  Stream large(slices(run));
  EXPECT_FALSE(slice(begun(large), 3).send(0, 1, kAckKind, 0, 3).ok());
  Stream open(slices(run));
  EXPECT_FALSE(slice(begun(open), 2).ok());
  Stream early(slices(run));
  EXPECT_FALSE(slice(begun(early), 2).reduce(1, 0, {1}, {0}).send(0, 1, kAckKind, 0, 2).ok());
  Stream unasked(slices(run));
  EXPECT_FALSE(begun(unasked).send(1, 0, kReplyKind, 0, 2).send(0, 1, kAckKind, 0, 2).ok());
  Stream behind(slices(run));
  EXPECT_FALSE(behind.enter(1, 0).enter(1, 1).send(0, 1, kRequestKind, 0).send(1, 0, kReplyKind, 1, 1).ok());
  Stream other(slices(run));
  EXPECT_FALSE(slice(begun(other), 2).send(0, 1, kAckKind, 0, 1).ok());
  Stream again(slices(run));
  EXPECT_FALSE(begun(again).send(0, 1, kRequestKind, 0).send(0, 1, kRequestKind, 0).ok());
}

TEST(Diffusion, ReachesEverybodyInEvenPartsWithinATurn) {
  const CheckedRun run{.protocol = "gossipgrad", .workers = 4};
  const auto hop = [](Stream& s, Iter k, int ahead) -> Stream& {
    for (int w = 0; w < 4; ++w) s.pass(w, (w + ahead) % 4, kParamsKind, k);
    for (int w = 0; w < 4; ++w) s.reduce(w, k, {(w + 4 - ahead) % 4, w}, {k, k});
    return s;
  };
  Stream good(diffusion(run));
  hop(hop(good, 0, 1), 1, 2);
  hop(hop(good, 2, 3), 3, 2);
  EXPECT_TRUE(good.ok()) << good.checker().violations().front();
  Stream twice(diffusion(run));
  EXPECT_FALSE(hop(hop(twice, 0, 2), 1, 2).ok());
  Stream uneven(diffusion(run));
  hop(uneven, 0, 1).pass(0, 2, kParamsKind, 1);
  EXPECT_FALSE(uneven.pass(2, 0, kParamsKind, 1).reduce(0, 1, {0, 2}, {1, 1}, {0.75f, 0.25f}).ok());
  Stream second(diffusion(run));
  EXPECT_FALSE(second.pass(0, 1, kParamsKind, 0).pass(0, 2, kParamsKind, 0).ok());
  Stream alone(diffusion(run));
  EXPECT_FALSE(alone.reduce(0, 0, {0}, {0}).ok());
}

}  // namespace
}  // namespace hopbench::checkers
