// Drawn data sets, without files. Samples scatter around the centres of ten classes in turn (sample i is of class i mod
// 10), so the first few are as good a sample as any. A sample is drawn on its first use, so servers draw none.
#include <algorithm>
#include <atomic>
#include <memory>
#include <vector>

#include <fmt/format.h>

#include "backends/base/error.h"
#include "models/dataset.h"

namespace hopbench {
namespace {

constexpr std::size_t kClasses = 10;

class Blobs final : public Dataset {
 public:
  /// Sample = centre of its class + a draw with mean 0 and deviation 1 in each feature. A centre is such a draw times
  /// `spread`. `from` is the number of the first sample. The draws depend only on the sample numbers and the seed, so
  /// sets with the same seed and spread share their centres.
  Blobs(Shape shape, std::size_t samples, std::size_t from, double spread, std::uint64_t seed)
      : shape_(shape),
        samples_(samples),
        from_(from),
        seed_(seed),
        centres_(kClasses * shape.size()),
        features_(std::make_unique_for_overwrite<float[]>(samples * shape.size())),
        states_(std::make_unique<std::atomic<State>[]>(samples)) {
    Random random = drawn(seed, -1, 0);
    for (double& c : centres_) c = spread * unit(random);
  }
  std::size_t size() const override { return samples_; }
  Shape shape() const override { return shape_; }
  int classes() const override { return static_cast<int>(kClasses); }
  std::int32_t label(std::size_t i) const override { return static_cast<std::int32_t>((from_ + i) % kClasses); }
  void copy_sample(std::size_t i, float* to) const override { std::copy_n(sample(i), shape_.size(), to); }
  void load() const override {
    for (std::size_t i = 0; i < samples_; ++i) sample(i);
  }

 private:
  enum class State : std::uint8_t { kNotDrawn, kBeingDrawn, kDrawn };
  /// Draws uniformly, mean 0, deviation 1. Unlike normal(), takes no logarithm, whose last bit varies by machine.
  static double unit(Random& random) { return 1.7320508075688772 * (2.0 * random.uniform() - 1.0); }
  static Random drawn(std::uint64_t seed, int rank, std::size_t sample) {
    return Random({.seed = seed,
                   .repeat = 0,
                   .purpose = Purpose::kSynthetic,
                   .rank = rank,
                   .iteration = static_cast<std::int64_t>(sample)});
  }
  const float* sample(std::size_t i) const {
    std::atomic<State>& state = states_[i];
    State seen = State::kNotDrawn;
    if (state != State::kDrawn && state.compare_exchange_strong(seen, State::kBeingDrawn)) {
      draw(i);
      state = State::kDrawn;
      state.notify_all();
    }
    state.wait(State::kBeingDrawn);
    return features_.get() + i * shape_.size();
  }
  void draw(std::size_t i) const {
    Random scatter = drawn(seed_, 0, from_ + i);
    const std::size_t n = shape_.size();
    const double* centre = centres_.data() + static_cast<std::size_t>(label(i)) * n;
    for (std::size_t d = 0; d < n; ++d) features_[i * n + d] = static_cast<float>(centre[d] + unit(scatter));
  }
  const Shape shape_;
  const std::size_t samples_, from_;
  const std::uint64_t seed_;
  std::vector<double> centres_;
  const std::unique_ptr<float[]> features_;
  const std::unique_ptr<std::atomic<State>[]> states_;
};

/// Returns drawn sets. Their centres scatter by 0.1 deviations in each feature, so classes overlap a little.
DatasetPair drawn(const Shape& shape, const DatasetRequest& request) {
  constexpr std::size_t kTrain = 4096, kTest = 1024;
  return {std::make_shared<Blobs>(shape, kTrain, 0, 0.1, request.seed),
          std::make_shared<Blobs>(shape, kTest, kTrain, 0.1, request.seed)};
}

/// Returns the centres of the quadratic objective, also as the test set: the optimum is that of the training set.
DatasetPair load_quadratic(const DatasetRequest& request) {
  constexpr std::size_t kSamples = 4096, kLargest = kLargestQuadratic;
  const std::size_t size = request.size == 0 ? 64 : request.size;
  if (size > kLargest)
    throw usage_error(
        fmt::format("data set quadratic cannot have {} features: at most {}: for larger vectors use model "
                    "timing_only",
                    size, kLargest));
  auto centres = std::make_shared<Blobs>(Shape{static_cast<int>(size), 1, 1}, kSamples, 0, 1.0, request.seed);
  return {centres, centres};
}

}  // namespace

DatasetEntry synthetic() {
  return {"synthetic", "drawn: 10 overlapping classes of 28x28, 4096 + 1024 samples", "", "",
          [](const DatasetRequest& request) {
            return drawn({1, 28, 28}, request);
          }};
}
DatasetEntry synthetic_cifar() {
  return {"synthetic_cifar", "the same of 3x32x32, shaped like CIFAR-10", "", "", [](const DatasetRequest& request) {
            return drawn({3, 32, 32}, request);
          }};
}
DatasetEntry quadratic_centres() {
  return {"quadratic", "drawn: 4096 centres of the quadratic objective, in 10 groups", "", "", load_quadratic};
}

}  // namespace hopbench
