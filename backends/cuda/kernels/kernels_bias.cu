// Biases and ReLU, forward and backward.
#include "backends/cuda/kernels/columns.cuh"

namespace hopbench::cuda {
namespace {

struct Relu {
  static constexpr int kInFlight = 4;
  __device__ void operator()(float& x) const { x = rectified(x); }
};

struct ReluBackward {
  static constexpr int kInFlight = 2;
  __device__ void operator()(float& slope, float y) const { slope = y > 0 ? slope : 0; }
};

/// The sum y + bias, then ReLU if asked.
template <class T>
struct BiasRelu {
  static constexpr int kLanes = kLanesOf<T>, kInFlight = 4;
  T* y;
  const float* bias;
  bool relu;

  template <int L>
  struct Column {
    float bias[L];
    __device__ Column(const BiasRelu& op, int c) {
      HB_UNROLL
      for (int l = 0; l < L; ++l) bias[l] = op.bias[c + l];
    }
  };
  __device__ bool aligned() const { return fits<kLanes>(y); }
  template <int L>
  __device__ Pack<T, L> load(std::size_t, std::size_t at, int) const {
    return read<L>(y + at);
  }
  template <int L>
  __device__ void finish(std::size_t at, int, const Pack<T, L>& in, const Column<L>& column) const {
    write<L>(y + at, make_pack<T, L>([&](int l) { return rectified(as_float(in.of[l]) + column.bias[l], relu); }));
  }
};

/// The first stage of the sums of dy over rows, with ReLU's backward pass if asked.
template <class T>
struct BiasBackward {
  static constexpr int kLanes = kLanesOf<T>, kInFlight = sizeof(T) == 4 ? 4 : 2, kSide = 128;
  T* dy;
  const T* y;
  bool relu, aligned;
  Partials to;

  using Total = Sums<1>;
  template <int L>
  struct Loaded {
    Pack<T, L> dy, y;
  };
  template <int L>
  __device__ Loaded<L> load(std::size_t, std::size_t at) const {
    return {read<L>(dy + at, aligned), relu ? read<L>(y + at, aligned) : Pack<T, L>{}};
  }
  template <int L>
  struct Running {
    float sums[L] = {};
    __device__ Running(const BiasBackward&, int) {}
    __device__ void add(const BiasBackward& op, std::size_t at, const Loaded<L>& in) {
      Pack<T, L> slopes = in.dy;
      HB_UNROLL
      for (int l = 0; l < L; ++l) {
        if (op.relu && !(as_float(in.y.of[l]) > 0)) slopes.of[l] = as_number<T>(0);
        sums[l] += as_float(slopes.of[l]);
      }
      if (op.relu) write<L>(op.dy + at, slopes, op.aligned);
    }
    __device__ void finish(const BiasBackward&) {}
    __device__ Total total(const BiasBackward&, int, int l) const { return {{sums[l]}}; }
  };
  __device__ void store(unsigned chunk, int c, const Total& sums) const { to.store(chunk, c, sums); }
};

}  // namespace

std::size_t column_work(std::size_t rows, int channels) {
  return 2 * static_cast<std::size_t>(chunks_of(rows, channels).count) * static_cast<std::size_t>(channels);
}

void relu(Stream stream, Number number, const void* x, void* y, std::size_t n) {
  launch_map(stream, number, Relu{}, {y}, {x}, n);
}

void relu_backward(Stream stream, Number number, const void* dy, const void* y, void* dx, std::size_t n) {
  launch_map(stream, number, ReluBackward{}, {dx}, {dy, y}, n);
}

void bias_relu(Stream stream, Number number, void* y, const float* bias, bool relu, std::size_t rows, int channels) {
  if (bias == nullptr) {
    if (relu) cuda::relu(stream, number, y, y, rows * static_cast<std::size_t>(channels));
    return;
  }
  with_number(number, [&]<class T>(T) {
    launch_each_cell(stream, BiasRelu<T>{static_cast<T*>(y), bias, relu}, rows, channels);
  });
}

void bias_relu_backward(Stream stream, Number number, void* dy, const void* y, float* dbias, bool relu,
                        std::size_t rows, int channels, float* work) {
  if (dbias == nullptr) {
    if (relu) relu_backward(stream, number, dy, y, dy, rows * static_cast<std::size_t>(channels));
    return;
  }
  with_number(number, [&]<class T>(T) {
    auto* const slope = static_cast<T*>(dy);
    const auto* const output = static_cast<const T*>(y);
    const bool aligned = fits<kLanesOf<T>>(slope) && fits<kLanesOf<T>>(output);
    sum_columns<1>(stream, rows, channels, work, {dbias, nullptr, channels}, [&](const Partials& to) {
      return BiasBackward<T>{slope, output, relu, aligned, to};
    });
  });
}

}  // namespace hopbench::cuda
