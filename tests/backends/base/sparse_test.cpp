// Sparse vectors: whatever is done with one gives the numbers that a dense one gives.
#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "backends/base/random.h"
#include "backends/base/vec.h"

namespace hopbench {
namespace {

constexpr std::size_t kSize = 200;

/// About `share` of the numbers are no zeros.
std::vector<float> numbers(double share, std::int64_t which) {
  Random random({.seed = 7, .purpose = Purpose::kTest, .iteration = which});
  std::vector<float> all(kSize, 0.0f);
  for (float& number : all) {
    if (random.chance(share)) number = float(random.uniform() - 0.5);
  }
  return all;
}

Vec sparse(const std::vector<float>& all) {
  Vec v = Vec::sparse_with_room(all.size(), all.size());
  std::size_t used = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i] != 0) v.room()[used++] = {std::uint32_t(i), all[i]};
  }
  v.keep(used);
  return v;
}

/// The same numbers in both forms.
struct Both {
  explicit Both(double share, std::int64_t which)
      : dense(Vec::from_host(numbers(share, which))), thin(sparse(dense.to_host())) {}
  Vec dense, thin;
};

TEST(Sparse, HoldsTheNumbersAndNoMore) {
  const Both x(0.1, 1);
  EXPECT_EQ(x.thin.to_host(), x.dense.to_host());
  EXPECT_EQ(x.thin.size(), kSize);
  EXPECT_LT(x.thin.share().stored(), kSize / 2);
  EXPECT_EQ(x.thin.share().stored(), 2 * x.thin.share().entries().size());
  EXPECT_EQ(hash_bits(x.thin.share()), hash_bits(x.dense.share()));
}

TEST(Sparse, SlicesAreTheirOwnPart) {
  const Both x(0.2, 2);
  for (const auto& [offset, n] : {std::pair{0, 200}, {0, 70}, {70, 61}, {131, 69}, {200, 0}}) {
    const Payload slice = x.thin.slice(std::size_t(offset), std::size_t(n));
    EXPECT_TRUE(slice.sparse());
    EXPECT_EQ(Vec::copy_of(slice).to_host(),
              Vec::copy_of(x.dense.slice(std::size_t(offset), std::size_t(n))).to_host());
  }
}

TEST(Sparse, IsPutTogetherFromParts) {
  const Both x(0.2, 3);
  const Payload whole = x.thin.share();
  Vec all = Vec::of_parts(kSize, whole);
  for (const std::size_t at : {80, 0, 40, 160, 120}) all.assign(at, whole.slice(at, 40));
  EXPECT_TRUE(all.sparse());
  EXPECT_EQ(all.to_host(), x.dense.to_host());
  all.assign(40, whole.slice(80, 40));  // over what was there
  Vec expected = x.dense;
  expected.assign(40, x.dense.slice(80, 40));
  EXPECT_EQ(all.to_host(), expected.to_host());
}

TEST(Sparse, GoesIntoADenseOne) {
  const Both x(0.2, 4);
  Vec to = Vec::from_host(numbers(1.0, 5)), expected = to;
  to.assign(0, x.thin.share());
  expected.assign(0, x.dense.share());
  EXPECT_EQ(to.to_host(), expected.to_host());
  to.axpy(-0.3f, x.thin.share());
  expected.axpy(-0.3f, x.dense.share());
  EXPECT_EQ(to.to_host(), expected.to_host());
  EXPECT_NEAR(to.dot(x.thin.share()), expected.dot(x.dense.share()), 1e-12);
  EXPECT_NEAR(x.thin.dot(to.share()), expected.dot(x.dense.share()), 1e-12);
}

TEST(Sparse, SumsHaveTheBitsOfDenseOnes) {
  const Both a(0.1, 6), b(0.15, 7), c(0.1, 8);
  const std::vector<float> weights = {0.2f, 0.5f, 0.3f};
  const Payload thin[] = {a.thin.share(), b.thin.share(), c.thin.share()};
  const Payload dense[] = {a.dense.share(), b.dense.share(), c.dense.share()};
  const Payload mixed[] = {a.thin.share(), b.dense.share(), c.thin.share()};
  const std::vector<float> expected = weighted_sum(dense, weights).to_host();
  EXPECT_TRUE(weighted_sum(thin, weights).sparse());
  EXPECT_EQ(weighted_sum(thin, weights).to_host(), expected);
  EXPECT_EQ(weighted_sum(mixed, weights).to_host(), expected);
  EXPECT_NEAR(squared_norm(thin[0]), squared_norm(dense[0]), 1e-12);
  EXPECT_NEAR(a.thin.dot(thin[1]), a.dense.dot(dense[1]), 1e-12);
}

TEST(Sparse, BecomesDenseWhereThatIsSmaller) {
  const Both a(0.4, 9), b(0.4, 10);
  const Payload thin[] = {a.thin.share(), b.thin.share()}, dense[] = {a.dense.share(), b.dense.share()};
  EXPECT_FALSE(mean(thin).sparse());
  EXPECT_EQ(mean(thin).to_host(), mean(dense).to_host());
  Vec x = a.thin, y = a.dense;
  x.add(thin[1]);
  y.add(dense[1]);
  EXPECT_FALSE(x.sparse());
  EXPECT_EQ(x.to_host(), y.to_host());
}

TEST(Sparse, IsChangedLikeADenseOne) {
  const Both a(0.1, 11), b(1.0, 12);
  Vec x = a.thin, y = a.dense;
  x.scale(-2.5f);
  y.scale(-2.5f);
  EXPECT_TRUE(x.sparse());
  EXPECT_EQ(x.to_host(), y.to_host());
  x.axpy(0.5f, b.dense.share());
  y.axpy(0.5f, b.dense.share());
  EXPECT_EQ(x.to_host(), y.to_host());
  x = a.thin;
  x.fill(3);
  EXPECT_EQ(x.to_host(), std::vector<float>(kSize, 3.0f));
}

TEST(Sparse, APayloadNeverChanges) {
  Vec x = sparse(numbers(0.1, 13));
  const std::vector<float> before = x.to_host();
  const Payload held = x.share();
  x.scale(2);
  EXPECT_EQ(Vec::copy_of(held).to_host(), before);
  EXPECT_NE(x.to_host(), before);
  const Vec copy = x;
  x.scale(2);
  EXPECT_NE(copy.to_host(), x.to_host());
}

TEST(SparseDeathTest, DoesNotPassForADenseOne) {
  const Vec x = sparse(numbers(0.1, 14));
  EXPECT_DEATH(x.data(), "a dense one is needed");
}

/// Counts: each settling adds 1 to all numbers.
class OneMore final : public Pending {
 public:
  bool due() const override { return due_; }
  void settle(float* x) override {
    for (int i = 0; i < 3; ++i) x[i] += 1;
    due_ = false;
  }
  void settle(float* x, std::span<const std::uint32_t> columns) override {
    for (const std::uint32_t column : columns) x[column] += 1;
  }
  void look(const float* x, float* to) const override {
    for (int i = 0; i < 3; ++i) to[i] = x[i] + 1;
  }
  bool due_ = false;
};

class PendingTest : public testing::Test {
 protected:
  PendingTest() {
    x.defer(pending);
    pending->due_ = true;
  }
  std::shared_ptr<OneMore> pending = std::make_shared<OneMore>();
  Vec x = Vec(3);
};
using Floats = std::vector<float>;

TEST_F(PendingTest, IsMadeOnceSomebodyReads) {
  EXPECT_EQ(x.to_host(), Floats({1, 1, 1}));
  EXPECT_EQ(x.to_host(), Floats({1, 1, 1}));
  pending->due_ = true;
  x.add(Vec(3).share());
  EXPECT_FALSE(pending->due_);
}

TEST_F(PendingTest, IsMadeWhereItIsReadOnly) {
  const std::uint32_t columns[] = {1};
  EXPECT_EQ(x.share_at(columns).data()[1], 1.0f);
  EXPECT_TRUE(pending->due_);
}

TEST_F(PendingTest, StaysPendingWhenItIsWatched) {
  EXPECT_EQ(Vec::copy_of(x.watch()).to_host(), Floats({1, 1, 1}));
  EXPECT_TRUE(pending->due_);
  EXPECT_EQ(x.to_host(), Floats({1, 1, 1})) << "once";
  EXPECT_EQ(Vec::copy_of(x.watch()).to_host(), Floats({1, 1, 1}));
}

TEST_F(PendingTest, DoesNotTouchWhatOthersHold) {
  pending->due_ = false;
  const Payload held = x.share();
  pending->due_ = true;
  EXPECT_EQ(x.to_host(), Floats({1, 1, 1}));
  EXPECT_EQ(Vec::copy_of(held).to_host(), Floats({0, 0, 0}));
}

TEST_F(PendingTest, MovesWithItsVector) {
  Vec y = std::move(x);
  EXPECT_EQ(y.pending(), pending.get());
  EXPECT_EQ(y.to_host(), Floats({1, 1, 1}));
}

TEST_F(PendingTest, IsMadeBeforeItsVectorIsReplacedOrEnds) {
  x = Vec(3);
  EXPECT_FALSE(pending->due_);
  EXPECT_EQ(x.pending(), nullptr);
  {
    Vec y(3);
    y.defer(pending);
    pending->due_ = true;
  }
  EXPECT_FALSE(pending->due_);
}

TEST_F(PendingTest, IsOfOneVectorOnly) {
  Vec y(3);
  y.defer(pending);  // made in x, then x is told that it is over
  EXPECT_EQ(x.pending(), nullptr);
  EXPECT_EQ(x.to_host(), Floats({1, 1, 1}));
  EXPECT_EQ(y.to_host(), Floats({0, 0, 0}));
}

}  // namespace
}  // namespace hopbench
