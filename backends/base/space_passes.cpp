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

// Sixteen numbers at a time, in four registers that every 64-bit processor has. Each lane is computed on its own in the
// order written here, so the bits do not depend on how wide the registers are.
constexpr std::size_t kLanes = 16, kFours = 4;
using Four [[gnu::vector_size(4 * sizeof(float))]] = float;
using Eight [[gnu::vector_size(8 * sizeof(float))]] = float;
using FourDoubles [[gnu::vector_size(4 * sizeof(double))]] = double;

[[gnu::always_inline]] inline Four four_at(const float* from) {
  Four lanes;
  std::memcpy(&lanes, from, sizeof lanes);
  return lanes;
}

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

/// to[j] = sums[j] + weight * term[j]; of the first term: to[j] = weight * term[j]. `to` may be `sums`.
using AddTerm = void (*)(float* to, const float* sums, const float* term, float weight, std::size_t n);
struct AddTerms {
  AddTerm first, next, last;
};
enum class Reach { kInCaches, kPastCaches };
enum class Turn { kFirst, kNext, kLast };

/// Past the caches a term is fetched four lines ahead. Otherwise some processors (AMD Zen 5) fetch slowly after each
/// change of terms. The last lines of a block fetch the first ones of the next.
template <Reach kReach, Turn kTurn>
[[gnu::always_inline]] inline void add_lanes(float* to, const float* sums, const float* term, float weight,
                                             std::size_t n) {
  constexpr std::size_t kLine = 16, kAhead = 4 * kLine;
  std::size_t j = 0;
  for (Eight lanes, before; j + 8 <= n; j += 8) {
    if (kReach == Reach::kPastCaches && j % kLine == 0) __builtin_prefetch(term + j + kAhead);
    std::memcpy(&lanes, term + j, sizeof lanes);
    lanes *= weight;
    if (kTurn != Turn::kFirst) {
      std::memcpy(&before, sums + j, sizeof before);
      lanes += before;
    }
    if (kReach == Reach::kPastCaches && kTurn == Turn::kLast) {
      stream(to + j, lanes);
    } else {
      std::memcpy(to + j, &lanes, sizeof lanes);
    }
  }
  for (; j < n; ++j) to[j] = kTurn == Turn::kFirst ? weight * term[j] : sums[j] + weight * term[j];
}

template <Reach kReach, Turn kTurn>
void add_anywhere(float* to, const float* sums, const float* term, float weight, std::size_t n) {
  add_lanes<kReach, kTurn>(to, sums, term, weight, n);
}
template <Reach kReach>
constexpr AddTerms kAnywhere{add_anywhere<kReach, Turn::kFirst>, add_anywhere<kReach, Turn::kNext>,
                             add_anywhere<kReach, Turn::kLast>};

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
// Without FMA, which would round once where the others round twice.
template <Reach kReach, Turn kTurn>
[[gnu::target("avx2")]] void add_avx2(float* to, const float* sums, const float* term, float weight, std::size_t n) {
  add_lanes<kReach, kTurn>(to, sums, term, weight, n);
}
template <Reach kReach>
AddTerms best_adding() {
  if (!__builtin_cpu_supports("avx2")) return kAnywhere<kReach>;
  return {add_avx2<kReach, Turn::kFirst>, add_avx2<kReach, Turn::kNext>, add_avx2<kReach, Turn::kLast>};
}

template <bool kSame>
[[gnu::target("avx2,fma")]] double dot_avx2(const float* x, const float* y, std::size_t n) {
  return dot_lanes<kSame>(x, y, n);
}
template <bool kSame>
Dot best_dot() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? dot_avx2<kSame> : dot_anywhere<kSame>;
}
#else
template <Reach kReach>
AddTerms best_adding() {
  return kAnywhere<kReach>;
}

template <bool kSame>
Dot best_dot() {
  return dot_anywhere<kSame>;
}
#endif

}  // namespace

// A block of each term after the other: some processors fetch slower if all terms are read in turn (AMD Zen 5), and the
// sums of a block stay in the first cache until the last term.
void weighted_sum_on_host(float* out, std::span<const float* const> in, std::span<const float> weights, std::size_t n) {
  static const AddTerms near = best_adding<Reach::kInCaches>(), far = best_adding<Reach::kPastCaches>();
  constexpr std::size_t kBlock = 512;
  alignas(64) std::array<float, kBlock> sums;
  const std::size_t last = in.size() - 1;
  const bool past_caches = last > 0 && streams(out, n);
  const AddTerms& add = past_caches ? far : near;
  for (std::size_t begin = 0; begin < n; begin += kBlock) {
    const std::size_t count = std::min(kBlock, n - begin);
    for (std::size_t t = 0; t <= last; ++t) {
      const AddTerm adding = t == 0 ? add.first : t == last ? add.last : add.next;
      adding(t == last ? out + begin : sums.data(), sums.data(), in[t] + begin, weights[t], count);
    }
  }
  if (past_caches) streamed();
}

double dot_on_host(const float* x, const float* y, std::size_t n) {
  static const Dot of_two = best_dot<false>(), of_one = best_dot<true>();
  return (x == y ? of_one : of_two)(x, y, n);
}

}  // namespace hopbench
