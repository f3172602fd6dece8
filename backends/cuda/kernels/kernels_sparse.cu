// Sparse rows: the margins of linear models, and gradients of a few columns.
#include "backends/base/sparse.h"
#include "backends/cuda/kernels/kernel.cuh"

namespace hopbench::cuda {
namespace {

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

/// Rounds as the host does.
__global__ void __launch_bounds__(kThreads)
    scatter_kernel(float* y, float a, const SparseEntry* entries, std::size_t n) {
  HB_GRID_LOOP(i, n) {
    const SparseEntry entry = entries[i];
    y[entry.column] = __fadd_rn(y[entry.column], __fmul_rn(a, entry.value));
  }
}

}  // namespace

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
