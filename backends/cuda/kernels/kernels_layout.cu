// Transposes and conversions between the border of a network (float, NCHW) and its inside (NHWC, of float or bf16).
#include "backends/cuda/kernels/each.cuh"

namespace hopbench::cuda {
namespace {

/// Returns the place of a kernel's numbers, found when the kernel runs.
template <class T>
__device__ __forceinline__ T* found(T* at) {
  return at;
}
__device__ __forceinline__ const float* found(const Indirect& from) { return *from.at; }
__device__ __forceinline__ float* found(const IndirectOut& to) { return *to.at; }

struct Same {
  static constexpr int kInFlight = 4;
  __device__ void operator()(float) const {}
};
template <class From, class To>
__device__ void convert(const From* from, To* to, std::size_t n) {
  each(Map<4, Same, To, 1, From, 1>{{}, {to}, {from}}, n);
}
template <class From, class To>
__global__ void __launch_bounds__(kThreads) convert_kernel(From from, To to, std::size_t n) {
  convert(found(from), found(to), n);
}
template <class From, class To>
void launch_convert(Stream stream, From from, To to, std::size_t n) {
  if (n == 0) return;
  HB_LAUNCH((convert_kernel<From, To>), blocks_for((n + 3) / 4), kThreads, stream, from, to, n);
}

/// A tile of a transpose: `rows` by `columns` numbers in shared memory. Each row is padded to an odd length, so that
/// neither rows nor columns fall into one memory bank.
constexpr int kTile = 1024, kTileRoom = kTile + kTile / 2;
struct Tile {
  int rows, columns;
};
/// Returns a tile whose long sides are accessed in pieces of at least 32, if the matrix is that long.
inline Tile tile_of(int rows, int columns) {
  constexpr int kSide = 32;
  const auto part = [](int extent, int other) {
    const int most = kTile / other;
    return extent <= most ? extent : most / kSide * kSide;
  };
  if (rows <= kSide) return {rows, part(columns, rows)};
  if (columns <= kSide) return {part(rows, columns), columns};
  return {kSide, kSide};
}

/// Transposes [n][rows][columns] to [n][columns][rows].
template <class From, class To>
__device__ void transpose(const From* from, To* to, int n, int rows, int columns, Tile tile) {
  __shared__ From room[kTileRoom];
  const int pitch = tile.columns | 1, step = static_cast<int>(blockDim.x);
  const auto down = static_cast<std::size_t>((rows + tile.rows - 1) / tile.rows);
  const auto across = static_cast<std::size_t>((columns + tile.columns - 1) / tile.columns);
  for (std::size_t job = blockIdx.x; job < static_cast<std::size_t>(n) * down * across; job += gridDim.x) {
    const int row = static_cast<int>(job / across % down) * tile.rows;
    const int column = static_cast<int>(job % across) * tile.columns;
    const int height = min(tile.rows, rows - row), width = min(tile.columns, columns - column);
    const std::size_t matrix = job / across / down * static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns);
    const From* const source = from + matrix + static_cast<std::size_t>(row) * static_cast<std::size_t>(columns) +
                               static_cast<std::size_t>(column);
    To* const target =
        to + matrix + static_cast<std::size_t>(column) * static_cast<std::size_t>(rows) + static_cast<std::size_t>(row);
    __syncthreads();  // `room` may still be read
    for (int i = static_cast<int>(threadIdx.x); i < height * width; i += step) {
      const int y = i / width, x = i % width;
      room[y * pitch + x] =
          source[static_cast<std::size_t>(y) * static_cast<std::size_t>(columns) + static_cast<std::size_t>(x)];
    }
    __syncthreads();
    for (int i = static_cast<int>(threadIdx.x); i < height * width; i += step) {
      const int x = i / height, y = i % height;
      target[static_cast<std::size_t>(x) * static_cast<std::size_t>(rows) + static_cast<std::size_t>(y)] =
          as_number<To>(as_float(room[y * pitch + x]));
    }
  }
}
template <class From, class To>
__global__ void __launch_bounds__(kThreads)
    transpose_kernel(From from, To to, int n, int rows, int columns, Tile tile) {
  transpose(found(from), found(to), n, rows, columns, tile);
}
template <class From, class To>
void launch_transpose(Stream stream, From from, To to, int n, int rows, int columns) {
  if (n == 0 || rows == 0 || columns == 0) return;
  const auto matrix = static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns);
  if (rows == 1 || columns == 1) return launch_convert(stream, from, to, static_cast<std::size_t>(n) * matrix);
  const Tile tile = tile_of(rows, columns);
  const std::size_t down = static_cast<std::size_t>((rows + tile.rows - 1) / tile.rows);
  const std::size_t across = static_cast<std::size_t>((columns + tile.columns - 1) / tile.columns);
  HB_LAUNCH((transpose_kernel<From, To>), std::min<std::size_t>(static_cast<std::size_t>(n) * down * across, 16384),
            kThreads, stream, from, to, n, rows, columns, tile);
}

// Parameters are copied into a network's own layout, and its gradient back, all layers in one launch. A ResNet-32 has
// 95 pieces, and a launch for each would cost more than the copies. A block rearranges one segment in shared memory, so
// that both sides are read and written in their own order.

/// Calls f(place at the border, place inside) for this thread's numbers of a segment, in the order of the inside.
template <class F>
__device__ void for_numbers(const Segment& segment, const F& f) {
  const int n = segment.channels * segment.hw;
  for (int i = int(threadIdx.x); i < n; i += int(blockDim.x)) {
    const int cell = i / segment.channels, channel = i - cell * segment.channels;
    f(channel * segment.hw + cell, std::size_t(cell) * std::size_t(segment.stride) + std::size_t(channel));
  }
}

template <class T>
__device__ void load(const Segment& segment, const float* from, float* tile) {
  const int n = segment.channels * segment.hw;
  for (int i = int(threadIdx.x); i < n; i += int(blockDim.x)) tile[i] = from[i];
  __syncthreads();
  T* const to = static_cast<T*>(segment.inside);
  for_numbers(segment, [&](int border, std::size_t inside) { to[inside] = as_number<T>(tile[border]); });
}

template <class T>
__device__ void store(const Segment& segment, float* to, float* tile) {
  const int n = segment.channels * segment.hw;
  const T* const from = static_cast<const T*>(segment.gradient);
  for_numbers(segment, [&](int border, std::size_t inside) { tile[border] = as_float(from[inside]); });
  __syncthreads();
  for (int i = int(threadIdx.x); i < n; i += int(blockDim.x)) to[i] = tile[i];
}

__global__ void load_all(const Segment* segments, Indirect parameters) {
  __shared__ float tile[kSegment];
  const Segment segment = segments[blockIdx.x];
  const float* const from = *parameters.at + segment.at;
  if (segment.number == Number::kFloat) {
    load<float>(segment, from, tile);
  } else {
    load<__nv_bfloat16>(segment, from, tile);
  }
}

__global__ void store_all(const Segment* segments, IndirectOut gradient) {
  __shared__ float tile[kSegment];
  const Segment segment = segments[blockIdx.x];
  float* const to = *gradient.at + segment.at;
  if (segment.number == Number::kFloat) {
    store<float>(segment, to, tile);
  } else {
    store<__nv_bfloat16>(segment, to, tile);
  }
}

}  // namespace

void to_channels_last(Stream stream, Number number, Indirect from, void* to, int n, int c, int hw) {
  with_number(number, [&]<class T>(T) { launch_transpose(stream, from, static_cast<T*>(to), n, c, hw); });
}
void to_channels_first(Stream stream, Number number, const void* from, IndirectOut to, int n, int c, int hw) {
  with_number(number, [&]<class T>(T) { launch_transpose(stream, static_cast<const T*>(from), to, n, hw, c); });
}
void transpose_inside(Stream stream, Number number, const void* from, void* to, int n, int rows, int columns) {
  with_number(number, [&]<class T>(T) {
    launch_transpose(stream, static_cast<const T*>(from), static_cast<T*>(to), n, rows, columns);
  });
}
void to_inside(Stream stream, Number number, Indirect from, void* to, std::size_t n) {
  with_number(number, [&]<class T>(T) { launch_convert(stream, from, static_cast<T*>(to), n); });
}
void to_border(Stream stream, Number number, const void* from, IndirectOut to, std::size_t n) {
  with_number(number, [&]<class T>(T) { launch_convert(stream, static_cast<const T*>(from), to, n); });
}
void load_segments(Stream stream, const Segment* segments, int first, int count, Indirect parameters) {
  if (count > 0) HB_LAUNCH(load_all, count, kThreads, stream, segments + first, parameters);
}
void store_segments(Stream stream, const Segment* segments, int first, int count, IndirectOut gradient) {
  if (count > 0) HB_LAUNCH(store_all, count, kThreads, stream, segments + first, gradient);
}

}  // namespace hopbench::cuda
