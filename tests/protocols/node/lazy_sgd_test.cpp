// Lazy steps against steps on all numbers.
#include "protocols/node/lazy_sgd.h"

#include <gtest/gtest.h>

#include <cmath>

#include "backends/base/random.h"

namespace hopbench {
namespace {

constexpr std::size_t kSize = 40;

struct Pair {
  Vec x = Vec(kSize), m = Vec(kSize), y = Vec(kSize);
  std::shared_ptr<LazySgd> lazy = std::make_shared<LazySgd>(kSize, Vec());
  std::int64_t steps = 0;

  Pair() {
    for (std::size_t i = 0; i < kSize; ++i) x.mutable_data()[i] = y.mutable_data()[i] = 0.1f * float(i) - 2.0f;
    y.defer(lazy);
  }
  /// Each number has a gradient with that probability.
  void step(const Space::SgdStep& how, double share) {
    Random random({.seed = 3, .purpose = Purpose::kTest, .iteration = steps++});
    Vec g(kSize), thin = Vec::sparse_with_room(kSize, kSize);
    std::size_t used = 0;
    for (std::size_t i = 0; i < kSize; ++i) {
      if (!random.chance(share)) continue;
      g.mutable_data()[i] = float(random.uniform() - 0.5);
      thin.room()[used++] = {std::uint32_t(i), g.data()[i]};
    }
    thin.keep(used);
    x.space().sgd(x.mutable_data(), m.mutable_data(), g.data(), how, kSize);
    lazy->step(y, thin.share().entries(), how);
  }
  double furthest() const {
    double most = 0;
    for (std::size_t i = 0; i < kSize; ++i) most = std::max(most, std::abs(double(x.data()[i]) - y.data()[i]));
    return most;
  }
};

const Space::SgdStep kSteps[] = {{.lr = 0.1f, .momentum = 0.9f, .weight_decay = 0.01f, .nesterov = false},
                                 {.lr = 0.1f, .momentum = 0.9f, .weight_decay = 0.01f, .nesterov = true},
                                 {.lr = 0.1f, .momentum = 0.0f, .weight_decay = 0.1f, .nesterov = false},
                                 {.lr = 0.1f, .momentum = 0.5f, .weight_decay = 0.0f, .nesterov = false}};

TEST(LazySgd, HasTheBitsOfAllNumbersWhereAllHaveAGradient) {
  for (const Space::SgdStep& how : kSteps) {
    Pair pair;
    for (int k = 0; k < 50; ++k) pair.step(how, 1.0);
    EXPECT_EQ(pair.y.to_host(), pair.x.to_host());
    EXPECT_EQ(pair.lazy->momentum().to_host(), pair.m.to_host());
  }
}

TEST(LazySgd, IsTheSameSgdHoweverFewHaveAGradient) {
  for (Space::SgdStep how : kSteps) {
    Pair pair;
    for (int k = 0; k < 400; ++k) {
      how.lr = 0.1f / (1.0f + 0.01f * float(k));  // another one each step
      pair.step(how, 0.03);
    }
    EXPECT_EQ(pair.lazy->passes(), 0) << "a step looks at all numbers";
    EXPECT_LT(pair.furthest(), 2e-6);
    EXPECT_EQ(pair.lazy->passes(), 1) << "reading them all is a pass";
    const Vec momentum = pair.lazy->momentum();
    for (std::size_t i = 0; i < kSize; ++i) EXPECT_NEAR(momentum.data()[i], pair.m.data()[i], 2e-6);
  }
}

TEST(LazySgd, GoesOnAfterItWasRead) {
  Pair pair;
  for (int k = 0; k < 100; ++k) {
    pair.step(kSteps[0], 0.1);
    if (k % 7 == 0) pair.y.share();
  }
  EXPECT_LT(pair.furthest(), 2e-6);
}

TEST(LazySgd, ReadsSomeNumbersWithoutAPass) {
  Pair pair;
  for (int k = 0; k < 100; ++k) pair.step(kSteps[1], 0.1);
  const std::uint32_t columns[] = {0, 7, 7, 39};
  const Payload some = pair.y.share_at(columns);
  for (const std::uint32_t column : columns) EXPECT_NEAR(some.data()[column], pair.x.data()[column], 2e-6);
  EXPECT_EQ(pair.lazy->passes(), 0);
  EXPECT_LT(pair.furthest(), 2e-6);
}

TEST(LazySgd, HasTheSameBitsWhetherSomebodyWatchesOrNot) {
  Pair watched, alone;
  for (int k = 0; k < 100; ++k) {
    watched.step(kSteps[0], 0.05);
    alone.step(kSteps[0], 0.05);
    const Payload seen = watched.y.watch();
    EXPECT_NEAR(seen.data()[k % int(kSize)], watched.x.data()[k % int(kSize)], 2e-6);
  }
  EXPECT_EQ(watched.lazy->passes(), 0);
  const Vec seen = Vec::copy_of(watched.y.watch());
  EXPECT_EQ(seen.to_host(), alone.y.to_host()) << "and it sees what reading makes of it";
  EXPECT_EQ(watched.y.to_host(), alone.y.to_host());
}

TEST(LazySgd, PassesOnceInManySteps) {
  Pair pair;
  Space::SgdStep how = kSteps[0];
  how.lr = 1e-3f;
  for (std::size_t k = 0; k < LazySgd::kWindow; ++k) pair.step(how, 0.01);
  EXPECT_EQ(pair.lazy->passes(), 0);
  pair.step(how, 0.01);
  EXPECT_EQ(pair.lazy->passes(), 1);
  EXPECT_LT(pair.furthest(), 1e-5);
}

TEST(LazySgd, TakesAMomentumOver) {
  Pair pair;
  for (int k = 0; k < 20; ++k) pair.step(kSteps[0], 0.3);
  pair.y.defer(nullptr);
  pair.lazy = std::make_shared<LazySgd>(kSize, pair.lazy->momentum());
  pair.y.defer(pair.lazy);
  for (int k = 0; k < 20; ++k) pair.step(kSteps[0], 0.3);
  EXPECT_LT(pair.furthest(), 2e-6);
}

}  // namespace
}  // namespace hopbench
