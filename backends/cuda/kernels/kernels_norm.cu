// Batch normalisation. Its statistics are sums over rows as in columns.cuh. The rest is computed for each cell.
#include "backends/cuda/kernels/columns.cuh"

namespace hopbench::cuda {
namespace {

constexpr double kEpsilon = 1e-5;

/// Count and mean of some numbers, and the sum of their squared distances from the mean. Those of other numbers are
/// merged into it by the formula of Chan, Golub, LeVeque (1979).
template <class F>
struct Moments {
  F count, mean, squares;
  __device__ void merge(const Moments& other) {
    if (other.count == 0) return;
    const F sum = count + other.count, apart = other.mean - mean, share = other.count / sum;
    mean += apart * share;
    squares += other.squares + apart * apart * count * share;
    count = sum;
  }
};

/// The first stage. A thread adds up distances of a few rows from a number near them: at first from the very first one,
/// later from the mean so far. Therefore neither a large mean nor a long sum costs much precision, and an outlier in
/// the first row costs little. Means are kept as distances from the channel's first number.
template <class T>
struct ChunkMoments {
  static constexpr int kLanes = kLanesOf<T>, kInFlight = sizeof(T) == 4 ? 4 : 2, kSide = 128;
  static constexpr int kFirst = 8, kTogether = 64;  // rows
  const T* x;
  bool aligned;
  Partials to;  // means, squares

  using Total = Moments<float>;
  template <int L>
  __device__ Pack<T, L> load(std::size_t, std::size_t at) const {
    return read<L>(x + at, aligned);
  }
  template <int L>
  struct Running {
    int channel;
    float near[L] = {}, sums[L] = {}, squares[L] = {};  // of the last `count` rows
    float before = 0, mean[L] = {}, left[L] = {};       // the rows before these, and their moments
    int count = 0;

    __device__ Running(const ChunkMoments&, int c) : channel(c) {}
    __device__ void add(const ChunkMoments& op, std::size_t, const Pack<T, L>& in) {
      if (count == (before == 0 ? kFirst : kTogether)) fold(op);
      HB_UNROLL
      for (int l = 0; l < L; ++l) {
        if (before == 0 && count == 0) near[l] = as_float(in.of[l]);
        const float apart = as_float(in.of[l]) - near[l];
        sums[l] += apart;
        squares[l] += apart * apart;
      }
      ++count;
    }
    /// Does the same as Moments::merge, for all lanes at once.
    __device__ void fold(const ChunkMoments& op) {
      const float n = static_cast<float>(count), share = n / (before + n);
      HB_UNROLL
      for (int l = 0; l < L; ++l) {
        const float origin = as_float(op.x[channel + l]), mine = sums[l] / n;
        const float apart = (near[l] - origin) + mine - mean[l];
        const float own = squares[l] - sums[l] * mine;
        mean[l] += apart * share;
        left[l] += (own < 0 ? 0 : own) + apart * apart * before * share;
        sums[l] = squares[l] = 0;
        near[l] = origin + mean[l];
      }
      before += n;
      count = 0;
    }
    __device__ void finish(const ChunkMoments& op) {
      if (count > 0) fold(op);
    }
    __device__ Total total(const ChunkMoments&, int, int l) const { return {before, mean[l], left[l]}; }
  };
  __device__ void store(unsigned chunk, int c, const Total& moments) const {
    to.store(chunk, c, Sums<2>{moments.mean, moments.squares});
  }
};

/// The second stage, in double.
template <class T>
struct AllMoments {
  static constexpr int kLanes = 1, kInFlight = 4, kSide = 8;
  const T* x;
  Partials from;
  std::size_t rows;
  Chunks chunks;
  float* saved;
  float* seen;

  using Total = Moments<double>;
  template <int L>
  using Running = Merged<Total>;
  template <int L>
  __device__ Total load(std::size_t chunk, std::size_t at) const {
    const std::size_t count = min(chunks.rows, rows - chunk * chunks.rows);
    return {static_cast<double>(count), static_cast<double>(from.first[at]), static_cast<double>(from.second[at])};
  }
  __device__ void store(unsigned, int c, const Total& moments) const {
    const double mean = static_cast<double>(as_float(x[c])) + moments.mean, variance = moments.squares / moments.count;
    saved[c] = static_cast<float>(mean);
    saved[from.channels + c] = static_cast<float>(1 / sqrt(variance + kEpsilon));
    seen[c] = static_cast<float>(mean);
    seen[from.channels + c] = static_cast<float>(rows > 1 ? moments.squares / (moments.count - 1) : variance);
  }
};

__global__ void __launch_bounds__(kThreads) saved_kernel(const float* statistics, float* saved, std::size_t channels) {
  HB_GRID_LOOP(c, channels) {
    saved[c] = statistics[c];
    saved[channels + c] = static_cast<float>(1 / sqrt(static_cast<double>(statistics[channels + c]) + kEpsilon));
  }
}

template <class T>
struct NormForward {
  static constexpr int kLanes = kLanesOf<T>, kInFlight = 2;
  const T* x;
  T* y;
  const float* saved;
  const float* scale;
  const float* shift;
  int channels;
  bool relu;

  template <int L>
  struct Column {
    float mean[L], slope[L], shift[L];
    __device__ Column(const NormForward& op, int c) {
      HB_UNROLL
      for (int l = 0; l < L; ++l) {
        mean[l] = op.saved[c + l];
        slope[l] = op.scale[c + l] * op.saved[op.channels + c + l];
        shift[l] = op.shift[c + l];
      }
    }
  };
  __device__ bool aligned() const { return fits<kLanes>(x) && fits<kLanes>(y); }
  template <int L>
  __device__ Pack<T, L> load(std::size_t, std::size_t at, int) const {
    return read<L>(x + at);
  }
  template <int L>
  __device__ void finish(std::size_t at, int, const Pack<T, L>& in, const Column<L>& of) const {
    write<L>(y + at, make_pack<T, L>([&](int l) {
               return rectified((as_float(in.of[l]) - of.mean[l]) * of.slope[l] + of.shift[l], relu);
             }));
  }
};

/// The inputs of both kernels of the backward pass.
template <class T>
struct Slopes {
  const T* x;
  const T* y;  // only where relu
  const T* dy;
  bool relu;

  template <int L>
  struct Loaded {
    Pack<T, L> x, y, dy;
    /// Returns dy where ReLU lets it through, else 0.
    __device__ float slope(bool masked, int l) const {
      return masked && !(as_float(y.of[l]) > 0) ? 0 : as_float(dy.of[l]);
    }
  };
  template <int L>
  __host__ __device__ bool fitting() const {
    return fits<L>(x) && fits<L>(dy) && (!relu || fits<L>(y));
  }
  template <int L>
  __device__ Loaded<L> load(std::size_t at, bool aligned) const {
    return {read<L>(x + at, aligned), relu ? read<L>(y + at, aligned) : Pack<T, L>{}, read<L>(dy + at, aligned)};
  }
};

/// The first stage of dscale and dshift.
template <class T>
struct NormSums {
  static constexpr int kLanes = kLanesOf<T>, kInFlight = 2, kSide = 128;
  Slopes<T> from;
  const float* saved;
  bool aligned;
  Partials to;

  using Total = Sums<2>;
  template <int L>
  __device__ auto load(std::size_t, std::size_t at) const {
    return from.template load<L>(at, aligned);
  }
  template <int L>
  struct Running {
    float mean[L], of_x[L] = {}, of_one[L] = {};
    __device__ Running(const NormSums& op, int c) {
      HB_UNROLL
      for (int l = 0; l < L; ++l) mean[l] = op.saved[c + l];
    }
    __device__ void add(const NormSums& op, std::size_t, const typename Slopes<T>::template Loaded<L>& in) {
      HB_UNROLL
      for (int l = 0; l < L; ++l) {
        const float slope = in.slope(op.from.relu, l);
        of_x[l] += slope * (as_float(in.x.of[l]) - mean[l]);
        of_one[l] += slope;
      }
    }
    __device__ void finish(const NormSums&) {}
    __device__ Total total(const NormSums& op, int c, int l) const {
      return {{of_x[l] * op.saved[op.to.channels + c + l], of_one[l]}};
    }
  };
  __device__ void store(unsigned chunk, int c, const Total& sums) const { to.store(chunk, c, sums); }
};

/// dx = scale * inverse deviation * (dy - dshift / rows - normalised x * dscale / rows)
template <class T>
struct NormBackward {
  static constexpr int kLanes = kLanesOf<T>, kInFlight = sizeof(T) == 4 ? 2 : 1;
  Slopes<T> from;
  T* dx;
  const float* saved;
  const float* scale;
  const float* dscale;
  const float* dshift;
  int channels;
  float rows;

  template <int L>
  struct Column {
    float mean[L], slope[L], of_one[L], of_x[L];
    __device__ Column(const NormBackward& op, int c) {
      HB_UNROLL
      for (int l = 0; l < L; ++l) {
        const float inverse = op.saved[op.channels + c + l];
        mean[l] = op.saved[c + l];
        slope[l] = op.scale[c + l] * inverse;
        of_one[l] = op.dshift[c + l] / op.rows;
        of_x[l] = op.dscale[c + l] / op.rows * inverse;
      }
    }
  };
  __device__ bool aligned() const { return from.template fitting<kLanes>() && fits<kLanes>(dx); }
  template <int L>
  __device__ auto load(std::size_t, std::size_t at, int) const {
    return from.template load<L>(at, true);
  }
  template <int L>
  __device__ void finish(std::size_t at, int, const typename Slopes<T>::template Loaded<L>& in,
                         const Column<L>& of) const {
    write<L>(dx + at, make_pack<T, L>([&](int l) {
               const float apart = as_float(in.x.of[l]) - of.mean[l];
               return of.slope[l] * ((in.slope(from.relu, l) - of.of_one[l]) - apart * of.of_x[l]);
             }));
  }
};

}  // namespace

void norm_statistics(Stream stream, Number number, const void* x, float* saved, float* seen, std::size_t rows,
                     int channels, float* work) {
  const Chunks chunks = chunks_of(rows, channels);
  const Partials partials = partials_in(work, chunks, channels);
  with_number(number, [&]<class T>(T) {
    const auto* const in = static_cast<const T*>(x);
    launch_columns(stream, ChunkMoments<T>{in, fits<kLanesOf<T>>(in), partials}, rows, channels, chunks);
    launch_columns(stream, AllMoments<T>{in, partials, rows, chunks, saved, seen}, chunks.count, channels,
                   {1, chunks.count});
  });
}

void norm_from_statistics(Stream stream, const float* statistics, float* saved, int channels) {
  if (channels == 0) return;
  const auto c = static_cast<std::size_t>(channels);
  HB_LAUNCH(saved_kernel, blocks_for(c), kThreads, stream, statistics, saved, c);
}

void norm_forward(Stream stream, Number number, const void* x, void* y, const float* saved, const float* scale,
                  const float* shift, bool relu, std::size_t rows, int channels) {
  with_number(number, [&]<class T>(T) {
    const NormForward<T> op{static_cast<const T*>(x), static_cast<T*>(y), saved, scale, shift, channels, relu};
    launch_each_cell(stream, op, rows, channels);
  });
}

void norm_backward(Stream stream, Number number, const void* x, const void* y, const void* dy, void* dx,
                   const float* saved, const float* scale, float* dscale, float* dshift, bool relu, std::size_t rows,
                   int channels, float* work) {
  with_number(number, [&]<class T>(T) {
    const Slopes<T> from{static_cast<const T*>(x), static_cast<const T*>(y), static_cast<const T*>(dy), relu};
    const bool aligned = from.template fitting<kLanesOf<T>>();
    sum_columns<2>(stream, rows, channels, work, {dscale, dshift, channels}, [&](const Partials& to) {
      return NormSums<T>{from, saved, aligned, to};
    });
    const NormBackward<T> op{from,     static_cast<T*>(dx),     saved, scale, dscale, dshift,
                             channels, static_cast<float>(rows)};
    launch_each_cell(stream, op, rows, channels);
  });
}

}  // namespace hopbench::cuda
