#include "models/quadratic.h"

#include <cmath>

#include <fmt/format.h>

#include "backends/base/error.h"
#include "models/workload.h"

namespace hopbench {
namespace {

/// The quadratic objective. Sums are in double, so at the optimum the gradient is 0 to float precision in any order.
class Quadratic final : public Learner {
 public:
  explicit Quadratic(std::size_t size) : curvatures_(quadratic_curvatures(size)), buckets_(equal_buckets(size)) {}

  std::size_t size() const override { return curvatures_.size(); }
  Space& space() const override { return host_space(); }
  Vec initial(std::uint64_t seed, std::uint32_t repeat) const override;
  const std::vector<Bucket>& buckets() const override { return buckets_; }
  /// One matrix, as nearly square as can be, so that methods for matrices have one here too.
  std::vector<Tensor> tensors() const override { return square_tensors({{.offset = 0, .size = size()}}); }
  float gradient(const float* x, const Batch& batch, float* g, const std::function<void(int)>& done) override;
  Score score(const float* x, const Batch& batch) override;
  double flops_per_sample() const override { return 5.0 * static_cast<double>(size()); }

 private:
  std::vector<double> curvatures_;
  std::vector<Bucket> buckets_;
};

/// Starts about three deviations of the samples' scatter away from the centres, far enough to see convergence.
Vec Quadratic::initial(std::uint64_t seed, std::uint32_t repeat) const {
  Random random({.seed = seed, .repeat = repeat, .purpose = Purpose::kInitialParameters, .rank = 0, .iteration = 0});
  std::vector<float> values(size());
  for (float& value : values) value = static_cast<float>(10.0 * random.uniform() - 5.0);
  return Vec::from_host(values, host_space());
}

float Quadratic::gradient(const float* x, const Batch& batch, float* g, const std::function<void(int)>& done) {
  double loss = 0;
  for (std::size_t b = 0; b < buckets_.size(); ++b) {
    for (std::size_t d = buckets_[b].offset; d < buckets_[b].offset + buckets_[b].size; ++d) {
      double sum = 0, squares = 0;
      for (int i = 0; i < batch.size; ++i) {
        const double off = double(x[d]) - batch.inputs[static_cast<std::size_t>(i) * size() + d];
        sum += off;
        squares += off * off;
      }
      g[d] = static_cast<float>(curvatures_[d] * sum / batch.size);
      loss += 0.5 * curvatures_[d] * squares;
    }
    if (done) done(static_cast<int>(b));
  }
  return static_cast<float>(loss / batch.size);
}

Learner::Score Quadratic::score(const float* x, const Batch& batch) {
  Score score;
  for (int i = 0; i < batch.size; ++i) {
    const float* centre = batch.inputs + static_cast<std::size_t>(i) * size();
    for (std::size_t d = 0; d < size(); ++d) {
      const double off = double(x[d]) - centre[d];
      score.loss_sum += 0.5 * curvatures_[d] * off * off;
    }
  }
  return score;
}

std::unique_ptr<Learner> create(Backend& backend, const WorkloadSpec& spec, const Shape& input, int, int) {
  if (&backend.space() != &host_space())
    throw usage_error(
        fmt::format("model quadratic does not run on backend {}: it computes in host memory: use backend "
                    "reference",
                    backend.name()));
  if (spec.size != 0 && spec.size != input.size())
    throw usage_error(
        fmt::format("model.size = {} does not fit the data set: its samples have {} features: leave "
                    "model.size out",
                    spec.size, input.size()));
  return std::make_unique<Quadratic>(input.size());
}

}  // namespace

std::vector<double> quadratic_curvatures(std::size_t size) {
  std::vector<double> curvatures(size, 1.0);
  for (std::size_t d = 0; d + 1 < size; ++d)
    curvatures[d] = std::pow(10.0, static_cast<double>(d) / static_cast<double>(size - 1) - 1.0);
  return curvatures;
}

QuadraticOptimum quadratic_optimum(const Dataset& centres) {
  const std::size_t size = centres.shape().size();
  const std::vector<double> curvatures = quadratic_curvatures(size);
  const auto n = static_cast<double>(centres.size());
  QuadraticOptimum optimum{.x = std::vector<double>(size, 0.0), .loss = 0};
  std::vector<float> centre(size);
  for (std::size_t i = 0; i < centres.size(); ++i) {
    centres.copy_sample(i, centre.data());
    for (std::size_t d = 0; d < size; ++d) optimum.x[d] += centre[d] / n;
  }
  for (std::size_t i = 0; i < centres.size(); ++i) {
    centres.copy_sample(i, centre.data());
    for (std::size_t d = 0; d < size; ++d) {
      const double off = optimum.x[d] - centre[d];
      optimum.loss += 0.5 * curvatures[d] * off * off / n;
    }
  }
  return optimum;
}

ModelEntry quadratic() {
  return {"quadratic", "a convex quadratic with a known optimum; model.size parameters (64)", "quadratic", create};
}

}  // namespace hopbench
