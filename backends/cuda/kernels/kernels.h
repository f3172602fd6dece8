// The kernels: all code that runs on the GPU except convolutions (cuDNN) and matrix products (cuBLAS).
//
// A call launches onto a stream and returns at once; pointers are into device memory and must stay valid until the
// stream has passed. Errors of a launch are thrown as Error(kEnvironment). Every kernel is deterministic: reductions
// add in an order that follows from the sizes alone, and nothing is added atomically.
//
// Inside a network activations are NHWC, of float or of bf16 (`Number`). At its border, and in parameters, they are
// float and NCHW (see compute/backend.h). Sums are added up in float, or in double where stated.
//
// Kernels are written for any block size, one thread included. Therefore the same source also runs on the host, where
// tests/emulated_cuda/ stands in for the GPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

struct CUstream_st;

namespace hopbench::cuda {

using Stream = CUstream_st*;

/// The number type of activations.
enum class Number { kFloat, kBf16 };
inline std::size_t bytes_of(Number number) { return number == Number::kFloat ? 4 : 2; }

/// Activations of one batch.
struct Cells {
  int batch = 0, channels = 0, height = 0, width = 0;
  std::size_t rows() const { return std::size_t(batch) * std::size_t(height) * std::size_t(width); }  // of channels
  std::size_t size() const { return rows() * std::size_t(channels); }
};

/// A pointer that is read when the kernel runs, not when it is launched, so that a captured graph can be given a new
/// one each time.
struct Indirect {
  const float* const* at = nullptr;
};
struct IndirectOut {
  float* const* at = nullptr;
};

// ---- vectors (see base/space.h); n floats

void fill(Stream stream, float* y, float value, std::size_t n);
void axpy(Stream stream, float* y, float a, const float* x, std::size_t n);
void scale(Stream stream, float* y, float a, std::size_t n);
/// `out` may be one of `in`. The order of additions is that of Space::weighted_sum. More than kMostTerms terms take
/// several passes; if `out` is one of the later terms, memory for n floats is taken for the time.
inline constexpr std::size_t kMostTerms = 256;
void weighted_sum(Stream stream, float* out, std::span<const float* const> in, std::span<const float> weights,
                  std::size_t n);
/// Sets *result (device memory) to the sum, in double. `partial`: kDotPartials doubles of device memory to work in.
inline constexpr int kDotPartials = 1024;
void dot(Stream stream, const float* x, const float* y, std::size_t n, double* partial, double* result);
/// Does Space::sgd; m is nullptr if momentum is 0.
void sgd(Stream stream, float* x, float* m, const float* g, float lr, float momentum, float weight_decay, bool nesterov,
         std::size_t n);
/// The numbers of Space::AdamStep.
struct AdamStep {
  float lr, beta1, beta2, epsilon, correction1, correction2, weight_decay;
};
/// Does Space::adamw.
void adamw(Stream stream, float* x, float* m, float* v, const float* g, const AdamStep& step, std::size_t n);
/// Does Space::compensate; `square` may be nullptr.
void compensate(Stream stream, float* g, const float* w, const float* sent, float* square, float lambda, float decay,
                float small, std::size_t n);

// ---- between the border and the inside

/// Converts [n][c][hw] floats to [n][hw][c] numbers: activations, or convolution weights (n: outputs, c: inputs).
void to_channels_last(Stream stream, Number number, Indirect from, void* to, int n, int c, int hw);
/// Converts them back.
void to_channels_first(Stream stream, Number number, const void* from, IndirectOut to, int n, int c, int hw);
/// Transposes [n][rows][columns] inside: a dense layer needs its inputs in the order of the parameters.
void transpose_inside(Stream stream, Number number, const void* from, void* to, int n, int rows, int columns);
/// Converts n floats to numbers inside, unchanged or rounded to bf16; and back.
void to_inside(Stream stream, Number number, Indirect from, void* to, std::size_t n);
void to_border(Stream stream, Number number, const void* from, IndirectOut to, std::size_t n);

/// A piece of the parameters and the place of the network's own copy, laid out as products need it. A convolution's
/// weights are [output][channel][hw] at the border and [output][hw][channel] inside. A piece holds `channels`
/// neighbouring channels of one output, which has `stride` channels. Data that keeps its order has hw 1. A piece has at
/// most kSegment numbers.
inline constexpr int kSegment = 4608;
struct Segment {
  std::size_t at = 0;        // the first of its parameters
  void* inside = nullptr;    // the copy, from its first number on
  void* gradient = nullptr;  // the copy's gradient
  int channels = 1, stride = 1, hw = 1;
  Number number = Number::kFloat;
};
/// Copies segments[first, first + count), which lie in device memory: load_segments from the parameters to the copies,
/// store_segments from the copies' gradients to the gradient. One launch for any number of segments.
void load_segments(Stream stream, const Segment* segments, int first, int count, Indirect parameters);
void store_segments(Stream stream, const Segment* segments, int first, int count, IndirectOut gradient);

// ---- layers; x, y: activations, dx, dy: gradients at them, all of `number`

/// Computes y = y + bias (of each channel; nullptr: none), then ReLU if asked.
void bias_relu(Stream stream, Number number, void* y, const float* bias, bool relu, std::size_t rows, int channels);
/// Computes ReLU's backward pass and the gradient of the bias, in one. If `relu`, sets dy to 0 where y <= 0 (in place).
/// Then dbias[c] = sum over rows of dy (nullptr: not wanted). `work`: column_work(rows, channels) floats.
void bias_relu_backward(Stream stream, Number number, void* dy, const void* y, float* dbias, bool relu,
                        std::size_t rows, int channels, float* work);
/// Returns the number of floats of working memory that the sums over rows need (for up to two sums at once).
std::size_t column_work(std::size_t rows, int channels);

/// Computes y = relu(x) (x may be y), and dx = dy where y > 0, else 0 (dx may be dy).
void relu(Stream stream, Number number, const void* x, void* y, std::size_t n);
void relu_backward(Stream stream, Number number, const void* dy, const void* y, void* dx, std::size_t n);

/// Computes the moments of a batch's cells. saved[0, c) and saved[c, 2c) get mean and inverse deviation 1 /
/// sqrt(variance + 1e-5) of each channel. seen[0, c) and seen[c, 2c) get means and population variances (divided by the
/// count less one; see population_variance). `work`: column_work(rows, channels).
void norm_statistics(Stream stream, Number number, const void* x, float* saved, float* seen, std::size_t rows,
                     int channels, float* work);
/// Computes `saved` from given means and variances: statistics[0, c) and [c, 2c).
void norm_from_statistics(Stream stream, const float* statistics, float* saved, int channels);
/// Computes y = scale * (x - mean) * inverse deviation + shift, then ReLU if asked. y is not x.
void norm_forward(Stream stream, Number number, const void* x, void* y, const float* saved, const float* scale,
                  const float* shift, bool relu, std::size_t rows, int channels);
/// Computes the backward pass of norm_statistics and norm_forward: dscale, dshift, and dx (may be dy). If `relu`, dy
/// counts only where y > 0.
void norm_backward(Stream stream, Number number, const void* x, const void* y, const void* dy, void* dx,
                   const float* saved, const float* scale, float* dscale, float* dshift, bool relu, std::size_t rows,
                   int channels, float* work);

/// Square windows; see LayerSpec. `at` (one byte for each cell of y) says which cell of its window was the largest, the
/// first in row-major order of equal ones. Therefore max_pool's kernel is at most 16.
struct Window {
  int kernel = 1, stride = 1, padding = 0;
};
void max_pool(Stream stream, Number number, const void* x, void* y, std::uint8_t* at, Cells in, Cells out, Window);
void max_pool_backward(Stream stream, Number number, const void* dy, const std::uint8_t* at, void* dx, Cells in,
                       Cells out, Window);
void avg_pool(Stream stream, Number number, const void* x, void* y, Cells in, Cells out, Window);
void avg_pool_backward(Stream stream, Number number, const void* dy, void* dx, Cells in, Cells out, Window);

/// Computes y = x + the cells of `from` subsampled with stride, zeros for channels around them, then ReLU if asked (y
/// may be x): LayerSpec's kAdd. `out` is the shape of x and y.
void add_shortcut(Stream stream, Number number, const void* x, const void* from, void* y, Cells out, Cells of_from,
                  int stride, bool relu);
/// Computes dfrom, the gradient that takes the shortcut, or adds it to dfrom's contents if `accumulate`.
void add_shortcut_backward(Stream stream, Number number, const void* dy, void* dfrom, Cells out, Cells of_from,
                           int stride, bool accumulate);
/// Adds x to y.
void add_to(Stream stream, Number number, void* y, const void* x, std::size_t n);

// ---- loss

/// The result of softmax_cross_entropy on the device.
struct Loss {
  double sum = 0;   // over the batch, nats
  int correct = 0;  // arg-maxes (ties: the lowest class) that equal their label
  int foreign = 0;  // labels that are not a class: they add nothing to sum and correct

  struct Part {
    double sum = 0;
    int correct = 0, foreign = 0;
  };
  static constexpr int kParts = 128;
  Part parts[kParts];  // of each block: the kernels' working memory
};
/// Takes float logits[batch][classes]. dlogits (nullptr: not wanted): of d(mean loss). In double, as on the host.
void softmax_cross_entropy(Stream stream, const float* logits, const std::int32_t* labels, float* dlogits, Loss* loss,
                           int batch, int classes);

// ---- sparse rows (see base/sparse.h): entry i of row r lies at row_begin[r] + i

struct SparseRows {
  const std::uint32_t* columns = nullptr;
  const float* values = nullptr;
  const std::uint64_t* row_begin = nullptr;  // rows + 1
  int rows = 0;
};
/// Computes margins[r] = row r * x + x[bias_at].
void margins(Stream stream, SparseRows rows, const float* x, std::size_t bias_at, float* margins);
/// Does y[column of e] += a * value of e, for each entry e. No column may occur twice. See SparseEntry.
void scatter_add(Stream stream, float* y, float a, const void* entries, std::size_t n);

}  // namespace hopbench::cuda
