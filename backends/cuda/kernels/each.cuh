// Passes over numbers that are computed independently of each other: over n of them, and over rows of channels (NHWC).
//
// They run at the speed of memory: 16 bytes a load where pointers and sizes allow, and several loads on their way at
// once. The computation comes as an `Op`, a struct of pointers and plain values:
//
// Most passes are a Map: a function of a few numbers, one from each of a few arrays.
//
//   static constexpr int kLanes       number of neighbouring numbers in a pack
//   static constexpr int kInFlight    packs that a thread loads before it finishes the first of them
//   bool aligned() const              true: packs of kLanes may be moved as such; false: numbers go one by one
//   each:        load<L>(at), finish<L>(at, loaded)
//   each_cell:   Column<L>(op, c): the data that is the same in each row of channels [c, c + L);
//                load<L>(row, at, c), finish<L>(at, c, loaded, column); at = row * channels + c
#pragma once

#include <utility>

#include "backends/cuda/kernels/kernel.cuh"

namespace hopbench::cuda {

template <class T>
constexpr int kLanesOf = 16 / static_cast<int>(sizeof(T));

/// L numbers side by side, moved 16 bytes at a time.
template <class T, int L>
struct alignas(sizeof(T) * L < 16 ? sizeof(T) * L : 16) Pack {
  T of[L];
};

template <int L, class T>
__device__ __forceinline__ Pack<T, L> read(const T* from) {
  return *reinterpret_cast<const Pack<T, L>*>(from);
}
template <int L, class T>
__device__ __forceinline__ void write(T* to, const Pack<T, L>& pack) {
  *reinterpret_cast<Pack<T, L>*>(to) = pack;
}

/// Does the same at any address, for sums whose order of additions must not depend on an address.
template <int L, class T>
__device__ __forceinline__ Pack<T, L> read(const T* from, bool aligned) {
  if (aligned) return read<L>(from);
  Pack<T, L> pack;
  HB_UNROLL
  for (int l = 0; l < L; ++l) pack.of[l] = from[l];
  return pack;
}
template <int L, class T>
__device__ __forceinline__ void write(T* to, const Pack<T, L>& pack, bool aligned) {
  if (aligned) return write<L>(to, pack);
  HB_UNROLL
  for (int l = 0; l < L; ++l) to[l] = pack.of[l];
}

/// Returns true if packs of L may be moved to and from `at`. nullptr: nothing is moved there.
template <int L, class T>
__host__ __device__ inline bool fits(const T* at) {
  return reinterpret_cast<std::uintptr_t>(at) % alignof(Pack<T, L>) == 0;
}

/// Returns a pack of f(0), f(1), ..., each rounded to T.
template <class T, int L, class F>
__device__ __forceinline__ Pack<T, L> make_pack(const F& f) {
  Pack<T, L> pack;
  HB_UNROLL
  for (int l = 0; l < L; ++l) pack.of[l] = as_number<T>(f(l));
  return pack;
}

__device__ inline std::size_t thread_index() { return blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x; }
__device__ inline std::size_t thread_count() { return static_cast<std::size_t>(blockDim.x) * gridDim.x; }

/// Computes packs of L in [begin, end), whose difference is a multiple of L.
template <int L, class Op>
__device__ void each_pack(const Op& op, std::size_t begin, std::size_t end) {
  const std::size_t step = thread_count() * L, ahead = step * (Op::kInFlight - 1);
  std::size_t at = begin + thread_index() * L;
  for (; at + ahead < end; at += step * Op::kInFlight) {
    decltype(op.template load<L>(at)) loaded[Op::kInFlight];
    HB_UNROLL
    for (int k = 0; k < Op::kInFlight; ++k) loaded[k] = op.template load<L>(at + step * k);
    HB_UNROLL
    for (int k = 0; k < Op::kInFlight; ++k) op.template finish<L>(at + step * k, loaded[k]);
  }
  for (; at < end; at += step) op.template finish<L>(at, op.template load<L>(at));
}

template <class Op>
__device__ void each(const Op& op, std::size_t n) {
  const std::size_t packed = op.aligned() ? n - n % Op::kLanes : 0;
  each_pack<Op::kLanes>(op, 0, packed);
  each_pack<1>(op, packed, n);
}

template <class Op>
__global__ void __launch_bounds__(kThreads) each_kernel(const Op op, std::size_t n) {
  each(op, n);
}
template <class Op>
void launch_each(Stream stream, const Op& op, std::size_t n) {
  if (n == 0) return;
  HB_LAUNCH((each_kernel<Op>), blocks_for((n + Op::kLanes - 1) / Op::kLanes), kThreads, stream, op, n);
}

/// The Op of f(v[0], ..., v[In - 1]) on the i-th numbers of In arrays, as floats. f sets the first Out of them, which
/// become the i-th numbers of Out arrays. F::kInFlight: see above. Arrays of both sides may be the same.
template <int Lanes, class F, class To, int Out, class From, int In>
struct Map {
  static constexpr int kLanes = Lanes, kInFlight = F::kInFlight;
  F f;
  To* out[Out];
  const From* in[In];

  template <int L>
  struct Loaded {
    Pack<From, L> of[In];
  };
  __device__ bool aligned() const {
    bool all = true;
    HB_UNROLL
    for (int k = 0; k < Out; ++k) all = all && fits<kLanes>(out[k]);
    HB_UNROLL
    for (int k = 0; k < In; ++k) all = all && fits<kLanes>(in[k]);
    return all;
  }
  template <int L>
  __device__ Loaded<L> load(std::size_t at) const {
    Loaded<L> loaded;
    HB_UNROLL
    for (int k = 0; k < In; ++k) loaded.of[k] = read<L>(in[k] + at);
    return loaded;
  }
  template <int L>
  __device__ void finish(std::size_t at, const Loaded<L>& loaded) const {
    Pack<To, L> packs[Out];
    HB_UNROLL
    for (int l = 0; l < L; ++l) {
      float v[In];
      HB_UNROLL
      for (int k = 0; k < In; ++k) v[k] = as_float(loaded.of[k].of[l]);
      call(v, std::make_integer_sequence<int, In>());
      HB_UNROLL
      for (int k = 0; k < Out; ++k) packs[k].of[l] = as_number<To>(v[k]);
    }
    HB_UNROLL
    for (int k = 0; k < Out; ++k) write<L>(out[k] + at, packs[k]);
  }
  template <int... K>
  __device__ __forceinline__ void call(float* v, std::integer_sequence<int, K...>) const {
    f(v[K]...);
  }
};
template <class T, class F, class To, int Out, class From, int In>
void launch_map(Stream stream, const F& f, To* const (&out)[Out], const From* const (&in)[In], std::size_t n) {
  Map<kLanesOf<T>, F, T, Out, T, In> map{f, {}, {}};
  std::transform(out, out + Out, map.out, [](To* at) { return static_cast<T*>(at); });
  std::transform(in, in + In, map.in, [](const From* at) { return static_cast<const T*>(at); });
  launch_each(stream, map, n);
}
template <class F, int Out, int In>
void launch_map(Stream stream, Number number, const F& f, void* const (&out)[Out], const void* const (&in)[In],
                std::size_t n) {
  with_number(number, [&]<class T>(T) { launch_map<T>(stream, f, out, in, n); });
}

/// A thread keeps its channels, so that their data is loaded once. Neighbouring threads are side by side in memory.
template <int L, class Op>
__device__ void each_cell_pack(const Op& op, std::size_t rows, int channels) {
  const std::size_t packs = static_cast<std::size_t>(channels / L), side = min(packs, thread_count());
  const std::size_t groups = thread_count() / side, group = thread_index() / side;
  if (group >= groups) return;
  for (std::size_t pack = thread_index() % side; pack < packs; pack += side) {
    const int c = static_cast<int>(pack) * L;
    const typename Op::template Column<L> column(op, c);
    const auto at = [&](std::size_t row) { return row * static_cast<std::size_t>(channels) + pack * L; };
    std::size_t row = group;
    for (; row + groups * (Op::kInFlight - 1) < rows; row += groups * Op::kInFlight) {
      decltype(op.template load<L>(row, row, c)) loaded[Op::kInFlight];
      HB_UNROLL
      for (int k = 0; k < Op::kInFlight; ++k)
        loaded[k] = op.template load<L>(row + groups * k, at(row + groups * k), c);
      HB_UNROLL
      for (int k = 0; k < Op::kInFlight; ++k) op.template finish<L>(at(row + groups * k), c, loaded[k], column);
    }
    for (; row < rows; row += groups) op.template finish<L>(at(row), c, op.template load<L>(row, at(row), c), column);
  }
}

template <class Op>
__global__ void __launch_bounds__(kThreads) each_cell_kernel(const Op op, std::size_t rows, int channels) {
  if (channels % Op::kLanes == 0 && op.aligned()) {
    each_cell_pack<Op::kLanes>(op, rows, channels);
  } else {
    each_cell_pack<1>(op, rows, channels);
  }
}
template <class Op>
void launch_each_cell(Stream stream, const Op& op, std::size_t rows, int channels) {
  if (rows == 0 || channels == 0) return;
  const int lanes = channels % Op::kLanes == 0 ? Op::kLanes : 1;
  const std::size_t packs = rows * static_cast<std::size_t>(channels / lanes);
  HB_LAUNCH((each_cell_kernel<Op>), blocks_for(packs), kThreads, stream, op, rows, channels);
}

/// The column of an Op that has no data of its own in each channel.
template <int L>
struct NoColumn {
  template <class Op>
  __device__ NoColumn(const Op&, int) {}
};

/// The place of a row of channels in its batch.
struct Place {
  std::size_t sample;
  int y, x;
};
__device__ inline Place place_of(std::size_t row, int height, int width) {
  const auto h = static_cast<unsigned>(height), w = static_cast<unsigned>(width);
  if (row <= 0xffffffffu) {  // divisions of 64 bits take several times as long
    const auto r = static_cast<unsigned>(row);
    return {r / w / h, static_cast<int>(r / w % h), static_cast<int>(r % w)};
  }
  return {row / w / h, static_cast<int>(row / w % h), static_cast<int>(row % w)};
}

}  // namespace hopbench::cuda
