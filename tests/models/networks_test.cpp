// The deep networks: parameters, slopes, backends, and the statistics of batch norms. On maps as small as each allows,
// since the reference backend is slow.
#include <algorithm>
#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

#include "backends/base/error.h"
#include "models/sequential.h"
#include "models/workload.h"
#include "tests/models/probe.h"

namespace hopbench {
namespace {

using Type = LayerSpec::Type;

/// A learner with a drawn batch.
struct Net : Probe {
  Net(const std::string& model, const std::string& backend_name, const Shape& input, int samples,
      Statistics statistics = Statistics::kRunning) {
    backend = create_backend(backend_name);
    learner = find_model(model).create(*backend, {.model = model, .statistics = statistics}, input, 10, samples);
    draw(input, samples);
  }
  Net(std::vector<LayerSpec> layers, const Shape& input, int samples, Statistics statistics) {
    backend = create_backend("reference");
    learner = make_sequential(*backend, std::move(layers), input, samples, Initial::kHe, statistics);
    draw(input, samples);
  }
  void draw(const Shape& input, int samples) {
    Random random({.seed = 3, .purpose = Purpose::kTest});
    inputs.resize(input.size() * std::size_t(samples));
    for (float& value : inputs) value = float(2 * random.uniform() - 1);
    for (int i = 0; i < samples; ++i) labels.push_back(i % 10);
    batch = {samples, inputs.data(), labels.data()};
    x = learner->initial(1, 0).to_host();
  }
};

bool onednn_is_there() {
  return std::any_of(backends().begin(), backends().end(),
                     [](const BackendEntry& e) { return e.name == std::string("onednn") && e.unavailable().empty(); });
}

constexpr Shape kCifar{3, 32, 32}, kSmall{3, 8, 8};

TEST(Networks, RefuseDataWithoutLabels) {
  const auto backend = create_backend("reference");
  for (const char* model : {"lenet", "mlp", "softmax", "alexnet_small", "vgg11", "resnet20"}) {
    try {
      find_model(model).create(*backend, {.model = model}, kCifar, 0, 1);
      ADD_FAILURE() << model;
    } catch (const Error& error) {
      EXPECT_EQ(std::string(error.what()),
                std::string("model ") + model + " cannot be trained on this data set: it has no labels");
    }
  }
}

TEST(Networks, HaveTheNumbersOfParametersOfTheirPapers) {
  const auto trainable = [](const char* model) { return Net(model, "reference", kCifar, 1).learner->trainable(); };
  EXPECT_EQ(trainable("vgg11"), 9225610u);
  EXPECT_EQ(trainable("resnet20"), 269722u);
  EXPECT_EQ(trainable("resnet32"), 464154u);
  EXPECT_EQ(trainable("resnet56"), 853018u);
  EXPECT_EQ(trainable("alexnet_small"), 145578u);
  EXPECT_EQ(Net("softmax", "reference", {1, 28, 28}, 1).learner->size(), 7850u);
  // The statistics are as many as the scales and shifts: 7 norms of 16, 6 of 32, 6 of 64 channels.
  EXPECT_EQ(Net("resnet20", "reference", kCifar, 1).learner->size(), 269722u + 2 * (7 * 16 + 6 * 32 + 6 * 64));
  EXPECT_EQ(Net("resnet20", "reference", kCifar, 1, Statistics::kPrecise).learner->size(), 269722u);
}

// Published results will depend on these: a change of the draws must be a decision, not an accident.
TEST(Networks, StartWithinHesBoundsWithScalesOfOneAndUnitVariances) {
  const Net net("resnet20", "reference", kSmall, 1);
  const auto largest = [&](std::size_t from, std::size_t n) {
    const auto at = net.x.begin() + std::ptrdiff_t(from);
    const auto [low, high] = std::minmax_element(at, at + std::ptrdiff_t(n));
    return std::max(-*low, *high);
  };
  const auto all = [&](std::size_t from, std::size_t n, float value) {
    const auto at = net.x.begin() + std::ptrdiff_t(from);
    return std::all_of(at, at + std::ptrdiff_t(n), [&](float v) { return v == value; });
  };
  EXPECT_NEAR(largest(0, 432), std::sqrt(6.0 / 27), 1e-2);  // 3 -> 16, 3x3
  EXPECT_TRUE(all(432, 16, 1) && all(448, 16, 0));          // scales and shifts
  EXPECT_NEAR(largest(464, 2304), std::sqrt(6.0 / 144), 1e-3);
  EXPECT_NEAR(largest(269722 - 650, 640), std::sqrt(1.0 / 64), 1e-3);  // the last layer: small
  EXPECT_TRUE(all(269722 - 10, 10, 0));
  EXPECT_TRUE(all(269722, 16, 0) && all(269722 + 16, 16, 1) && all(269722 + 32, 16, 0));
}

void expect_slopes(Net& net, std::size_t every) {
  const std::vector<float> g = net.gradient();
  const std::size_t trainable = net.learner->trainable();
  std::vector<Bucket> parts = {{.offset = 0, .size = trainable}};
  const std::vector<Bucket>& buckets = net.learner->buckets();
  for (std::size_t b = 0; b < buckets.size(); b += every) {
    if (buckets[b].offset < trainable) parts.push_back(buckets[b]);
  }
  for (const Bucket& part : parts) {
    const double length = norm(g, part);
    ASSERT_GT(length, 0);
    std::vector<double> along(g.size(), 0.0);
    for (std::size_t d = part.offset; d < part.offset + part.size; ++d) along[d] = g[d] / length;
    // Losses are floats near 2.3: half a last digit each, 2e-7 over a step of 2e-3. ReLUs that switch do the rest.
    EXPECT_NEAR(net.slope(&Probe::trained_loss, along, 1e-3), length, 0.02 * length + 2e-4)
        << part.size << " numbers at " << part.offset;
  }
}

TEST(Networks, HaveTheGradientThatFiniteDifferencesFind) {
  Net alexnet("alexnet_small", "reference", kSmall, 4), resnet("resnet20", "reference", kSmall, 6);
  expect_slopes(alexnet, 1);
  expect_slopes(resnet, 6);
  if (!onednn_is_there()) GTEST_SKIP() << "no oneDNN for vgg11, which takes seconds on the reference backend";
  Net vgg("vgg11", "onednn", kCifar, 4);
  expect_slopes(vgg, 1);
}

void expect_agreement(const std::string& model, const Shape& input, int samples, double tolerance) {
  SCOPED_TRACE(model);
  Net reference(model, "reference", input, samples), onednn(model, "onednn", input, samples);
  const std::vector<float> a = reference.gradient(), b = onednn.gradient();
  EXPECT_NEAR(reference.loss, onednn.loss, tolerance * reference.loss);
  for (const Bucket& bucket : reference.learner->buckets()) {
    std::vector<float> difference(a.size());
    std::transform(a.begin(), a.end(), b.begin(), difference.begin(), std::minus<>());
    EXPECT_LT(norm(difference, bucket), tolerance * norm(a, bucket)) << "bucket at " << bucket.offset;
  }
  EXPECT_NEAR(reference.scored_loss(), onednn.scored_loss(), tolerance * reference.scored_loss());
}

TEST(Networks, AgreeBetweenOneDnnAndReference) {
  if (!onednn_is_there()) GTEST_SKIP() << "no oneDNN";
  expect_agreement("softmax", {1, 28, 28}, 8, 1e-5);
  expect_agreement("alexnet_small", kSmall, 4, 1e-4);
  expect_agreement("resnet20", kSmall, 4, 1e-3);
  expect_agreement("resnet32", kSmall, 2, 1e-3);
  expect_agreement("vgg11", kCifar, 1, 1e-4);
}

TEST(Networks, RefuseSamplesThatTheyCannotHalve) {
  EXPECT_THROW(Net("resnet20", "reference", {3, 10, 10}, 1), Error);
  EXPECT_THROW(Net("resnet20", "reference", {3, 8, 12}, 1), Error);
  EXPECT_THROW(Net("vgg11", "reference", {3, 16, 16}, 1), Error);
}

// ---- statistics of batch norms: one norm behind a convolution, of 3 channels

const std::vector<LayerSpec> kOneNorm = {{.type = Type::kConv, .outputs = 3, .kernel = 3, .bias = false},
                                         {.type = Type::kBatchNorm},
                                         {.type = Type::kRelu},
                                         {.type = Type::kDense, .outputs = 10}};
constexpr Shape kTiny{2, 6, 5};
constexpr double kCount = 8 * 4 * 3;  // cells of a batch of 8, in each channel

TEST(RunningStatistics, StandBehindTheParametersAndTheirGradientIsTheBatchs) {
  Net net(kOneNorm, kTiny, 8, Statistics::kRunning);
  const std::size_t trainable = net.learner->trainable();
  ASSERT_EQ(net.learner->size(), trainable + 6);
  const Bucket first = net.learner->buckets().front();
  EXPECT_EQ(first.offset, trainable);
  EXPECT_EQ(first.size, 6u);
  const std::vector<float> g = net.gradient();
  // With the batch's own statistics, the variance not corrected, a model scores as it trained.
  std::copy_n(g.begin() + std::ptrdiff_t(trainable), 6, net.x.begin() + std::ptrdiff_t(trainable));
  for (std::size_t c = 3; c < 6; ++c) net.x[trainable + c] *= float((kCount - 1) / kCount);
  EXPECT_NEAR(net.scored_loss(), net.loss, 1e-6 * net.loss);
  net.x[trainable] += 1;
  EXPECT_GT(std::abs(net.scored_loss() - net.loss), 1e-3);
  const float trained = net.loss;
  net.gradient();
  EXPECT_EQ(net.loss, trained) << "training does not look at them";
}

TEST(RunningStatistics, OfVariancesBelowZeroCountAsZero) {
  Net net(kOneNorm, kTiny, 8, Statistics::kRunning);
  const std::size_t variances = net.learner->trainable() + 3;
  std::fill_n(net.x.begin() + std::ptrdiff_t(variances), 3, 0.0f);
  const double at_zero = net.scored_loss();
  std::fill_n(net.x.begin() + std::ptrdiff_t(variances), 3, -1.0f);
  EXPECT_EQ(net.scored_loss(), at_zero);
}

TEST(PreciseStatistics, AreThoseOfAllSamplesHoweverTheyAreCut) {
  for (int piece : {8, 4, 3}) {
    Net net(kOneNorm, kTiny, 8, Statistics::kPrecise);
    ASSERT_EQ(net.learner->size(), net.learner->trainable());
    EXPECT_EQ(net.learner->estimated_from(), kPreciseSamples);
    net.gradient();
    net.learner->estimate(net.x.data(), net.batch, piece);
    EXPECT_NEAR(net.scored_loss(), net.loss, 1e-6 * net.loss) << "pieces of " << piece;
  }
  EXPECT_EQ(Net("lenet", "reference", {1, 28, 28}, 1, Statistics::kPrecise).learner->estimated_from(), 0);
}

class Noise : public Dataset {
 public:
  std::size_t size() const override { return 24; }
  Shape shape() const override { return kSmall; }
  int classes() const override { return 10; }
  std::int32_t label(std::size_t i) const override { return std::int32_t(i % 10); }
  void copy_sample(std::size_t i, float* to) const override {
    Random random({.seed = 3, .purpose = Purpose::kTest, .iteration = std::int64_t(i)});
    std::generate_n(to, kSmall.size(), [&] { return float(random.uniform()); });
  }
};

TEST(PreciseStatistics, AreEstimatedFromTheTrainingSetBeforeAModelIsScored) {
  const auto noise = std::make_shared<Noise>();
  WorkloadSpec spec{.model = "resnet20", .batch = 10, .backend = "reference"};
  const auto running = make_workload(spec, {noise, noise});
  spec.statistics = Statistics::kPrecise;
  const auto precise = make_workload(spec, {noise, noise});
  EXPECT_EQ(running->trainable(), precise->size());
  const Vec x = precise->initial();
  const Evaluation first = precise->evaluate(x.share());
  EXPECT_EQ(precise->evaluate(x.share()).loss, first.loss);
  // Scoring normalises as training does; the running statistics of a model that never trained would not.
  Vec g = Vec::uninitialised(x.size());
  EXPECT_NEAR(first.loss, precise->gradient(x.share(), 0, 0, 24, g, {}), 0.2);
  EXPECT_GT(std::abs(running->evaluate(running->initial().share()).loss - first.loss), 0.2);
}

}  // namespace
}  // namespace hopbench
