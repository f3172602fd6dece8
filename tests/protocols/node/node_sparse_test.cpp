// Sparse gradients in a node: what a step, a message and a report of them cost.
#include "tests/protocols/node/node_fixture.h"

namespace hopbench {
namespace {

/// Twelve numbers, of which the gradient of sample s has two: s and s + 1, modulo 11, with the value 1.
class SparseWorkload : public FakeWorkload {
 public:
  std::size_t size() const override { return 12; }
  std::size_t trainable() const override { return 12; }
  bool sparse() const override { return true; }
  Vec initial() const override { return Vec(12); }
  void columns(int, std::uint64_t first, int, std::vector<std::uint32_t>& to) override {
    to = {std::uint32_t(first % 11), std::uint32_t(first % 11 + 1)};
  }
  float gradient(const Payload& x, int, std::uint64_t first, int, Vec& g,
                 const std::function<void(int)>& done) override {
    read = x.data();
    const auto at = std::uint32_t(first % 11);
    g = Vec::sparse_with_room(12, 2);
    g.room()[0] = {at, 1.0f};
    g.room()[1] = {at + 1, 1.0f};
    g.keep(2);
    done(0);
    return 0;
  }
  const float* read = nullptr;  // where x was
};

class NodeSparseTest : public NodeTest {
 protected:
  NodeSparseTest() { work = &sparse; }
  SparseWorkload sparse;
};

TEST_F(NodeSparseTest, AMessageCostsItsEntries) {
  const Gradient g = node().gradient(node().initial(), 0);
  node().send(1, kPush, 0, share(g.values));
  node().send(1, kPush, 0, g.values.slice(1, 11));
  EXPECT_EQ(runtime.posted[0].second.bytes, kHeaderBytes + 16);
  EXPECT_EQ(runtime.posted[1].second.bytes, kHeaderBytes + 8);
  EXPECT_EQ(node().record().bytes_sent, 2 * kHeaderBytes + 24);
}

TEST_F(NodeSparseTest, LocalStepsNeverLookAtAllNumbers) {
  options.optimizer = {.lr = 0.1f, .momentum = 0.9f, .weight_decay = 0.01f};
  Vec x = node().initial(), expected = node().initial(), momentum(12);
  Optimizer optimizer = node().optimizer(12);
  const float* const where = x.data();
  for (Iter k = 0; k < 30; ++k) {
    const Gradient g = node().gradient(x, k);
    runtime.works.clear();  // which holds what the gradient was of
    optimizer.step(x, share(g.values), k);
    node().report(k + 1, x);
    EXPECT_EQ(sparse.read, where) << "x was copied in iteration " << k;
    ASSERT_TRUE(x.pending() != nullptr && x.pending()->due()) << "all numbers were brought up to date";
    Vec dense(12);
    dense.add(share(g.values));
    expected.space().sgd(expected.mutable_data(), momentum.mutable_data(), dense.data(),
                         {.lr = 0.1f, .momentum = 0.9f, .weight_decay = 0.01f}, 12);
  }
  for (int i = 0; i < 12; ++i) EXPECT_NEAR(x.data()[i], expected.data()[i], 1e-6);
}

TEST_F(NodeSparseTest, AStepIsChargedForItsEntriesAndForPassesBeforeIt) {
  options.optimizer = {.lr = 0.1f, .momentum = 0.9f};
  options.costs.vector_bytes_per_s = 1e3;  // a byte, a millisecond
  Vec x = node().initial();
  Optimizer optimizer = node().optimizer(12);
  const auto step = [&](Iter k) {
    const Gradient g = node().gradient(x, k);
    const Time before = node().now();
    optimizer.step(x, share(g.values), k);
    return node().now() - before;
  };
  const Duration one = milliseconds(4 * 16), pass = milliseconds(12 * 4 * int(LazySgd::kFloatsPerPass));
  EXPECT_EQ(step(0), one);
  EXPECT_EQ(step(1), one);
  x.share();
  EXPECT_EQ(step(2), one + pass);
  EXPECT_EQ(step(3), one);
}

TEST_F(NodeSparseTest, ADenseGradientInBetweenChangesNothing) {
  options.optimizer = {.lr = 0.1f, .momentum = 0.9f, .weight_decay = 0.01f};
  Vec x = node().initial(), expected = node().initial(), momentum(12);
  Optimizer optimizer = node().optimizer(12);
  for (Iter k = 0; k < 12; ++k) {
    const Gradient g = node().gradient(x, k);
    Vec dense(12);
    dense.add(share(g.values));
    optimizer.step(x, k % 3 == 1 ? share(dense) : share(g.values), k);
    expected.space().sgd(expected.mutable_data(), momentum.mutable_data(), dense.data(),
                         {.lr = 0.1f, .momentum = 0.9f, .weight_decay = 0.01f}, 12);
  }
  for (int i = 0; i < 12; ++i) EXPECT_NEAR(x.data()[i], expected.data()[i], 1e-6);
}

TEST_F(NodeTest, TheLastModelIsHandedOnWhenTheIterationsAreOver) {
  options.stop.iterations = 2;
  std::vector<Payload> last;
  options.final_model = [&](const Payload& x) { last.push_back(x); };
  Vec x = node().initial();
  ASSERT_TRUE(node().running(0));
  node().report(1, x);
  ASSERT_TRUE(node().running(1));
  x.scale(2);
  node().report(2, x);
  EXPECT_TRUE(last.empty()) << "a share costs a copy";
  EXPECT_FALSE(node().running(2));
  ASSERT_EQ(last.size(), 1u);
  EXPECT_EQ(last[0].data()[3], 8.0f);
  x.scale(2);
  node().report(2, x);  // what came in afterwards
  ASSERT_EQ(last.size(), 2u);
  EXPECT_EQ(last[1].data()[3], 16.0f);
}

}  // namespace
}  // namespace hopbench
