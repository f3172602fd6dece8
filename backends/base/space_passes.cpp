#include "backends/base/space_passes.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace hopbench {
namespace {

// Sixteen numbers at a time. Each lane is computed on its own in the order written here, so the bits do not depend on
// how wide the registers are.
constexpr std::size_t kLanes = 16;
using Four [[gnu::vector_size(4 * sizeof(float))]] = float;
using Eight [[gnu::vector_size(8 * sizeof(float))]] = float;
using FourDoubles [[gnu::vector_size(4 * sizeof(double))]] = double;
using EightDoubles [[gnu::vector_size(8 * sizeof(double))]] = double;

#ifdef __x86_64__
bool streams(const float* out, std::size_t n) {
  constexpr std::size_t kBeyondCaches = std::size_t(4) << 20;  // 16 MiB a vector
  return n >= kBeyondCaches && reinterpret_cast<std::uintptr_t>(out) % sizeof(Four) == 0;
}
[[gnu::always_inline]] inline void stream(float* to, const Eight& lanes) {
  Four halves[2];
  std::memcpy(halves, &lanes, sizeof lanes);
  _mm_stream_ps(to, __m128(halves[0]));
  _mm_stream_ps(to + 4, __m128(halves[1]));
}
void streamed() { _mm_sfence(); }
#else
bool streams(const float*, std::size_t) { return false; }
void stream(float*, const Eight&) {}
void streamed() {}
#endif

/// Fetches into the second-level cache. The first-level cache cannot hold eight pages whose addresses begin alike.
[[gnu::always_inline]] inline void fetch(const float* from) { __builtin_prefetch(from, 0, 2); }

constexpr std::size_t kTogether = 4;  // terms of one pass; processors fetch from few places at once

/// Computes to[j] = sums[j] + weights[0] * terms[0][j] + ..., added in that order. Term t begins at terms[t] + begin.
/// `to` may be equal to `sums`.
using AddTerms = void (*)(float* to, const float* sums, const float* const* terms, const float* weights,
                          std::size_t begin, std::size_t n);
/// Functions, indexed by the number of terms minus one. `first` is for the first terms, with no sums before them.
struct Adding {
  std::array<AddTerms, kTogether> first, next;
};
enum class Reach { kInCaches, kPastCaches };

template <Reach kReach, bool kFirst, std::size_t kTerms>
[[gnu::always_inline]] inline void add_lanes(float* to, const float* sums, const float* const* terms,
                                             const float* weights, std::size_t begin, std::size_t n) {
  std::array<const float*, kTerms> from;
  std::array<float, kTerms> by;
  for (std::size_t t = 0; t < kTerms; ++t) {
    from[t] = terms[t] + begin;
    by[t] = weights[t];
  }
  std::size_t j = 0;
  for (; j + 8 <= n; j += 8) {
    Eight lanes, term;
    if (!kFirst) std::memcpy(&lanes, sums + j, sizeof lanes);
    for (std::size_t t = 0; t < kTerms; ++t) {
      std::memcpy(&term, from[t] + j, sizeof term);
      lanes = kFirst && t == 0 ? term * by[t] : lanes + term * by[t];
    }
    if (kReach == Reach::kPastCaches) {
      stream(to + j, lanes);
    } else {
      std::memcpy(to + j, &lanes, sizeof lanes);
    }
  }
  for (; j < n; ++j) {
    float sum = kFirst ? by[0] * from[0][j] : sums[j];
    for (std::size_t t = kFirst ? 1 : 0; t < kTerms; ++t) sum += by[t] * from[t][j];
    to[j] = sum;
  }
}

template <Reach kReach, bool kFirst, std::size_t kTerms>
void add_anywhere(float* to, const float* sums, const float* const* terms, const float* weights, std::size_t begin,
                  std::size_t n) {
  add_lanes<kReach, kFirst, kTerms>(to, sums, terms, weights, begin, n);
}
template <Reach kReach, bool kFirst>
constexpr std::array<AddTerms, kTogether> kAnywhere{add_anywhere<kReach, kFirst, 1>, add_anywhere<kReach, kFirst, 2>,
                                                    add_anywhere<kReach, kFirst, 3>, add_anywhere<kReach, kFirst, 4>};

/// Reads eight pages at once, because a processor does not reach its full speed from one place alone. Asks for the next
/// eight pages meanwhile, because nothing was fetched near their beginnings before.
template <bool kSame, class Floats, class Doubles>
[[gnu::always_inline]] inline double dot_lanes(const float* x, const float* y, std::size_t n) {
  constexpr std::size_t kPage = 1024, kPages = 8, kWidth = sizeof(Floats) / sizeof(float);
  std::array<Doubles, kLanes / kWidth> sums{};
  const auto add = [&](std::size_t i) __attribute__((always_inline)) {
    for (std::size_t q = 0; q < sums.size(); ++q) {
      Floats a, b;
      std::memcpy(&a, x + i + kWidth * q, sizeof a);
      if (!kSame) std::memcpy(&b, y + i + kWidth * q, sizeof b);
      const Doubles wide = __builtin_convertvector(a, Doubles);
      sums[q] += wide * (kSame ? wide : __builtin_convertvector(b, Doubles));
    }
  };
  std::size_t begin = 0;
  constexpr std::size_t kBlock = kPages * kPage;
  for (; begin + kBlock <= n; begin += kBlock) {
    const std::size_t ahead = begin + 2 * kBlock <= n ? kBlock : 0;
    for (std::size_t i = begin; i < begin + kPage; i += kLanes) {
      for (std::size_t page = 0; page < kPages; ++page) {
        fetch(x + i + page * kPage + ahead);
        if (!kSame) fetch(y + i + page * kPage + ahead);
        add(i + page * kPage);
      }
    }
  }
  for (; begin + kLanes <= n; begin += kLanes) add(begin);
  double total = 0;
  for (std::size_t j = 0; j < kLanes; ++j) total += sums[j / kWidth][j % kWidth];
  for (; begin < n; ++begin) total += double(x[begin]) * double(y[begin]);
  return total;
}

using Dot = double (*)(const float* x, const float* y, std::size_t n);

template <bool kSame>
double dot_anywhere(const float* x, const float* y, std::size_t n) {
  return dot_lanes<kSame, Four, FourDoubles>(x, y, n);
}

#ifdef __x86_64__
// Compiled without FMA, which would round once where the others round twice.
template <Reach kReach, bool kFirst, std::size_t kTerms>
[[gnu::target("avx2")]] void add_avx2(float* to, const float* sums, const float* const* terms, const float* weights,
                                      std::size_t begin, std::size_t n) {
  add_lanes<kReach, kFirst, kTerms>(to, sums, terms, weights, begin, n);
}
template <Reach kReach, bool kFirst>
std::array<AddTerms, kTogether> best_terms() {
  if (!__builtin_cpu_supports("avx2")) return kAnywhere<kReach, kFirst>;
  return {add_avx2<kReach, kFirst, 1>, add_avx2<kReach, kFirst, 2>, add_avx2<kReach, kFirst, 3>,
          add_avx2<kReach, kFirst, 4>};
}

template <bool kSame>
[[gnu::target("avx2,fma")]] double dot_avx2(const float* x, const float* y, std::size_t n) {
  return dot_lanes<kSame, Four, FourDoubles>(x, y, n);
}
template <bool kSame>
[[gnu::target("avx512f")]] double dot_avx512(const float* x, const float* y, std::size_t n) {
  return dot_lanes<kSame, Eight, EightDoubles>(x, y, n);
}
template <bool kSame>
Dot best_dot() {
  if (kSame && __builtin_cpu_supports("avx512f")) return dot_avx512<kSame>;  // two vectors wait for memory anyway
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? dot_avx2<kSame> : dot_anywhere<kSame>;
}
#else
template <Reach kReach, bool kFirst>
std::array<AddTerms, kTogether> best_terms() {
  return kAnywhere<kReach, kFirst>;
}

template <bool kSame>
Dot best_dot() {
  return dot_anywhere<kSame>;
}
#endif

template <Reach kReach>
Adding best_adding() {
  return {best_terms<kReach, true>(), best_terms<kReach, false>()};
}

}  // namespace

// Adds all terms at once if they fit into one pass. Otherwise works block by block: the sums of a block stay in the
// first-level cache until the last terms are added.
void weighted_sum_on_host(float* out, std::span<const float* const> in, std::span<const float> weights, std::size_t n) {
  static const Adding near = best_adding<Reach::kInCaches>(), far = best_adding<Reach::kPastCaches>();
  constexpr std::size_t kBlock = 512;
  alignas(64) std::array<float, kBlock> sums;
  const bool past_caches = in.size() > 1 && streams(out, n);
  const std::size_t block = in.size() <= kTogether ? n : kBlock;
  for (std::size_t begin = 0; begin < n; begin += block) {
    const std::size_t count = std::min(block, n - begin);
    for (std::size_t t = 0; t < in.size(); t += kTogether) {
      const std::size_t terms = std::min(kTogether, in.size() - t);
      const bool last = t + terms == in.size();
      const Adding& adding = last && past_caches ? far : near;
      const AddTerms add = (t == 0 ? adding.first : adding.next)[terms - 1];
      add(last ? out + begin : sums.data(), sums.data(), in.data() + t, weights.data() + t, begin, count);
    }
  }
  if (past_caches) streamed();
}

void copy_on_host(float* to, const float* from, std::size_t n) {
  std::size_t done = 0;
  if (streams(to, n)) {
    for (Eight lanes; done + 8 <= n; done += 8) {
      std::memcpy(&lanes, from + done, sizeof lanes);
      stream(to + done, lanes);
    }
    streamed();
  }
  if (n > done) std::memcpy(to + done, from + done, (n - done) * sizeof(float));
}

double dot_on_host(const float* x, const float* y, std::size_t n) {
  static const Dot of_two = best_dot<false>(), of_one = best_dot<true>();
  return (x == y ? of_one : of_two)(x, y, n);
}

}  // namespace hopbench
