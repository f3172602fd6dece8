// Sums of activations: shortcuts around layers, and gradients that arrive on several paths.
#include "backends/cuda/kernels/each.cuh"

namespace hopbench::cuda {
namespace {

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
