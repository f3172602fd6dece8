// Shared parts of the .cu files: the launch, loops over a grid, sums over a block.
//
// tests/emulated_cuda/ compiles the same files for the host. There a block is one thread, a warp too, and HB_LAUNCH
// runs the blocks one after the other. Therefore a kernel may not rely on a block size, and all threads must reach each
// barrier.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "backends/cuda/kernels/kernels.h"

namespace hopbench::cuda {

void check_launch(const char* kernel);  // in device.h

#ifdef HB_EMULATED_CUDA
#define HB_LAUNCH(kernel, blocks, threads, stream, ...) \
  emulated_cuda::launch(static_cast<unsigned>(blocks), stream, [=] { kernel(__VA_ARGS__); })
#else
#define HB_LAUNCH(kernel, blocks, threads, stream, ...)                                                \
  do {                                                                                                 \
    kernel<<<static_cast<unsigned>(blocks), static_cast<unsigned>(threads), 0, stream>>>(__VA_ARGS__); \
    ::hopbench::cuda::check_launch(#kernel);                                                           \
  } while (false)
#endif

/// Placed before a loop whose count is known at compile time, so that its values live in registers. HB_UNROLL_BY_4 is
/// for other loops, so that several loads are on their way at once.
#ifdef HB_EMULATED_CUDA
#define HB_UNROLL
#define HB_UNROLL_BY_4
#else
#define HB_UNROLL _Pragma("unroll")
#define HB_UNROLL_BY_4 _Pragma("unroll 4")
#endif

constexpr int kThreads = 256;

/// Returns the blocks for n pieces of work in a loop over the grid: enough to fill any GPU, at most what n needs.
inline int blocks_for(std::size_t n, int threads = kThreads) {
  const std::size_t wanted = (n + static_cast<std::size_t>(threads) - 1) / static_cast<std::size_t>(threads);
  return static_cast<int>(std::clamp<std::size_t>(wanted, 1, 4096));
}

/// for (i : this thread's share of n, neighbours side by side)
// NOLINTBEGIN(bugprone-macro-parentheses): i is declared here
#define HB_GRID_LOOP(i, n)                                                                       \
  for (std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x; i < (n); \
       i += static_cast<std::size_t>(blockDim.x) * gridDim.x)
// NOLINTEND(bugprone-macro-parentheses)

__device__ __forceinline__ float rectified(float x, bool relu = true) { return relu && !(x > 0) ? 0 : x; }
__device__ inline float as_float(float x) { return x; }
__device__ inline float as_float(__nv_bfloat16 x) { return __bfloat162float(x); }
template <class T>
__device__ T as_number(float x);
template <>
__device__ inline float as_number<float>(float x) {
  return x;
}
template <>
__device__ inline __nv_bfloat16 as_number<__nv_bfloat16>(float x) {
  return __float2bfloat16(x);
}

/// The lanes of this thread's warp: the last warp of a block may have fewer than warpSize.
struct Warp {
  unsigned lane, lanes, mask;
};
__device__ inline Warp my_warp() {
  const unsigned size = static_cast<unsigned>(warpSize), lane = threadIdx.x % size;
  const unsigned lanes = min(size, blockDim.x - (threadIdx.x - lane));
  return {lane, lanes, lanes == 32 ? 0xffffffffu : (1u << lanes) - 1};
}
__device__ inline unsigned warps_of_block() {
  return (blockDim.x + static_cast<unsigned>(warpSize) - 1) / static_cast<unsigned>(warpSize);
}

/// Returns merge(...) of the lanes' values, in one fixed order, to every lane. All lanes of the warp must call it.
template <class T, class F>
__device__ T warp_reduce(const Warp& warp, T value, const F& merge) {
  for (unsigned offset = static_cast<unsigned>(warpSize) / 2; offset > 0; offset /= 2) {
    const T other = __shfl_down_sync(warp.mask, value, offset);
    if (warp.lane + offset < warp.lanes) value = merge(value, other);
  }
  return __shfl_sync(warp.mask, value, 0);
}
template <class T>
__device__ T warp_sum(const Warp& warp, T value) {
  return warp_reduce(warp, value, [](T a, T b) { return a + b; });
}

/// Returns the sum over all threads of a block, in one fixed order, to every thread. All threads must call it.
template <class T>
__device__ T block_sum(T value) {
  __shared__ T of_warp[32];
  const Warp warp = my_warp();
  value = warp_sum(warp, value);
  __syncthreads();  // of_warp may still be read from the sum before
  if (warp.lane == 0) of_warp[threadIdx.x / static_cast<unsigned>(warpSize)] = value;
  __syncthreads();
  T sum = of_warp[0];
  for (unsigned w = 1; w < warps_of_block(); ++w) sum += of_warp[w];
  return sum;
}

/// Calls f(float{}) or f(__nv_bfloat16{}), for f = [&]<class T>(T) {...}: the type that activations are kept in.
template <class F>
void with_number(Number number, const F& f) {
  if (number == Number::kFloat) {
    f(float{});
  } else {
    f(__nv_bfloat16{});
  }
}

}  // namespace hopbench::cuda
