// Biases and ReLU, forward and backward. Sums of activations: shortcuts around layers, and gradients that arrive on
// several paths.
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

/// The shortcut from one shape to another: cells subsampled with `stride`, `zeros` channels of zeros on each side.
struct Shortcut {
  Cells out, from;
  int stride, zeros;

  /// Returns where row `row` of `out` begins in `from`.
  __device__ __forceinline__ std::size_t from_row(std::size_t row) const {
    if (stride > 1) {
      const Place place = place_of(row, out.height, out.width);
      const std::size_t line = place.sample * static_cast<std::size_t>(from.height) +
                               static_cast<std::size_t>(place.y) * static_cast<std::size_t>(stride);
      row = line * static_cast<std::size_t>(from.width) +
            static_cast<std::size_t>(place.x) * static_cast<std::size_t>(stride);
    }
    return row * static_cast<std::size_t>(from.channels);
  }
  /// Returns where row `row` of `from` begins in `out`. `taken` is set to true if `out` has that row, else to false.
  __device__ __forceinline__ std::size_t out_row(std::size_t row, bool& taken) const {
    taken = true;
    if (stride > 1) {
      const Place place = place_of(row, from.height, from.width);
      taken = place.y % stride == 0 && place.x % stride == 0;
      const std::size_t line =
          place.sample * static_cast<std::size_t>(out.height) + static_cast<std::size_t>(place.y / stride);
      row = line * static_cast<std::size_t>(out.width) + static_cast<std::size_t>(place.x / stride);
    }
    return row * static_cast<std::size_t>(out.channels);
  }
  /// Returns true if packs of L channels of one side are packs of the other.
  __device__ bool packed(int lanes) const { return from.channels % lanes == 0 && zeros % lanes == 0; }
};

template <class T>
struct AddShortcut {
  static constexpr int kLanes = kLanesOf<T>, kInFlight = 2;
  const T* x;
  const T* from;
  T* y;
  Shortcut shortcut;
  bool relu;

  template <int L>
  using Column = NoColumn<L>;
  template <int L>
  struct Loaded {
    Pack<T, L> x, from;
    bool any;
  };
  __device__ bool aligned() const {
    return fits<kLanes>(x) && fits<kLanes>(from) && fits<kLanes>(y) && shortcut.packed(kLanes);
  }
  template <int L>
  __device__ Loaded<L> load(std::size_t row, std::size_t at, int c) const {
    const int channel = c - shortcut.zeros;
    const bool any = channel >= 0 && channel < shortcut.from.channels;
    return {read<L>(x + at), any ? read<L>(from + shortcut.from_row(row) + channel) : Pack<T, L>{}, any};
  }
  template <int L>
  __device__ void finish(std::size_t at, int, const Loaded<L>& in, const Column<L>&) const {
    write<L>(y + at, make_pack<T, L>([&](int l) {
               return rectified(in.any ? as_float(in.x.of[l]) + as_float(in.from.of[l]) : as_float(in.x.of[l]), relu);
             }));
  }
};

template <class T>
struct AddShortcutBackward {
  static constexpr int kLanes = kLanesOf<T>, kInFlight = 2;
  const T* dy;
  T* dfrom;
  Shortcut shortcut;
  bool accumulate;

  template <int L>
  using Column = NoColumn<L>;
  template <int L>
  struct Loaded {
    Pack<T, L> dy, there;
    bool taken;
  };
  __device__ bool aligned() const { return fits<kLanes>(dy) && fits<kLanes>(dfrom) && shortcut.packed(kLanes); }
  template <int L>
  __device__ Loaded<L> load(std::size_t row, std::size_t at, int c) const {
    bool taken = false;
    const std::size_t out_row = shortcut.out_row(row, taken);
    return {taken ? read<L>(dy + out_row + shortcut.zeros + c) : Pack<T, L>{},
            taken && accumulate ? read<L>(dfrom + at) : Pack<T, L>{}, taken};
  }
  template <int L>
  __device__ void finish(std::size_t at, int, const Loaded<L>& in, const Column<L>&) const {
    if (!accumulate) return write<L>(dfrom + at, in.dy);
    if (!in.taken) return;
    write<L>(dfrom + at, make_pack<T, L>([&](int l) { return as_float(in.there.of[l]) + as_float(in.dy.of[l]); }));
  }
};

struct AddTo {
  static constexpr int kInFlight = 2;
  __device__ void operator()(float& y, float x) const { y += x; }
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

void add_shortcut(Stream stream, Number number, const void* x, const void* from, void* y, Cells out, Cells of_from,
                  int stride, bool relu) {
  const Shortcut shortcut{out, of_from, stride, (out.channels - of_from.channels) / 2};
  with_number(number, [&]<class T>(T) {
    const AddShortcut<T> op{static_cast<const T*>(x), static_cast<const T*>(from), static_cast<T*>(y), shortcut, relu};
    launch_each_cell(stream, op, out.rows(), out.channels);
  });
}

void add_shortcut_backward(Stream stream, Number number, const void* dy, void* dfrom, Cells out, Cells of_from,
                           int stride, bool accumulate) {
  const Shortcut shortcut{out, of_from, stride, (out.channels - of_from.channels) / 2};
  with_number(number, [&]<class T>(T) {
    const AddShortcutBackward<T> op{static_cast<const T*>(dy), static_cast<T*>(dfrom), shortcut, accumulate};
    launch_each_cell(stream, op, of_from.rows(), of_from.channels);
  });
}

void add_to(Stream stream, Number number, void* y, const void* x, std::size_t n) {
  launch_map(stream, number, AddTo{}, {y}, {y, x}, n);
}

}  // namespace hopbench::cuda
