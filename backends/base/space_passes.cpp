#include "backends/base/space_passes.h"

#include <array>
#include <cstdint>
#include <cstring>

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace hopbench {
namespace {

// Sixteen numbers at a time, in four registers that every 64-bit processor has. Each lane is computed on its own in the
// order written here, so the bits do not depend on how wide the registers are.
constexpr std::size_t kLanes = 16, kFours = 4;
using Four [[gnu::vector_size(4 * sizeof(float))]] = float;
using FourDoubles [[gnu::vector_size(4 * sizeof(double))]] = double;
using Lanes = std::array<Four, kFours>;

[[gnu::always_inline]] inline Four four_at(const float* from) {
  Four lanes;
  std::memcpy(&lanes, from, sizeof lanes);
  return lanes;
}

/// Sixteen weighted sums beginning at i.
[[gnu::always_inline]] inline Lanes sums_at(std::size_t i, std::span<const float* const> in,
                                            std::span<const float> weights) {
  Lanes sums;
  for (std::size_t q = 0; q < kFours; ++q) sums[q] = weights[0] * four_at(in[0] + i + 4 * q);
  for (std::size_t t = 1; t < in.size(); ++t) {
    for (std::size_t q = 0; q < kFours; ++q) sums[q] += weights[t] * four_at(in[t] + i + 4 * q);
  }
  return sums;
}

#ifdef __x86_64__
bool streams(const float* out, std::size_t n) {
  constexpr std::size_t kBeyondCaches = std::size_t(4) << 20;  // 16 MiB a vector
  return n >= kBeyondCaches && reinterpret_cast<std::uintptr_t>(out) % 16 == 0;
}
[[gnu::always_inline]] inline void stream(float* to, const Lanes& sums) {
  for (std::size_t q = 0; q < kFours; ++q) _mm_stream_ps(to + 4 * q, __m128(sums[q]));
}
void streamed() { _mm_sfence(); }
#else
bool streams(const float*, std::size_t) { return false; }
void stream(float*, const Lanes&) {}
void streamed() {}
#endif

/// Eight pages at once: from one place alone a processor does not fetch as fast as it could.
template <bool kSame>
[[gnu::always_inline]] inline double dot_lanes(const float* x, const float* y, std::size_t n) {
  constexpr std::size_t kPage = 1024, kPages = 8;
  std::array<FourDoubles, kFours> sums{};
  const auto add = [&](std::size_t i) __attribute__((always_inline)) {
    for (std::size_t q = 0; q < kFours; ++q) {
      const FourDoubles a = __builtin_convertvector(four_at(x + i + 4 * q), FourDoubles);
      sums[q] += a * (kSame ? a : __builtin_convertvector(four_at(y + i + 4 * q), FourDoubles));
    }
  };
  std::size_t begin = 0;
  for (; begin + kPages * kPage <= n; begin += kPages * kPage) {
    for (std::size_t i = begin; i < begin + kPage; i += kLanes) {
      for (std::size_t page = 0; page < kPages; ++page) add(i + page * kPage);
    }
  }
  for (; begin + kLanes <= n; begin += kLanes) add(begin);
  double total = 0;
  for (std::size_t j = 0; j < kLanes; ++j) total += sums[j / 4][j % 4];
  for (; begin < n; ++begin) total += double(x[begin]) * double(y[begin]);
  return total;
}

using Dot = double (*)(const float* x, const float* y, std::size_t n);

template <bool kSame>
double dot_anywhere(const float* x, const float* y, std::size_t n) {
  return dot_lanes<kSame>(x, y, n);
}

#ifdef __x86_64__
template <bool kSame>
[[gnu::target("avx2,fma")]] double dot_avx2(const float* x, const float* y, std::size_t n) {
  return dot_lanes<kSame>(x, y, n);
}
template <bool kSame>
Dot best_dot() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? dot_avx2<kSame> : dot_anywhere<kSame>;
}
#else
template <bool kSame>
Dot best_dot() {
  return dot_anywhere<kSame>;
}
#endif

}  // namespace

void weighted_sum_on_host(float* out, std::span<const float* const> in, std::span<const float> weights, std::size_t n) {
  std::size_t i = 0;
  if (streams(out, n)) {
    for (; i + kLanes <= n; i += kLanes) stream(out + i, sums_at(i, in, weights));
    streamed();
  } else {
    for (; i + kLanes <= n; i += kLanes) {
      const Lanes sums = sums_at(i, in, weights);
      std::memcpy(out + i, sums.data(), sizeof sums);
    }
  }
  for (; i < n; ++i) {
    float sum = weights[0] * in[0][i];
    for (std::size_t t = 1; t < in.size(); ++t) sum += weights[t] * in[t][i];
    out[i] = sum;
  }
}

double dot_on_host(const float* x, const float* y, std::size_t n) {
  static const Dot of_two = best_dot<false>(), of_one = best_dot<true>();
  return (x == y ? of_one : of_two)(x, y, n);
}

}  // namespace hopbench
