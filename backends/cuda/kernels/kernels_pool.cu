// Pools. In the backward pass a cell gathers from the windows that cover it, so nothing is added atomically.
#include "backends/cuda/kernels/each.cuh"

namespace hopbench::cuda {
namespace {

/// A range [begin, end) of the windows' or cells' places along one axis.
struct Range {
  int begin, end;
};
/// Returns the cells of window i that lie in the input, as offsets within the window.
__device__ __forceinline__ Range cells_of(int i, Window window, int extent) {
  const int first = i * window.stride - window.padding;
  return {max(0, -first), min(window.kernel, extent - first)};
}
/// Returns the windows that cover cell i.
__device__ __forceinline__ Range windows_over(int i, Window window, int count) {
  const int place = i + window.padding;
  return {place < window.kernel ? 0 : (place - window.kernel) / window.stride + 1,
          min(count, place / window.stride + 1)};
}
/// Returns the offset of row (y, x) of a sample.
__device__ __forceinline__ std::size_t offset_of(const Cells& cells, std::size_t sample, int y, int x) {
  const std::size_t line = sample * static_cast<std::size_t>(cells.height) + static_cast<std::size_t>(y);
  return (line * static_cast<std::size_t>(cells.width) + static_cast<std::size_t>(x)) *
         static_cast<std::size_t>(cells.channels);
}

template <class T>
struct MaxPool {
  static constexpr int kLanes = kLanesOf<T>, kInFlight = 1;
  const T* x;
  T* y;
  std::uint8_t* at;
  Cells in, out;
  Window window;

  template <int L>
  using Column = NoColumn<L>;
  template <int L>
  struct Largest {
    Pack<T, L> value;
    Pack<std::uint8_t, L> cell;
  };
  __device__ bool aligned() const { return fits<kLanes>(x) && fits<kLanes>(y) && fits<kLanes>(at); }
  template <int L>
  __device__ Largest<L> load(std::size_t row, std::size_t, int c) const {
    const Place place = place_of(row, out.height, out.width);
    const Range down = cells_of(place.y, window, in.height), across = cells_of(place.x, window, in.width);
    const int top = place.y * window.stride - window.padding, left = place.x * window.stride - window.padding;
    Largest<L> best{};
    bool first = true;
    for (int i = down.begin; i < down.end; ++i) {
      for (int j = across.begin; j < across.end; ++j) {
        const Pack<T, L> cell = read<L>(x + offset_of(in, place.sample, top + i, left + j) + c);
        HB_UNROLL
        for (int l = 0; l < L; ++l) {
          if (!first && !(as_float(cell.of[l]) > as_float(best.value.of[l]))) continue;
          best.value.of[l] = cell.of[l];
          best.cell.of[l] = static_cast<std::uint8_t>(i * window.kernel + j);
        }
        first = false;
      }
    }
    return best;
  }
  template <int L>
  __device__ void finish(std::size_t to, int, const Largest<L>& best, const Column<L>&) const {
    write<L>(y + to, best.value);
    write<L>(at + to, best.cell);
  }
};

template <class T>
struct MaxPoolBackward {
  static constexpr int kLanes = kLanesOf<T>, kInFlight = 1;
  const T* dy;
  const std::uint8_t* at;
  T* dx;
  Cells in, out;
  Window window;

  template <int L>
  using Column = NoColumn<L>;
  __device__ bool aligned() const { return fits<kLanes>(dy) && fits<kLanes>(dx) && fits<kLanes>(at); }
  template <int L>
  __device__ Pack<float, L> load(std::size_t row, std::size_t, int c) const {
    const Place place = place_of(row, in.height, in.width);
    const Range down = windows_over(place.y, window, out.height), across = windows_over(place.x, window, out.width);
    Pack<float, L> sums{};
    for (int i = down.begin; i < down.end; ++i) {
      for (int j = across.begin; j < across.end; ++j) {
        const std::size_t from = offset_of(out, place.sample, i, j) + static_cast<std::size_t>(c);
        const int cell = (place.y + window.padding - i * window.stride) * window.kernel + place.x + window.padding -
                         j * window.stride;
        const Pack<std::uint8_t, L> largest = read<L>(at + from);
        const Pack<T, L> slopes = read<L>(dy + from);
        HB_UNROLL
        for (int l = 0; l < L; ++l) sums.of[l] += largest.of[l] == cell ? as_float(slopes.of[l]) : 0.0f;
      }
    }
    return sums;
  }
  template <int L>
  __device__ void finish(std::size_t to, int, const Pack<float, L>& sums, const Column<L>&) const {
    write<L>(dx + to, make_pack<T, L>([&](int l) { return sums.of[l]; }));
  }
};

/// The mean over kernel * kernel cells. Cells outside the input are zeros.
template <class T>
struct AvgPool {
  static constexpr int kLanes = kLanesOf<T>, kInFlight = 1;
  const T* x;
  T* y;
  Cells in, out;
  Window window;

  template <int L>
  using Column = NoColumn<L>;
  __device__ bool aligned() const { return fits<kLanes>(x) && fits<kLanes>(y); }
  template <int L>
  __device__ Pack<float, L> load(std::size_t row, std::size_t, int c) const {
    const Place place = place_of(row, out.height, out.width);
    const Range down = cells_of(place.y, window, in.height), across = cells_of(place.x, window, in.width);
    const int top = place.y * window.stride - window.padding, left = place.x * window.stride - window.padding;
    Pack<float, L> sums{};
    for (int i = down.begin; i < down.end; ++i) {
      HB_UNROLL_BY_4
      for (int j = across.begin; j < across.end; ++j) {
        const Pack<T, L> cell = read<L>(x + offset_of(in, place.sample, top + i, left + j) + c);
        HB_UNROLL
        for (int l = 0; l < L; ++l) sums.of[l] += as_float(cell.of[l]);
      }
    }
    return sums;
  }
  template <int L>
  __device__ void finish(std::size_t to, int, const Pack<float, L>& sums, const Column<L>&) const {
    const float cells = static_cast<float>(window.kernel * window.kernel);
    write<L>(y + to, make_pack<T, L>([&](int l) { return sums.of[l] / cells; }));
  }
};

template <class T>
struct AvgPoolBackward {
  static constexpr int kLanes = kLanesOf<T>, kInFlight = 1;
  const T* dy;
  T* dx;
  Cells in, out;
  Window window;

  template <int L>
  using Column = NoColumn<L>;
  __device__ bool aligned() const { return fits<kLanes>(dy) && fits<kLanes>(dx); }
  template <int L>
  __device__ Pack<float, L> load(std::size_t row, std::size_t, int c) const {
    const Place place = place_of(row, in.height, in.width);
    const Range down = windows_over(place.y, window, out.height), across = windows_over(place.x, window, out.width);
    Pack<float, L> sums{};
    for (int i = down.begin; i < down.end; ++i) {
      for (int j = across.begin; j < across.end; ++j) {
        const Pack<T, L> slopes = read<L>(dy + offset_of(out, place.sample, i, j) + c);
        HB_UNROLL
        for (int l = 0; l < L; ++l) sums.of[l] += as_float(slopes.of[l]);
      }
    }
    return sums;
  }
  template <int L>
  __device__ void finish(std::size_t to, int, const Pack<float, L>& sums, const Column<L>&) const {
    const float cells = static_cast<float>(window.kernel * window.kernel);
    write<L>(dx + to, make_pack<T, L>([&](int l) { return sums.of[l] / cells; }));
  }
};

}  // namespace

void max_pool(Stream stream, Number number, const void* x, void* y, std::uint8_t* at, Cells in, Cells out,
              Window window) {
  with_number(number, [&]<class T>(T) {
    const MaxPool<T> op{static_cast<const T*>(x), static_cast<T*>(y), at, in, out, window};
    launch_each_cell(stream, op, out.rows(), out.channels);
  });
}
void max_pool_backward(Stream stream, Number number, const void* dy, const std::uint8_t* at, void* dx, Cells in,
                       Cells out, Window window) {
  with_number(number, [&]<class T>(T) {
    const MaxPoolBackward<T> op{static_cast<const T*>(dy), at, static_cast<T*>(dx), in, out, window};
    launch_each_cell(stream, op, in.rows(), in.channels);
  });
}
void avg_pool(Stream stream, Number number, const void* x, void* y, Cells in, Cells out, Window window) {
  with_number(number, [&]<class T>(T) {
    const AvgPool<T> op{static_cast<const T*>(x), static_cast<T*>(y), in, out, window};
    launch_each_cell(stream, op, out.rows(), out.channels);
  });
}
void avg_pool_backward(Stream stream, Number number, const void* dy, void* dx, Cells in, Cells out, Window window) {
  with_number(number, [&]<class T>(T) {
    const AvgPoolBackward<T> op{static_cast<const T*>(dy), static_cast<T*>(dx), in, out, window};
    launch_each_cell(stream, op, in.rows(), in.channels);
  });
}

}  // namespace hopbench::cuda
