#include "backends/base/space_passes.h"

#include <algorithm>
#include <array>
#include <cstdint>

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace hopbench {
namespace {

constexpr std::size_t kLanes = 16;

/// Sixteen sums beginning at i.
using Lanes = std::array<float, kLanes>;
inline Lanes sums_at(std::size_t i, std::span<const float* const> in, std::span<const float> weights) {
  Lanes sums;
  for (std::size_t j = 0; j < kLanes; ++j) sums[j] = weights[0] * in[0][i + j];
  for (std::size_t t = 1; t < in.size(); ++t) {
    const float* term = in[t] + i;
    for (std::size_t j = 0; j < kLanes; ++j) sums[j] += weights[t] * term[j];
  }
  return sums;
}

#ifdef __x86_64__
bool streams(const float* out, std::size_t n) {
  constexpr std::size_t kBeyondCaches = std::size_t(4) << 20;  // 16 MiB a vector
  return n >= kBeyondCaches && reinterpret_cast<std::uintptr_t>(out) % 16 == 0;
}
void stream(float* to, const Lanes& sums) {
  for (std::size_t j = 0; j < kLanes; j += 4) _mm_stream_ps(to + j, _mm_loadu_ps(sums.data() + j));
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
  std::array<double, kLanes> sums{};
  const auto add = [&](std::size_t i) __attribute__((always_inline)) {
    for (std::size_t j = 0; j < kLanes; ++j) {
      const double a = double(x[i + j]), b = kSame ? a : double(y[i + j]);
      sums[j] += a * b;
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
  for (const double sum : sums) total += sum;
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
      std::copy_n(sums.data(), kLanes, out + i);
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
