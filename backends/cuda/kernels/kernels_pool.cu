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

/// The parts that all pools share.
template <class T>
struct Pool {
  static constexpr int kLanes = kLanesOf<T>, kInFlight = 1;
  const T* from;
  T* to;
  Cells in, out;
  Window window;

  template <int L>
  using Column = NoColumn<L>;
  __device__ bool aligned() const { return fits<kLanes>(from) && fits<kLanes>(to); }
  /// Calls f(i, columns, place) for each line i of the window of row `row` of out, where `columns` of it and the cells
  /// at place(column) lie in the input.
  template <class F>
  __device__ __forceinline__ void for_lines(std::size_t row, const F& f) const {
    const Place place = place_of(row, out.height, out.width);
    const Range down = cells_of(place.y, window, in.height), across = cells_of(place.x, window, in.width);
    const int top = place.y * window.stride - window.padding, left = place.x * window.stride - window.padding;
    for (int i = down.begin; i < down.end; ++i)
      f(i, across, [&](int j) { return offset_of(in, place.sample, top + i, left + j); });
  }
  /// Calls f(the cell's offset in the window, place in the output) for each window over row `row` of in.
  template <class F>
  __device__ __forceinline__ void for_windows(std::size_t row, const F& f) const {
    const Place place = place_of(row, in.height, in.width);
    const Range down = windows_over(place.y, window, out.height), across = windows_over(place.x, window, out.width);
    for (int i = down.begin; i < down.end; ++i) {
      for (int j = across.begin; j < across.end; ++j)
        f((place.y + window.padding - i * window.stride) * window.kernel + place.x + window.padding - j * window.stride,
          offset_of(out, place.sample, i, j));
    }
  }
};

template <class T>
struct MaxPool : Pool<T> {
  std::uint8_t* at;

  template <int L>
  struct Largest {
    Pack<T, L> value;
    Pack<std::uint8_t, L> cell;
  };
  __device__ bool aligned() const { return Pool<T>::aligned() && fits<Pool<T>::kLanes>(at); }
  template <int L>
  __device__ Largest<L> load(std::size_t row, std::size_t, int c) const {
    Largest<L> best{};
    bool first = true;
    this->for_lines(row, [&](int i, Range columns, const auto& place) {
      for (int j = columns.begin; j < columns.end; ++j) {
        const Pack<T, L> cell = read<L>(this->from + place(j) + c);
        HB_UNROLL
        for (int l = 0; l < L; ++l) {
          if (!first && !(as_float(cell.of[l]) > as_float(best.value.of[l]))) continue;
          best.value.of[l] = cell.of[l];
          best.cell.of[l] = static_cast<std::uint8_t>(i * this->window.kernel + j);
        }
        first = false;
      }
    });
    return best;
  }
  template <int L>
  __device__ void finish(std::size_t place, int, const Largest<L>& best, const NoColumn<L>&) const {
    write<L>(this->to + place, best.value);
    write<L>(at + place, best.cell);
  }
};

template <class T>
struct MaxPoolBackward : Pool<T> {
  const std::uint8_t* at;

  __device__ bool aligned() const { return Pool<T>::aligned() && fits<Pool<T>::kLanes>(at); }
  template <int L>
  __device__ Pack<float, L> load(std::size_t row, std::size_t, int c) const {
    Pack<float, L> sums{};
    this->for_windows(row, [&](int offset, std::size_t place) {
      const Pack<std::uint8_t, L> largest = read<L>(at + place + c);
      const Pack<T, L> slopes = read<L>(this->from + place + c);
      HB_UNROLL
      for (int l = 0; l < L; ++l) sums.of[l] += largest.of[l] == offset ? as_float(slopes.of[l]) : 0.0f;
    });
    return sums;
  }
  template <int L>
  __device__ void finish(std::size_t place, int, const Pack<float, L>& sums, const NoColumn<L>&) const {
    write<L>(this->to + place, make_pack<T, L>([&](int l) { return sums.of[l]; }));
  }
};

/// The mean over kernel * kernel cells. Cells outside the input are zeros. Backward: a share of each window's slope.
template <class T, bool kBackward>
struct AvgPool : Pool<T> {
  template <int L>
  __device__ Pack<float, L> load(std::size_t row, std::size_t, int c) const {
    Pack<float, L> sums{};
    const auto add = [&](int, std::size_t place) {
      const Pack<T, L> cell = read<L>(this->from + place + c);
      HB_UNROLL
      for (int l = 0; l < L; ++l) sums.of[l] += as_float(cell.of[l]);
    };
    if constexpr (kBackward) {
      this->for_windows(row, add);
    } else {
      this->for_lines(row, [&](int, Range columns, const auto& place) {
        HB_UNROLL_BY_4
        for (int j = columns.begin; j < columns.end; ++j) add(0, place(j));
      });
    }
    return sums;
  }
  template <int L>
  __device__ void finish(std::size_t place, int, const Pack<float, L>& sums, const NoColumn<L>&) const {
    const float cells = static_cast<float>(this->window.kernel * this->window.kernel);
    write<L>(this->to + place, make_pack<T, L>([&](int l) { return sums.of[l] / cells; }));
  }
};

/// Launches the Op that make(pool) returns, over the rows of what it computes.
template <class F>
void launch_pool(Stream stream, Number number, const void* from, void* to, Cells in, Cells out, Window window,
                 const Cells& computed, const F& make) {
  with_number(number, [&]<class T>(T) {
    const auto op = make(Pool<T>{static_cast<const T*>(from), static_cast<T*>(to), in, out, window});
    launch_each_cell(stream, op, computed.rows(), computed.channels);
  });
}

}  // namespace

void max_pool(Stream stream, Number number, const void* x, void* y, std::uint8_t* at, Cells in, Cells out,
              Window window) {
  launch_pool(stream, number, x, y, in, out, window, out, [&]<class T>(Pool<T> pool) { return MaxPool<T>{pool, at}; });
}
void max_pool_backward(Stream stream, Number number, const void* dy, const std::uint8_t* at, void* dx, Cells in,
                       Cells out, Window window) {
  launch_pool(stream, number, dy, dx, in, out, window, in, [&]<class T>(Pool<T> pool) {
    return MaxPoolBackward<T>{pool, at};
  });
}
void avg_pool(Stream stream, Number number, const void* x, void* y, Cells in, Cells out, Window window) {
  launch_pool(stream, number, x, y, in, out, window, out,
              []<class T>(Pool<T> pool) { return AvgPool<T, false>{pool}; });
}
void avg_pool_backward(Stream stream, Number number, const void* dy, void* dx, Cells in, Cells out, Window window) {
  launch_pool(stream, number, dy, dx, in, out, window, in,
              []<class T>(Pool<T> pool) { return AvgPool<T, true>{pool}; });
}

}  // namespace hopbench::cuda
