// A compute backend compiles a network of layers, given as plain data, for one device and one largest batch.
//
// A whole network is compiled at once, not layer by layer, so that a backend may fuse layers and keep its own memory
// layouts between them. `reference` is the naive oracle every other backend is held against, layer by layer (a network
// of one layer).
//
// Parameters and their gradient are one flat float32 vector each, in the order of the layers: weights, then bias (batch
// normalisation: scale, then shift). Statistics of batch normalisation are a vector of their own, in the order of the
// layers: means, then variances.
// Layouts at the border are fixed: activations NCHW, convolution weights OIHW, dense weights [out][in] (row-major).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backends/base/space.h"

namespace hopbench {

/// Of one sample. A flat vector of n features is {n, 1, 1}.
struct Shape {
  int channels = 1, height = 1, width = 1;
  std::size_t size() const { return std::size_t(channels) * std::size_t(height) * std::size_t(width); }
  bool operator==(const Shape&) const = default;
};

/// Padding: zeros for kConv and kAvgPool (whose mean is always over kernel * kernel cells), never the largest for
/// kMaxPool. Of equal largest values in a window the first in row-major order gets the gradient. kDense flattens.
///
/// kBatchNorm (Ioffe, Szegedy, 2015): scale * (x - mean) / sqrt(variance + 1e-5) + shift, for each channel; mean and
/// variance (divided by the count) over the batch and all cells.
/// kAdd: the outputs of layer `from` are added to the input. Where these are larger they are subsampled with `stride`,
/// and channels of zeros stand around them, as many on each side: option A of He, Zhang, Ren, Sun (2016).
struct LayerSpec {
  enum class Type { kConv, kDense, kRelu, kMaxPool, kAvgPool, kBatchNorm, kAdd };
  Type type = Type::kRelu;
  int outputs = 0;                          // conv: output channels; dense: output features
  int kernel = 0, stride = 1, padding = 0;  // conv and pools (square); add: stride
  bool bias = true;                         // conv and dense
  int from = -1;                            // add: index of that layer, at least two before this one
};

const char* to_string(LayerSpec::Type type);
std::string to_string(const Shape& shape);      // "20x12x12"
std::string to_string(const LayerSpec& layer);  // "conv 5x5 -> 20 (stride 1, padding 0)"
/// The shape behind the layer; windows that do not fit whole are left out (floor). Error(kUsage) if the layer does not
/// fit its input: it names both. Padding is below the kernel, so that every pooling window holds at least one number.
Shape output_shape(const LayerSpec& layer, const Shape& input);
/// How many parameters it has: weights plus bias.
std::size_t parameter_count(const LayerSpec& layer, const Shape& input);
/// Numbers that a batch norm keeps besides: means and variances.
std::size_t statistic_count(const LayerSpec& layer, const Shape& input);
/// Multiply-adds of one forward pass for one sample, times 2.
double forward_flops(const LayerSpec& layer, const Shape& input);

/// A compiled network. Not thread-safe: one thread at a time uses it; several may exist. It keeps the activations of
/// the last forward pass for the backward pass that follows. All pointers are into the backend's space.
class CompiledNetwork {
 public:
  virtual ~CompiledNetwork() = default;

  /// y[batch][outputs] = network(x[batch][inputs]), as in training: batch norms use the statistics of this batch.
  /// batch <= the largest batch it was compiled for.
  virtual void forward(const float* params, const float* x, float* y, int batch) = 0;

  /// Writes what the batch norms saw in the last forward: means, and variances of the population that the batch was
  /// drawn from (divided by the count less one).
  virtual void statistics(float* to) const = 0;

  /// forward, but with these statistics (nullptr where the network has none). No backward pass may follow.
  virtual void infer(const float* params, const float* statistics, const float* x, float* y, int batch) = 0;

  /// After forward with the same params, x and batch: writes (does not add to) dparams, and dx unless it is nullptr.
  /// `layer_done(i)` is called when the gradient of layer i's parameters is complete, for every layer, last layer
  /// first.
  virtual void backward(const float* params, const float* x, const float* dy, float* dparams, float* dx, int batch,
                        const std::function<void(int layer)>& layer_done) = 0;

  /// What a step of training does, for backends that can launch it as one: forward, the loss and its gradient,
  /// statistics unless that is nullptr, and backward without dx. Layers are told of as by backward, and before them -1:
  /// the statistics are there. nullopt: this backend does not have it; nothing has been done.
  virtual std::optional<float> train(const float* /*params*/, const float* /*x*/, const std::int32_t* /*labels*/,
                                     float* /*dparams*/, float* /*statistics*/, int /*batch*/,
                                     const std::function<void(int layer)>& /*layer_done*/) {
    return std::nullopt;
  }

  /// For benchmarks: from now on `done(layer, direction)` is called whenever that part of a pass has been computed, so
  /// that the time since the call before is its own. A layer computed together with the one before it is not told of;
  /// -1 stands for what is of no layer. Empty: nobody wants to know. False: this backend does not tell.
  enum class Direction { kForward, kBackwardWeights, kBackwardData };
  virtual bool watch(std::function<void(int layer, Direction direction)> done) { return !done; }

  /// dlogits = d(mean loss)/d(logits) unless nullptr; returns the mean softmax cross-entropy of the batch in nats.
  /// `correct`, unless nullptr, is set to how many arg-maxes (ties: the lowest class) equal their label.
  virtual float softmax_cross_entropy(const float* logits, const std::int32_t* labels, float* dlogits, int batch,
                                      int* correct) = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual const char* name() const = 0;
  virtual std::string version() const = 0;  // of the library behind it, and the instruction set it picked
  virtual Space& space() = 0;
  /// Error(kUsage) "BACKEND does not support ..." for what it lacks. May be called on several threads at once.
  virtual std::unique_ptr<CompiledNetwork> compile(std::span<const LayerSpec> layers, const Shape& input,
                                                   int largest_batch) = 0;

  /// A row of a sparse matrix: the values that are not 0, and their columns, ascending; in host memory.
  struct SparseRow {
    std::span<const std::uint32_t> columns;
    std::span<const float> values;
  };
  /// to[r] (host memory) = the product of row r and x (in the backend's space), and x[bias_at] more. Any thread.
  virtual void margins(const float* x, std::size_t bias_at, std::span<const SparseRow> rows, float* to);
};

struct BackendOptions {
  int threads = 1;  // of one network, on the host
  /// "fp32"; on cuda also "tf32" and "bf16": see cuda/gemm.h. Error(kUsage) where a backend lacks it.
  std::string precision = "fp32";
  /// The same bits each time; false: what is faster where a library has both (cuda).
  bool deterministic = true;
  /// The place of this process among those on its machine, which says which of several devices is its own. That of the
  /// first backend counts.
  int local_rank = 0;
  int local_ranks = 1;  // so many processes of the trial are there
  /// Other processes may read its memory in place (cuda: CUDA IPC). Once allowed, it stays so.
  bool lend = true;
};

struct BackendEntry {
  const char* name;
  const char* summary;
  std::string (*unavailable)();  // why this build or machine lacks it; empty: it is there
  std::unique_ptr<Backend> (*create)(const BackendOptions& options);
};

/// reference, onednn, cuda: always listed, available or not.
const std::vector<BackendEntry>& backends();
/// Error(kUsage) with the known names; Error(kEnvironment) with the reason if it is unavailable.
std::unique_ptr<Backend> create_backend(const std::string& name, const BackendOptions& options = {});

}  // namespace hopbench
