// Vectors, and sparse rows: the margins of linear models, and gradients of a few columns. But for margins, each number
// is multiplied, added and rounded as on the host, so that the bits are the same.
#include <algorithm>
#include <vector>

#include "backends/base/sparse.h"
#include "backends/cuda/device.h"
#include "backends/cuda/kernels/each.cuh"

namespace hopbench::cuda {
namespace {

/// Returns y + a * x, rounded twice: no fused multiply-add.
__device__ __forceinline__ float plus(float y, float a, float x) { return __fadd_rn(y, __fmul_rn(a, x)); }

struct Fill {
  static constexpr int kLanes = 4, kInFlight = 1;
  float* y;
  float value;

  struct Nothing {};
  __device__ bool aligned() const { return fits<kLanes>(y); }
  template <int L>
  __device__ Nothing load(std::size_t) const {
    return {};
  }
  template <int L>
  __device__ void finish(std::size_t at, Nothing) const {
    write<L>(y + at, make_pack<float, L>([&](int) { return value; }));
  }
};

struct Axpy {
  static constexpr int kInFlight = 2;
  float a;
  __device__ void operator()(float& y, float x) const { y = plus(y, a, x); }
};

struct Scale {
  static constexpr int kInFlight = 4;
  float a;
  __device__ void operator()(float& y) const { y = __fmul_rn(y, a); }
};

/// A sum of terms. All terms of a number are added up before it is written, so `out` may be any of them.
template <int kRoom>
struct WeightedSum {
  static constexpr int kLanes = 4, kInFlight = 1, kTogether = 8;  // terms on their way at once
  float* out;
  int count;
  bool go_on;  // out holds the sum of the terms before these
  bool fitting;
  float weights[kRoom];
  const float* in[kRoom];

  __device__ bool aligned() const { return fitting; }
  template <int L>
  __device__ __forceinline__ void add_terms(int begin, std::size_t at, Pack<float, L>& sum) const {
    Pack<float, L> terms[kTogether] = {};
    HB_UNROLL
    for (int t = 0; t < kTogether; ++t)
      if (begin + t < count) terms[t] = read<L>(in[begin + t] + at);
    HB_UNROLL
    for (int t = 0; t < kTogether; ++t) {
      if (begin + t >= count) return;
      HB_UNROLL
      for (int l = 0; l < L; ++l) {
        const float term = __fmul_rn(weights[begin + t], terms[t].of[l]);
        sum.of[l] = begin + t == 0 && !go_on ? term : __fadd_rn(sum.of[l], term);
      }
    }
  }
  template <int L>
  __device__ Pack<float, L> load(std::size_t at) const {
    Pack<float, L> sum = go_on ? read<L>(out + at) : Pack<float, L>{};
    if constexpr (kRoom == kTogether) {
      add_terms(0, at, sum);
    } else {
      for (int begin = 0; begin < count; begin += kTogether) add_terms(begin, at, sum);
    }
    return sum;
  }
  template <int L>
  __device__ void finish(std::size_t at, const Pack<float, L>& sum) const {
    write<L>(out + at, sum);
  }
};

template <int kRoom>
void launch_sum(Stream stream, float* out, const float* const* in, const float* weights, std::size_t count, bool go_on,
                std::size_t n) {
  WeightedSum<kRoom> sum{};
  sum.out = out;
  sum.count = static_cast<int>(count);
  sum.go_on = go_on;
  std::copy_n(weights, count, sum.weights);
  std::copy_n(in, count, sum.in);
  sum.fitting = fits<4>(out) && std::all_of(in, in + count, [](const float* x) { return fits<4>(x); });
  launch_each(stream, sum, n);
}

struct Sgd {
  static constexpr int kInFlight = 2;
  float lr, weight_decay;
  __device__ void operator()(float& x, float g) const { x = __fsub_rn(x, __fmul_rn(lr, plus(g, weight_decay, x))); }
};

struct MomentumSgd {
  static constexpr int kInFlight = 2;
  float lr, momentum, weight_decay;
  bool nesterov;
  __device__ void operator()(float& x, float& m, float g) const {
    const float slope = plus(g, weight_decay, x);
    m = __fadd_rn(__fmul_rn(momentum, m), slope);
    x = __fsub_rn(x, __fmul_rn(lr, nesterov ? plus(slope, momentum, m) : m));
  }
};

struct AdamW {
  static constexpr int kInFlight = 2;
  AdamStep by;

  /// Returns beta * mean + (1 - beta) * value.
  __device__ static float moved(float beta, float mean, float value) {
    return __fadd_rn(__fmul_rn(beta, mean), __fmul_rn(__fsub_rn(1, beta), value));
  }
  __device__ void operator()(float& x, float& m, float& v, float g) const {
    m = moved(by.beta1, m, g);
    v = moved(by.beta2, v, __fmul_rn(g, g));
    const float length = __fadd_rn(__fsqrt_rn(__fmul_rn(by.correction2, v)), by.epsilon);
    const float step = __fdiv_rn(__fmul_rn(by.correction1, m), length);
    x = __fsub_rn(x, __fmul_rn(by.lr, __fadd_rn(step, __fmul_rn(by.weight_decay, x))));
  }
};

/// Adds c * g * g * (w - sent) to g; c is lambda.
struct Compensate {
  static constexpr int kInFlight = 2;
  float lambda;
  __device__ void operator()(float& g, float w, float sent) const {
    g = __fadd_rn(g, __fmul_rn(__fmul_rn(lambda, __fmul_rn(g, g)), __fsub_rn(w, sent)));
  }
};

/// The same, where c is lambda by the root of the mean square of g.
struct CompensateBySquare {
  static constexpr int kInFlight = 2;
  float lambda, decay, rest, small;
  __device__ void operator()(float& g, float& square, float w, float sent) const {
    square = __fadd_rn(__fmul_rn(decay, square), __fmul_rn(rest, __fmul_rn(g, g)));
    Compensate{__fdiv_rn(lambda, __fsqrt_rn(__fadd_rn(square, small)))}(g, w, sent);
  }
};

/// Computes a thread's share: packs of four at any address, so that the order of additions follows from n alone.
__global__ void __launch_bounds__(kThreads)
    dot_kernel(const float* x, const float* y, std::size_t n, bool aligned, double* partial) {
  const std::size_t step = thread_count() * 4, packed = n - n % 4;
  double sums[4] = {};
  const auto add = [&](const Pack<float, 4>& a, const Pack<float, 4>& b) {
    HB_UNROLL
    for (int l = 0; l < 4; ++l) sums[l] += static_cast<double>(a.of[l]) * static_cast<double>(b.of[l]);
  };
  std::size_t at = thread_index() * 4;
  for (; at + step < packed; at += 2 * step) {
    const auto a = read<4>(x + at, aligned), b = read<4>(y + at, aligned);
    const auto c = read<4>(x + at + step, aligned), d = read<4>(y + at + step, aligned);
    add(a, b);
    add(c, d);
  }
  for (; at < packed; at += step) add(read<4>(x + at, aligned), read<4>(y + at, aligned));
  for (std::size_t i = packed + thread_index(); i < n; i += thread_count())
    sums[0] += static_cast<double>(x[i]) * static_cast<double>(y[i]);
  const double sum = block_sum((sums[0] + sums[1]) + (sums[2] + sums[3]));
  if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

__global__ void __launch_bounds__(kThreads) add_partials(const double* partial, unsigned count, double* result) {
  double sum = 0;
  for (unsigned i = threadIdx.x; i < count; i += blockDim.x) sum += partial[i];
  sum = block_sum(sum);
  if (threadIdx.x == 0 && blockIdx.x == 0) *result = sum;
}

/// A warp takes a row at a time.
__global__ void __launch_bounds__(kThreads)
    margins_kernel(SparseRows rows, const float* x, std::size_t bias_at, float* margins) {
  const Warp warp = my_warp();
  const int warps = static_cast<int>(warps_of_block() * gridDim.x);
  for (int r = static_cast<int>(blockIdx.x * warps_of_block() + threadIdx.x / static_cast<unsigned>(warpSize));
       r < rows.rows; r += warps) {
    const std::uint64_t end = rows.row_begin[r + 1];
    float sum = 0;
    HB_UNROLL_BY_4
    for (std::uint64_t e = rows.row_begin[r] + warp.lane; e < end; e += warp.lanes)
      sum += rows.values[e] * x[rows.columns[e]];
    sum = warp_sum(warp, sum);
    if (warp.lane == 0) margins[r] = sum + x[bias_at];
  }
}

__global__ void __launch_bounds__(kThreads)
    scatter_kernel(float* y, float a, const SparseEntry* entries, std::size_t n) {
  HB_GRID_LOOP(i, n) {
    const SparseEntry entry = entries[i];
    y[entry.column] = __fadd_rn(y[entry.column], __fmul_rn(a, entry.value));
  }
}

}  // namespace

int find_kernels() {
  cudaFuncAttributes attributes;
  return cudaFuncGetAttributes(&attributes, reinterpret_cast<const void*>(add_partials));
}

void fill(Stream stream, float* y, float value, std::size_t n) { launch_each(stream, Fill{y, value}, n); }
void axpy(Stream stream, float* y, float a, const float* x, std::size_t n) {
  launch_map<float>(stream, Axpy{a}, {y}, {y, x}, n);
}
void scale(Stream stream, float* y, float a, std::size_t n) { launch_map<float>(stream, Scale{a}, {y}, {y}, n); }

void weighted_sum(Stream stream, float* out, std::span<const float* const> in, std::span<const float> weights,
                  std::size_t n) {
  if (n == 0 || in.empty()) return;
  if (in.size() <= 8) return launch_sum<8>(stream, out, in.data(), weights.data(), in.size(), false, n);
  // The first pass overwrites out, so the contents that later passes need are set aside.
  std::vector<const float*> terms(in.begin(), in.end());
  const auto later = terms.begin() + static_cast<std::ptrdiff_t>(std::min(terms.size(), kMostTerms));
  Buffer kept;
  if (std::find(later, terms.end(), out) != terms.end()) {
    kept = Buffer(n * sizeof(float));
    copy(stream, kept.data(), out, n * sizeof(float));
    std::replace(later, terms.end(), static_cast<const float*>(out), static_cast<const float*>(kept.data()));
  }
  for (std::size_t t = 0; t < terms.size(); t += kMostTerms) {
    const std::size_t count = std::min(kMostTerms, terms.size() - t);
    launch_sum<kMostTerms>(stream, out, terms.data() + t, weights.data() + t, count, t > 0, n);
  }
}

void dot(Stream stream, const float* x, const float* y, std::size_t n, double* partial, double* result) {
  const int blocks = std::min(blocks_for((n + 3) / 4), kDotPartials);
  const bool aligned = fits<4>(x) && fits<4>(y);
  HB_LAUNCH(dot_kernel, blocks, kThreads, stream, x, y, n, aligned, partial);
  HB_LAUNCH(add_partials, 1, kThreads, stream, partial, static_cast<unsigned>(blocks), result);
}

void sgd(Stream stream, float* x, float* m, const float* g, float lr, float momentum, float weight_decay, bool nesterov,
         std::size_t n) {
  if (m == nullptr) {
    launch_map<float>(stream, Sgd{lr, weight_decay}, {x}, {x, g}, n);
  } else {
    launch_map<float>(stream, MomentumSgd{lr, momentum, weight_decay, nesterov}, {x, m}, {x, m, g}, n);
  }
}

void adamw(Stream stream, float* x, float* m, float* v, const float* g, const AdamStep& step, std::size_t n) {
  launch_map<float>(stream, AdamW{step}, {x, m, v}, {x, m, v, g}, n);
}

void compensate(Stream stream, float* g, const float* w, const float* sent, float* square, float lambda, float decay,
                float small, std::size_t n) {
  if (square == nullptr) return launch_map<float>(stream, Compensate{lambda}, {g}, {g, w, sent}, n);
  launch_map<float>(stream, CompensateBySquare{lambda, decay, 1 - decay, small}, {g, square}, {g, square, w, sent}, n);
}

void margins(Stream stream, SparseRows rows, const float* x, std::size_t bias_at, float* margins) {
  if (rows.rows == 0) return;
  const int blocks = blocks_for(static_cast<std::size_t>(rows.rows), kThreads / 32);
  HB_LAUNCH(margins_kernel, blocks, kThreads, stream, rows, x, bias_at, margins);
}

void scatter_add(Stream stream, float* y, float a, const void* entries, std::size_t n) {
  if (n == 0) return;
  const auto* const of = static_cast<const SparseEntry*>(entries);
  HB_LAUNCH(scatter_kernel, blocks_for(n), kThreads, stream, y, a, of, n);
}

}  // namespace hopbench::cuda
