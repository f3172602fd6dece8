// Every registered model, through Learner.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include <gtest/gtest.h>

#include "models/quadratic.h"
#include "models/workload.h"
#include "tests/models/probe.h"

namespace hopbench {
namespace {

constexpr int kBatch = 4;

/// A learner and a batch of its own data set, or of a drawn one where that would be read from files.
struct Bench : Probe {
  explicit Bench(const std::string& model, const std::string& backend_name = "reference", int batch_size = kBatch,
                 int largest_batch = kBatch)
      : entry(find_model(model)) {
    backend = create_backend(backend_name);
    const std::string own = entry.default_dataset;
    data = find_dataset(find_dataset(own).default_path.empty() ? own : "synthetic").load({}).train;
    learner = entry.create(*backend, {.model = model}, data->shape(), data->classes(), largest_batch);
    inputs.resize(std::size_t(batch_size) * data->shape().size());
    for (std::size_t i = 0; i < std::size_t(batch_size); ++i) {
      data->copy_sample(i, inputs.data() + i * data->shape().size());
      labels.push_back(data->label(i));
    }
    batch = {batch_size, inputs.data(), labels.data()};
    x = learner->initial(1, 0).to_host();
  }

  const ModelEntry& entry;
  std::shared_ptr<const Dataset> data;
};

class EveryModel : public testing::TestWithParam<std::string> {};

/// All but those that are too slow for what is tried here on the reference backend (networks_test.cpp) or take sparse
/// rows (linear_test.cpp).
std::vector<std::string> small_models() {
  static const std::set<std::string> kLarge = {"alexnet_small", "vgg11", "resnet20", "resnet32", "resnet56"};
  static const std::set<std::string> kLinear = {"linear_svm", "logistic_regression"};
  std::vector<std::string> names;
  for (const ModelEntry& entry : models())
    if (entry.create != nullptr && !kLarge.contains(entry.name) && !kLinear.contains(entry.name))
      names.emplace_back(entry.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Models, EveryModel, testing::ValuesIn(small_models()),
                         [](const auto& about) { return about.param; });

TEST_P(EveryModel, HasTheGradientThatFiniteDifferencesFindAlongEachBucket) {
  Bench bench(GetParam());
  const std::vector<float> g = bench.gradient();
  for (const Bucket& bucket : bench.learner->buckets()) {
    const double length = norm(g, bucket);
    ASSERT_GT(length, 0);
    std::vector<double> along(g.size(), 0.0);
    for (std::size_t d = bucket.offset; d < bucket.offset + bucket.size; ++d) along[d] = g[d] / length;
    EXPECT_NEAR(bench.slope(&Probe::scored_loss, along, 1e-3), length, 0.01 * length) << "bucket at " << bucket.offset;
  }
}

TEST_P(EveryModel, HasTheGradientThatFiniteDifferencesFindInItsLargestCoordinates) {
  Bench bench(GetParam());
  const std::vector<float> g = bench.gradient();
  for (const Bucket& bucket : bench.learner->buckets()) {
    std::vector<std::size_t> order(bucket.size);
    std::iota(order.begin(), order.end(), bucket.offset);
    const std::size_t tried = std::min<std::size_t>(10, bucket.size);
    std::partial_sort(order.begin(), order.begin() + std::ptrdiff_t(tried), order.end(),
                      [&](std::size_t a, std::size_t b) { return std::abs(g[a]) > std::abs(g[b]); });
    for (std::size_t i = 0; i < tried; ++i) {
      std::vector<double> along(g.size(), 0.0);
      along[order[i]] = 1;
      EXPECT_NEAR(bench.slope(&Probe::scored_loss, along, 5e-4), g[order[i]], 0.02 * std::abs(g[order[i]]) + 5e-4)
          << "at " << order[i];
    }
  }
}

TEST_P(EveryModel, StartsAtTheSameBitsForTheSameSeedOnly) {
  const Bench bench(GetParam());
  const auto bits = [&](std::uint64_t seed, std::uint32_t repeat) {
    return hash_bits(bench.learner->initial(seed, repeat).share());
  };
  EXPECT_EQ(bits(1, 0), bits(1, 0));
  EXPECT_EQ(bits(1, 0), hash_bits(Bench(GetParam(), "reference", 2, 7).learner->initial(1, 0).share()));
  EXPECT_EQ((std::set<std::uint64_t>{bits(1, 0), bits(2, 0), bits(1, 1), bits(2, 1)}.size()), 4u);
}

TEST_P(EveryModel, CompletesItsBucketsInOrderAndLeavesThemAlone) {
  Bench bench(GetParam());
  const std::vector<Bucket>& buckets = bench.learner->buckets();
  std::vector<float> g(bench.learner->size(), std::nanf("")), early(g);
  std::size_t next = 0;
  bench.learner->gradient(bench.x.data(), bench.batch, g.data(), [&](int i) {
    ASSERT_EQ(std::size_t(i), next++);
    const Bucket& b = buckets[std::size_t(i)];
    std::copy_n(g.begin() + std::ptrdiff_t(b.offset), b.size, early.begin() + std::ptrdiff_t(b.offset));
  });
  EXPECT_EQ(next, buckets.size());
  EXPECT_EQ(early, g);  // also: none is NaN, so the buckets cover all parameters
}

TEST_P(EveryModel, ListsItsBucketsLastFirstWithRisingCosts) {
  const Bench bench(GetParam());
  std::size_t end = bench.learner->size();
  double spent = 1.0 / 3.0;  // the forward pass
  for (const Bucket& bucket : bench.learner->buckets()) {
    EXPECT_EQ(bucket.offset + bucket.size, end);
    EXPECT_GT(bucket.done_at, spent);
    end = bucket.offset;
    spent = bucket.done_at;
  }
  EXPECT_EQ(end, 0u);
  EXPECT_EQ(spent, 1.0);
  EXPECT_GT(bench.learner->flops_per_sample(), 0);
}

TEST_P(EveryModel, ScoresALargeBatchInPiecesLikeTheLossOfItsGradient) {
  Bench whole(GetParam(), "reference", 10, 10), pieces(GetParam(), "reference", 10, 3);
  whole.gradient();
  const Learner::Score a = whole.learner->score(whole.x.data(), whole.batch);
  const Learner::Score b = pieces.learner->score(pieces.x.data(), pieces.batch);
  EXPECT_NEAR(a.loss_sum, b.loss_sum, 1e-5 * a.loss_sum);
  EXPECT_EQ(a.correct, b.correct);
  EXPECT_NEAR(whole.loss, a.loss_sum / 10, 1e-5 * whole.loss);
}

TEST_P(EveryModel, GivesTheSameBitsFromEveryInstance) {
  Bench one(GetParam()), other(GetParam());
  const std::vector<float> first = one.gradient();
  EXPECT_EQ(first, other.gradient());
  EXPECT_EQ(first, one.gradient());
  EXPECT_EQ(one.loss, other.loss);
}

TEST(Models, HaveTheDocumentedNumberOfParameters) {
  EXPECT_EQ(Bench("lenet").learner->size(), 61706u);
  EXPECT_EQ(Bench("mlp").learner->size(), 101770u);
  EXPECT_EQ(Bench("quadratic").learner->size(), 64u);
}

// Published results depend on these: a change of the draws must be a decision, not an accident.
TEST(Models, StartWhereTheyAlwaysDid) {
  EXPECT_EQ(hash_bits(Bench("lenet").learner->initial(1, 0).share()), 12153741809400722481u);
  EXPECT_EQ(hash_bits(Bench("mlp").learner->initial(1, 0).share()), 18268922525190387950u);
}

TEST(Models, DrawInitialWeightsWithinGlorotsBounds) {
  const std::vector<float> x = Bench("mlp").x;
  const auto largest = [&](std::size_t from, std::size_t n) {
    const auto [low, high] =
        std::minmax_element(x.begin() + std::ptrdiff_t(from), x.begin() + std::ptrdiff_t(from + n));
    return std::max(-*low, *high);
  };
  EXPECT_NEAR(largest(0, 784 * 128), std::sqrt(6.0 / (784 + 128)), 1e-3);
  EXPECT_EQ(largest(784 * 128, 128), 0);
  EXPECT_NEAR(largest(785 * 128, 1280), std::sqrt(6.0 / (128 + 10)), 1e-2);
  EXPECT_EQ(largest(785 * 128 + 1280, 10), 0);
  const std::vector<float> lenet = Bench("lenet").x;
  const auto [low, high] = std::minmax_element(lenet.begin() + 156, lenet.begin() + 156 + 2400);  // 6 -> 16 maps, 5x5
  EXPECT_NEAR(std::max(-*low, *high), std::sqrt(6.0 / (25 * (6 + 16))), 1e-2);
}

TEST(Models, AgreeBetweenOneDnnAndReference) {
  for (const BackendEntry& entry : backends())
    if (std::string(entry.name) == "onednn" && !entry.unavailable().empty()) GTEST_SKIP() << entry.unavailable();
  for (const char* model : {"lenet", "mlp"}) {
    Bench reference(model, "reference", 8, 8), onednn(model, "onednn", 8, 8);
    const std::vector<float> a = reference.gradient(), b = onednn.gradient();
    EXPECT_NEAR(reference.loss, onednn.loss, 1e-5 * reference.loss);
    for (const Bucket& bucket : reference.learner->buckets()) {
      std::vector<float> difference(a.size());
      std::transform(a.begin(), a.end(), b.begin(), difference.begin(), std::minus<>());
      EXPECT_LT(norm(difference, bucket), 1e-4 * norm(a, bucket)) << model << ", bucket at " << bucket.offset;
    }
  }
}

TEST(Quadratic, HasItsOptimumAtTheMeanOfTheCentres) {
  Bench bench("quadratic", "reference", 4096, 4096);
  const QuadraticOptimum optimum = quadratic_optimum(*bench.data);
  bench.x.assign(optimum.x.begin(), optimum.x.end());
  const std::vector<float> g = bench.gradient();
  EXPECT_LT(norm(g, {0, g.size()}), 1e-6);
  EXPECT_NEAR(bench.loss, optimum.loss, 1e-5 * optimum.loss);
  for (float& value : bench.x) value += 0.01f;
  bench.gradient();
  EXPECT_GT(bench.loss, optimum.loss);
}

TEST(Quadratic, HasCurvaturesFromATenthToOne) {
  const std::vector<double> a = quadratic_curvatures(5);
  EXPECT_NEAR(a.front(), 0.1, 1e-15);
  EXPECT_EQ(a.back(), 1.0);
  EXPECT_NEAR(a[1] / a[0], a[4] / a[3], 1e-12);
  EXPECT_EQ(quadratic_curvatures(1), std::vector<double>{1.0});
}

TEST(Buckets, AreOneForEachParameterAtMost) {
  EXPECT_EQ(equal_buckets(3).size(), 3u);
  EXPECT_EQ(equal_buckets(1000003).size(), 8u);
}

}  // namespace
}  // namespace hopbench
