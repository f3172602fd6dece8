// CUDA's language for kernels, as far as backends/cuda/*.cu use it, in plain C++: a block is one thread, so is a warp.
//
// Blocks run one after the other, the last one first, so that no kernel comes to rely on an order. What is __shared__
// belongs to the thread that runs the blocks, and keeps what the block before left in it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "tests/emulated_cuda/runtime_api.h"

#define __global__
#define __device__
#define __host__
#define __shared__ static thread_local
#define __forceinline__ inline
#define __launch_bounds__(...)
#ifndef __restrict__
#define __restrict__
#endif

namespace emulated_cuda {

struct Extent {
  unsigned x = 1, y = 1, z = 1;
};
struct Position {
  unsigned x = 0, y = 0, z = 0;
};
inline thread_local Extent grid;
inline thread_local Position block;

/// blockDim and threadIdx: of a block of one thread.
inline constexpr Extent kOneThread{};
inline constexpr Position kFirstThread{};

/// kernel() for each block, behind what the stream holds already.
template <class F>
void launch(unsigned blocks, cudaStream_t stream, F kernel) {
  enqueue(stream, [blocks, kernel] {
    grid.x = blocks;
    for (unsigned b = blocks; b > 0; --b) {
      block.x = b - 1;
      kernel();
    }
  });
}

}  // namespace emulated_cuda

#define gridDim ::emulated_cuda::grid
#define blockIdx ::emulated_cuda::block
#define blockDim ::emulated_cuda::kOneThread
#define threadIdx ::emulated_cuda::kFirstThread

inline constexpr int warpSize = 1;

inline void __syncthreads() {}
inline void __syncwarp(unsigned = 0xffffffffu) {}
template <class T>
T __shfl_sync(unsigned, T value, int) {
  return value;
}
template <class T>
T __shfl_xor_sync(unsigned, T value, int) {
  return value;
}
template <class T>
T __shfl_down_sync(unsigned, T value, unsigned) {
  return value;
}

template <class T>
T __ldg(const T* at) {
  return *at;
}

// Rounded once each: this build contracts nothing (-ffp-contract=off).
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __fsqrt_rn(float a) { return std::sqrt(a); }

using std::max;
using std::min;

struct alignas(8) float2 {
  float x, y;
};
struct alignas(16) float4 {
  float x, y, z, w;
};
struct alignas(16) int4 {
  int x, y, z, w;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
