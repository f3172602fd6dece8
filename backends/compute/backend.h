// A compute backend compiles a network of layers, given as plain data, for one device and one largest batch.
//
// A whole network is compiled at once, not layer by layer, so that a backend may fuse layers and keep its own memory
// layouts between them. `reference` is the naive oracle that every other backend is compared with, layer by layer (as a
// network of one layer).
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

/// The shape of one sample. A flat vector of n features is {n, 1, 1}.
struct Shape {
  int channels = 1, height = 1, width = 1;
  std::size_t size() const { return std::size_t(channels) * std::size_t(height) * std::size_t(width); }
  bool operator==(const Shape&) const = default;
};

/// Padding is zeros for kConv and kAvgPool (whose mean is always over kernel * kernel cells), and never the largest for
/// kMaxPool. If values in a window are equally large, the first in row-major order gets the gradient. kDense flattens.
///
/// kBatchNorm (Ioffe, Szegedy, 2015): scale * (x - mean) / sqrt(variance + 1e-5) + shift, for each channel; mean and
/// variance (divided by the count) over the batch and all cells.
/// kAdd adds the outputs of layer `from` to the input. If these are larger, they are subsampled with `stride`. Missing
/// channels are zeros, the same number on each side: option A of He, Zhang, Ren, Sun (2016).
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
/// Returns the shape behind the layer, without windows that do not fit whole (floor). Throws Error(kUsage), naming
/// both, if the layer does not fit its input. Padding is below the kernel: no pooling window is empty.
Shape output_shape(const LayerSpec& layer, const Shape& input);
/// Returns the number of its parameters: weights plus bias.
std::size_t parameter_count(const LayerSpec& layer, const Shape& input);
/// Returns the number of statistics that a batch norm keeps besides: means and variances.
std::size_t statistic_count(const LayerSpec& layer, const Shape& input);
/// Returns the multiply-adds of one forward pass for one sample, times 2.
double forward_flops(const LayerSpec& layer, const Shape& input);

/// A compiled network. Not thread-safe: only one thread at a time may use it. Several networks may exist. It keeps the
/// activations of the last forward pass for the backward pass that follows. All pointers are into the backend's space.
class CompiledNetwork {
 public:
  virtual ~CompiledNetwork() = default;

  /// Computes y[batch][outputs] = network(x[batch][inputs]) as in training: batch norms use the statistics of this
  /// batch. batch <= the largest batch it was compiled for.
  virtual void forward(const float* params, const float* x, float* y, int batch) = 0;

  /// Writes the statistics of the batch norms in the last forward: means, and variances of the population that the
  /// batch was drawn from (divided by the count less one).
  virtual void statistics(float* to) const = 0;

  /// Does forward with these statistics (nullptr if the network has none). No backward pass may follow.
  virtual void infer(const float* params, const float* statistics, const float* x, float* y, int batch) = 0;

  /// Writes (does not add to) dparams, and dx unless it is nullptr. Must follow forward with the same params, x and
  /// batch. `layer_done(i)` is called when the gradient of layer i's parameters is complete, for every layer, last
  /// layer first.
  virtual void backward(const float* params, const float* x, const float* dy, float* dparams, float* dx, int batch,
                        const std::function<void(int layer)>& layer_done) = 0;

  /// Runs a step of training, for backends that can launch it as one: forward, the loss and its gradient, statistics
  /// unless nullptr, and backward without dx. Calls layer_done as backward does, and before that with -1 when the
  /// statistics are there. Returns nullopt if this backend cannot do it; then nothing has been done.
  virtual std::optional<float> train(const float* /*params*/, const float* /*x*/, const std::int32_t* /*labels*/,
                                     float* /*dparams*/, float* /*statistics*/, int /*batch*/,
                                     const std::function<void(int layer)>& /*layer_done*/) {
    return std::nullopt;
  }

  /// For benchmarks: from now on `done(layer, direction)` is called whenever that part of a pass has been computed. The
  /// time since the previous call is then its own. A layer computed together with the one before it is not reported; -1
  /// stands for work of no layer. Empty: nothing is reported. Returns false if this backend does not report.
  enum class Direction { kForward, kBackwardWeights, kBackwardData };
  virtual bool watch(std::function<void(int layer, Direction direction)> done) { return !done; }

  /// Returns the mean softmax cross-entropy of the batch in nats. dlogits = d(mean loss)/d(logits) unless nullptr.
  /// `correct`, unless nullptr, is set to the number of arg-maxes (ties: the lowest class) that equal their label.
  virtual float softmax_cross_entropy(const float* logits, const std::int32_t* labels, float* dlogits, int batch,
                                      int* correct) = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual const char* name() const = 0;
  virtual std::string version() const = 0;  // version of the library behind it, and the instruction set it picked
  virtual Space& space() = 0;
  /// Throws Error(kUsage) "BACKEND does not support ..." for what it lacks. May be called on several threads at once.
  virtual std::unique_ptr<CompiledNetwork> compile(std::span<const LayerSpec> layers, const Shape& input,
                                                   int largest_batch) = 0;

  /// A row of a sparse matrix: the values that are not 0, and their columns, ascending; in host memory.
  struct SparseRow {
    std::span<const std::uint32_t> columns;
    std::span<const float> values;
  };
  /// Sets to[r] (host memory) to x[bias_at] + the product of row r and x (in the backend's space). For any thread.
  virtual void margins(const float* x, std::size_t bias_at, std::span<const SparseRow> rows, float* to);
};

struct BackendOptions {
  int threads = 1;  // of one network, on the host
  /// "fp32"; on cuda also "tf32" and "bf16" (see cuda/gemm.h). Error(kUsage) if the backend lacks it.
  std::string precision = "fp32";
  /// The same bits each time; false: the faster way if a library has both (cuda).
  bool deterministic = true;
  /// The place of this process among those on its machine. It selects the process's own device if there are several.
  /// The value given to the first backend counts.
  int local_rank = 0;
  int local_ranks = 1;  // number of the trial's processes on this machine
  /// Other processes may read its memory in place (cuda: CUDA IPC). Once allowed, this stays so.
  bool ipc = true;
};

struct BackendEntry {
  const char* name;
  const char* summary;
  std::string (*unavailable)();  // why this build or machine lacks it; empty: it is available
  std::unique_ptr<Backend> (*create)(const BackendOptions& options);
};

/// Returns reference, onednn and cuda. They are always listed, available or not.
const std::vector<BackendEntry>& backends();
/// Throws Error(kUsage) with the known names, or Error(kEnvironment) with the reason if it is unavailable.
std::unique_ptr<Backend> create_backend(const std::string& name, const BackendOptions& options = {});

}  // namespace hopbench
