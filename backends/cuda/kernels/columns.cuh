// Sums over the rows of NHWC activations, one for each channel, in two stages of one fixed order. Blocks add up chunks
// of rows and leave their sums in `work`, [chunk][channel]. Then a second kernel adds up the chunks.
//
// Neighbouring threads take neighbouring channels, so that loads coalesce. Threads of a block that are not needed for
// channels share the rows. The numbers to add come as an `Op`, a struct of pointers and plain values:
//
//   static constexpr int kLanes, kInFlight, kSide   as in each.cuh; kSide: the most channels of one block
//   Total                      of one channel; merge(other) adds what another thread found
//   Running<L>(op, c)          of one thread, for channels [c, c + L); add(op, at, loaded), finish(op), total(op, c, l)
//   load<L>(row, at)
//   store(chunk, c, total)
#pragma once

#include "backends/cuda/kernels/each.cuh"

namespace hopbench::cuda {

/// A division of rows into chunks. Chunk i holds rows [i * rows, (i + 1) * rows), as far as these exist.
struct Chunks {
  unsigned count = 1;
  std::size_t rows = 1;
};

/// Depends on the sizes alone: at least 4096 numbers for a block, and at most 512 blocks of 128 channels each, which is
/// enough to fill a large GPU.
inline Chunks chunks_of(std::size_t rows, int channels) {
  constexpr std::size_t kWidth = 128, kNumbers = 4096, kBlocks = 512;
  const auto c = static_cast<std::size_t>(std::max(channels, 1));
  const std::size_t most = std::max<std::size_t>(1, kBlocks / ((c + kWidth - 1) / kWidth));
  const std::size_t count = std::clamp<std::size_t>(rows * std::min(c, kWidth) / kNumbers, 1, most);
  const std::size_t each = std::max<std::size_t>(1, (rows + count - 1) / count);
  return {static_cast<unsigned>(std::max<std::size_t>(1, (rows + each - 1) / each)), each};
}

/// K plain sums.
template <int K>
struct Sums {
  float of[K];
  __device__ void merge(const Sums& other) {
    HB_UNROLL
    for (int k = 0; k < K; ++k) of[k] += other.of[k];
  }
};

/// The place of up to two sums over each chunk: [chunk][channel].
struct Partials {
  float* first = nullptr;
  float* second = nullptr;
  int channels = 0;

  __host__ __device__ std::size_t at(unsigned chunk, int c) const {
    return static_cast<std::size_t>(chunk) * static_cast<std::size_t>(channels) + static_cast<std::size_t>(c);
  }
  template <int K>
  __device__ void store(unsigned chunk, int c, const Sums<K>& sums) const {
    first[at(chunk, c)] = sums.of[0];
    if constexpr (K > 1) second[at(chunk, c)] = sums.of[K - 1];
  }
};
/// Returns the whole layout of `work`. The size of `work` is column_work().
inline Partials partials_in(float* work, Chunks chunks, int channels) {
  return {work, work + static_cast<std::size_t>(chunks.count) * static_cast<std::size_t>(channels), channels};
}

/// Adds up the rows of a chunk that belong to thread `group` of the threads that share a pack of channels.
template <int L, class Op>
__device__ __forceinline__ void add_rows(const Op& op, typename Op::template Running<L>& running, int channels, int c,
                                         std::size_t row, std::size_t end, std::size_t groups) {
  const auto at = [&](std::size_t r) { return r * static_cast<std::size_t>(channels) + static_cast<std::size_t>(c); };
  for (; row + groups * (Op::kInFlight - 1) < end; row += groups * Op::kInFlight) {
    decltype(op.template load<L>(row, row)) loaded[Op::kInFlight];
    HB_UNROLL
    for (int k = 0; k < Op::kInFlight; ++k) loaded[k] = op.template load<L>(row + groups * k, at(row + groups * k));
    HB_UNROLL
    for (int k = 0; k < Op::kInFlight; ++k) running.add(op, at(row + groups * k), loaded[k]);
  }
  for (; row < end; row += groups) running.add(op, at(row), op.template load<L>(row, at(row)));
}

/// A block takes tiles of `side` packs of channels and one chunk of rows, one after the other.
template <int L, class Op>
__device__ void add_columns(const Op& op, std::size_t rows, int channels, Chunks chunks) {
  __shared__ typename Op::Total parts[L][kThreads];
  const unsigned packs = static_cast<unsigned>(channels / L), threads = min(blockDim.x, unsigned{kThreads});
  const unsigned most = min(min(packs, unsigned{Op::kSide / L}), threads), tiles = (packs + most - 1) / most;
  const unsigned side = (packs + tiles - 1) / tiles, groups = threads / side;
  const unsigned group = threadIdx.x / side;
  for (std::size_t job = blockIdx.x; job < static_cast<std::size_t>(tiles) * chunks.count; job += gridDim.x) {
    const unsigned chunk = static_cast<unsigned>(job / tiles);
    const unsigned pack = static_cast<unsigned>(job % tiles) * side + threadIdx.x % side;
    const bool mine = group < groups && pack < packs;
    const int c = static_cast<int>(pack) * L;
    typename Op::Total totals[L];
    if (mine) {
      typename Op::template Running<L> running(op, c);
      const std::size_t begin = chunk * chunks.rows, end = min(rows, begin + chunks.rows);
      add_rows<L>(op, running, channels, c, begin + group, end, groups);
      running.finish(op);
      HB_UNROLL
      for (int l = 0; l < L; ++l) parts[l][threadIdx.x] = totals[l] = running.total(op, c, l);
    }
    for (unsigned live = groups; live > 1;) {
      __syncthreads();
      const unsigned half = (live + 1) / 2;
      if (mine && group < live - half) {
        HB_UNROLL
        for (int l = 0; l < L; ++l) {
          totals[l].merge(parts[l][threadIdx.x + half * side]);
          parts[l][threadIdx.x] = totals[l];
        }
      }
      live = half;
    }
    __syncthreads();  // before the next job's parts
    if (!mine || group > 0) continue;
    HB_UNROLL
    for (int l = 0; l < L; ++l) op.store(chunk, c + l, totals[l]);
  }
}

/// Packs are used depending on the number of channels, not on an address, so the order of additions depends on it too.
template <class Op>
__global__ void __launch_bounds__(kThreads) columns_kernel(const Op op, std::size_t rows, int channels, Chunks chunks) {
  if (channels % Op::kLanes == 0) {
    add_columns<Op::kLanes>(op, rows, channels, chunks);
  } else {
    add_columns<1>(op, rows, channels, chunks);
  }
}
template <class Op>
void launch_columns(Stream stream, const Op& op, std::size_t rows, int channels, Chunks chunks) {
  if (channels == 0) return;
  const std::size_t tiles = static_cast<std::size_t>((channels + Op::kSide - 1) / Op::kSide);
  HB_LAUNCH((columns_kernel<Op>), std::min<std::size_t>(tiles * chunks.count, 65536), kThreads, stream, op, rows,
            channels, chunks);
}

/// The Running of an Op whose loads are totals.
template <class Total>
struct Merged {
  Total sum{};
  template <class Op>
  __device__ Merged(const Op&, int) {}
  template <class Op>
  __device__ void add(const Op&, std::size_t, const Total& chunk) {
    sum.merge(chunk);
  }
  template <class Op>
  __device__ void finish(const Op&) {}
  template <class Op>
  __device__ Total total(const Op&, int, int) const {
    return sum;
  }
};

/// The second stage of plain sums: adds up chunks.
template <int K>
struct AddChunks {
  static constexpr int kLanes = 1, kInFlight = 4, kSide = 8;
  Partials from, to;  // `to`: one row of channels

  using Total = Sums<K>;
  template <int L>
  using Running = Merged<Total>;
  template <int L>
  __device__ Total load(std::size_t, std::size_t at) const {
    Total sums;
    sums.of[0] = from.first[at];
    if (K > 1) sums.of[K - 1] = from.second[at];
    return sums;
  }
  __device__ void store(unsigned chunk, int c, const Total& sums) const { to.store(chunk, c, sums); }
};

/// Runs both stages. make(partials) makes the Op of the first stage, which leaves K sums there. One chunk: one stage.
template <int K, class F>
void sum_columns(Stream stream, std::size_t rows, int channels, float* work, const Partials& to, const F& make) {
  const Chunks chunks = chunks_of(rows, channels);
  if (chunks.count == 1) return launch_columns(stream, make(to), rows, channels, chunks);
  const Partials partials = partials_in(work, chunks, channels);
  launch_columns(stream, make(partials), rows, channels, chunks);
  launch_columns(stream, AddChunks<K>{partials, to}, chunks.count, channels, {1, chunks.count});
}

}  // namespace hopbench::cuda
