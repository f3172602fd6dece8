// A model as training sees it: flat parameters in, flat gradient out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backends/base/random.h"
#include "backends/base/vec.h"
#include "backends/compute/backend.h"
#include "models/sparse_dataset.h"

namespace hopbench {

/// Samples side by side in host memory: inputs[size][features], or for models of sparse rows, rows[size]; and
/// labels[size] (unused by some models).
struct Batch {
  int size = 0;
  const float* inputs = nullptr;
  const std::int32_t* labels = nullptr;
  const SparseDataset::Row* rows = nullptr;
};

/// A run of neighbouring parameters whose gradient becomes complete at once. Listed in the order they become complete
/// (last layer first); `done_at` is the share of the gradient's cost after which it is (from flops, forward pass
/// included), rising to 1.
struct Bucket {
  std::size_t offset = 0, size = 0;
  double done_at = 1.0;
};

/// About eight runs of nearly equal size, as if each cost the same: forward a third, backward the rest. For models
/// without layers.
std::vector<Bucket> equal_buckets(std::size_t parameters);

struct Evaluation {
  double loss = 0;      // mean over the samples
  double accuracy = 0;  // share of right answers; 0 where the model has none
};

/// Where the statistics of batch norms come from when a model is scored.
enum class Statistics {
  /// Running means and variances stand behind all other parameters, so that protocols exchange and average them as they
  /// do parameters. Their "gradient" is the batch's statistics: see Learner::trainable.
  kRunning,
  /// They are no part of the parameters, but estimated at the parameters that are scored, from kPreciseSamples samples:
  /// Wu, Johnson, "Rethinking 'Batch' in BatchNorm" (2021). See Learner::estimate.
  kPrecise,
};
constexpr int kPreciseSamples = 1024;

/// One instance is used by one thread at a time; every instance of a model gives the same bits for the same input.
class Learner {
 public:
  virtual ~Learner() = default;
  virtual std::size_t size() const = 0;  // parameters
  /// The first so many are trained. What follows is running statistics, of batch norms: the "gradient" there is what
  /// the batch showed, and who takes a step moves them towards it.
  virtual std::size_t trainable() const { return size(); }
  virtual Space& space() const = 0;
  /// The initial parameters, from draws keyed (seed, 0 rank, kInitialParameters): the same bits on every rank.
  virtual Vec initial(std::uint64_t seed, std::uint32_t repeat) const = 0;
  virtual const std::vector<Bucket>& buckets() const = 0;  // at least one; together they cover all parameters
  /// Writes the gradient of the mean loss over the batch at x into g[size()]; returns that loss. x and g lie in
  /// space(); the batch is no larger than the one the learner was made for.
  /// `done(i)` (may be empty) is called as bucket i becomes complete, in order; g is not touched there afterwards.
  virtual float gradient(const float* x, const Batch& batch, float* g, const std::function<void(int)>& done) = 0;
  /// The same where a model takes sparse rows: g becomes a sparse vector with an entry for each column that the rows
  /// have, whatever its value, so that its size follows the samples alone. Others do not have this.
  virtual bool sparse() const { return false; }
  virtual float sparse_gradient(const float* /*x*/, const Batch&, Vec& /*g*/) { return 0; }
  /// Sums over the batch, of any size: loss (not the mean) and right answers.
  struct Score {
    double loss_sum = 0;
    std::int64_t correct = 0;
  };
  virtual Score score(const float* x, const Batch& batch) = 0;
  /// Of so many samples of the training set `score` wants an estimate first, at the same x; 0: of none. The estimate is
  /// that of training with `piece` samples at a time.
  virtual int estimated_from() const { return 0; }
  virtual void estimate(const float* /*x*/, const Batch&, int /*piece*/) {}
  virtual double flops_per_sample() const = 0;  // of one gradient; multiply-adds count 2

  /// For benchmarks: the network that computes the gradient, with its layers; none where a model is no network.
  struct Anatomy {
    CompiledNetwork* network = nullptr;
    std::vector<std::string> layers;    // "conv 3x3 -> 64 (stride 1, padding 1) on 3x32x32"
    std::vector<double> forward_flops;  // of a sample
  };
  virtual Anatomy anatomy() { return {}; }
};

}  // namespace hopbench
