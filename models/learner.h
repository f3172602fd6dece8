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

/// A run of neighbouring parameters whose gradient becomes complete at once. Buckets are listed in the order in which
/// they become complete (last layer first). `done_at` is the share of the gradient's cost (in flops, forward pass
/// included) after which a bucket is complete; it rises to 1.
struct Bucket {
  std::size_t offset = 0, size = 0;
  double done_at = 1.0;

  bool operator==(const Bucket&) const = default;
};

/// A tensor of the parameters as a matrix: its numbers lie row by row. What has one dimension, such as biases and the
/// scales of a norm, has one column.
struct Tensor {
  std::size_t offset = 0, rows = 0, columns = 1;

  std::size_t size() const { return rows * columns; }
  bool is_matrix() const { return rows > 1 && columns > 1; }
};

/// Returns one matrix for each run, as nearly square as its size allows, and a vector for the numbers that are left
/// over. For models without layers.
std::vector<Tensor> square_tensors(const std::vector<Bucket>& runs);

/// Returns at most eight runs of nearly equal size and equal cost. The forward pass counts a third of the cost, the
/// backward pass the rest. For models without layers.
std::vector<Bucket> equal_buckets(std::size_t parameters);

struct Evaluation {
  double loss = 0;      // mean over the samples
  double accuracy = 0;  // share of right answers; 0 if the model gives no answers
};

/// The source of the statistics of batch norms when a model is scored.
enum class Statistics {
  /// Running means and variances follow all other parameters, so protocols exchange and average them as they do
  /// parameters. Their "gradient" is the batch's statistics: see Learner::trainable.
  kRunning,
  /// They are not part of the parameters but estimated at the parameters that are scored, from kPreciseSamples samples:
  /// Wu, Johnson, "Rethinking 'Batch' in BatchNorm" (2021). See Learner::estimate.
  kPrecise,
};
constexpr int kPreciseSamples = 1024;

/// A model. One thread may use an instance at a time. All instances of a model give the same bits for the same input.
class Learner {
 public:
  virtual ~Learner() = default;
  virtual std::size_t size() const = 0;  // parameters
  /// Returns the number of parameters that are trained; these come first. The rest are running statistics of batch
  /// norms: their "gradient" is the batch's statistics, and a step moves them towards it.
  virtual std::size_t trainable() const { return size(); }
  virtual Space& space() const = 0;
  /// Returns the initial parameters, drawn by the key (seed, rank 0, kInitialParameters): same bits on every rank.
  virtual Vec initial(std::uint64_t seed, std::uint32_t repeat) const = 0;
  virtual const std::vector<Bucket>& buckets() const = 0;  // at least one; together they cover all parameters
  /// Returns the tensors that the trained parameters consist of, ascending. Together they cover all of them.
  virtual std::vector<Tensor> tensors() const { return {{.offset = 0, .rows = trainable(), .columns = 1}}; }
  /// Writes the gradient of the mean loss over the batch at x into g[size()]; returns that loss. x and g lie in
  /// space(); the batch is no larger than the one the learner was made for.
  /// `done(i)` (may be empty) is called as bucket i becomes complete, in order; g is not touched there afterwards.
  virtual float gradient(const float* x, const Batch& batch, float* g, const std::function<void(int)>& done) = 0;
  /// Returns true if the model takes sparse rows and has sparse_gradient. It is like gradient, but g becomes a sparse
  /// vector with an entry for each column of the rows, whatever its value. So g's size depends on the samples alone.
  virtual bool sparse() const { return false; }
  virtual float sparse_gradient(const float* /*x*/, const Batch&, Vec& /*g*/) { return 0; }
  /// Sums over a batch of any size: the loss (not its mean) and the right answers.
  struct Score {
    double loss_sum = 0;
    std::int64_t correct = 0;
  };
  virtual Score score(const float* x, const Batch& batch) = 0;
  /// Returns the number of training samples that estimate() must get before score(), at the same x; 0: estimate() is
  /// not needed. estimate() gives the statistics of training with `piece` samples at a time.
  virtual int estimated_from() const { return 0; }
  virtual void estimate(const float* /*x*/, const Batch&, int /*piece*/) {}
  virtual double flops_per_sample() const = 0;  // of one gradient; multiply-adds count 2

  /// The network that computes the gradient, with its layers, for benchmarks. Empty if the model is not a network.
  struct Anatomy {
    CompiledNetwork* network = nullptr;
    std::vector<std::string> layers;    // "conv 3x3 -> 64 (stride 1, padding 1) on 3x32x32"
    std::vector<double> forward_flops;  // of a sample
  };
  virtual Anatomy anatomy() { return {}; }
};

}  // namespace hopbench
