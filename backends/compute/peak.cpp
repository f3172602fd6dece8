#include "backends/compute/peak.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#include "backends/base/error.h"

namespace hopbench {
namespace {

constexpr int kChains = 12;  // more than latency times units of any processor so far, fewer than 16 registers
constexpr long kRounds = 20'000;

void plain_triad(float* a, const float* b, const float* c, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) a[i] = b[i] + 0.5f * c[i];
}

#ifdef __x86_64__
// Twelve chains of x = x m + a. Written as assembly, because a compiler that sees the arithmetic computes less of it.
// The accumulators are named one by one: filled in a loop they would lie in memory.
__attribute__((target("avx512f"), noinline)) void busy_16(long rounds) {
  const __m512 m = _mm512_set1_ps(0.5f), a = m;
  __m512 x[kChains] = {a, a, a, a, a, a, a, a, a, a, a, a};
  for (long r = 0; r < rounds; ++r) {
#pragma GCC unroll 12
    for (int i = 0; i < kChains; ++i) asm volatile("vfmadd213ps %2, %1, %0" : "+v"(x[i]) : "v"(m), "v"(a));
  }
}

__attribute__((target("avx2,fma"), noinline)) void busy_8(long rounds) {
  const __m256 m = _mm256_set1_ps(0.5f), a = m;
  __m256 x[kChains] = {a, a, a, a, a, a, a, a, a, a, a, a};
  for (long r = 0; r < rounds; ++r) {
#pragma GCC unroll 12
    for (int i = 0; i < kChains; ++i) asm volatile("vfmadd213ps %2, %1, %0" : "+x"(x[i]) : "x"(m), "x"(a));
  }
}

__attribute__((noinline)) void busy_4(long rounds) {
  const __m128 m = _mm_set1_ps(0.5f), a = m;
  __m128 x[kChains] = {a, a, a, a, a, a, a, a, a, a, a, a};
  for (long r = 0; r < rounds; ++r) {
#pragma GCC unroll 12
    for (int i = 0; i < kChains; ++i) {
      asm volatile("mulps %1, %0\n\taddps %2, %0" : "+x"(x[i]) : "x"(m), "x"(a));
    }
  }
}

double multiplications(long rounds) {
  unsigned long x = 3;
  for (long r = 0; r < rounds; ++r) {
#pragma GCC unroll 12
    for (int i = 0; i < kChains; ++i) asm volatile("imul %0, %0" : "+r"(x));
  }
  return double(rounds) * kChains;
}

void stream_copy(float* to, const float* from, std::size_t n) {
  for (std::size_t i = 0; i < n; i += 4) _mm_stream_ps(to + i, _mm_load_ps(from + i));
  _mm_sfence();
}

void stream_triad(float* a, const float* b, const float* c, std::size_t n) {
  const __m128 s = _mm_set1_ps(0.5f);
  for (std::size_t i = 0; i < n; i += 4) {
    _mm_stream_ps(a + i, _mm_add_ps(_mm_load_ps(b + i), _mm_mul_ps(s, _mm_load_ps(c + i))));
  }
  _mm_sfence();
}

void stream_sum(float* to, const FourVectors& from, std::size_t n) {
  for (std::size_t i = 0; i < n; i += 4) {
    const __m128 half = _mm_add_ps(_mm_load_ps(from[0] + i), _mm_load_ps(from[1] + i));
    _mm_stream_ps(to + i, _mm_add_ps(half, _mm_add_ps(_mm_load_ps(from[2] + i), _mm_load_ps(from[3] + i))));
  }
  _mm_sfence();
}
#else
void busy_16(long) {}
void busy_8(long) {}
#ifdef __aarch64__
__attribute__((noinline)) void busy_4(long rounds) {
  const float32x4_t m = vdupq_n_f32(0.5f);
  float32x4_t x[kChains] = {m, m, m, m, m, m, m, m, m, m, m, m};
  for (long r = 0; r < rounds; ++r) {
#pragma GCC unroll 12
    for (int i = 0; i < kChains; ++i) asm volatile("fmla %0.4s, %1.4s, %1.4s" : "+w"(x[i]) : "w"(m));
  }
}
#else
void busy_4(long rounds) {
  float x[4 * kChains];
  std::fill(std::begin(x), std::end(x), 1.0f);
  for (long r = 0; r < rounds; ++r) {
    for (float& v : x) v = v * 0.5f + 0.5f;
    asm volatile("" : : "r"(x) : "memory");
  }
}
#endif
void stream_copy(float* to, const float* from, std::size_t n) { std::memcpy(to, from, n * sizeof(float)); }
void stream_triad(float* a, const float* b, const float* c, std::size_t n) { plain_triad(a, b, c, n); }
void stream_sum(float* to, const FourVectors& from, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) to[i] = from[0][i] + from[1][i] + (from[2][i] + from[3][i]);
}
#endif

/// Adds 2 KiB of each vector after the other.
void sum_by_blocks(float* to, const FourVectors& from, std::size_t n) {
  constexpr std::size_t kBlock = 512;
  for (std::size_t begin = 0; begin < n; begin += kBlock) {
    alignas(64) std::array<float, kBlock> sums{};
    for (const float* vector : from) {
      for (std::size_t j = 0; j < kBlock; ++j) sums[j] += vector[begin + j];
    }
    stream_copy(to + begin, sums.data(), kBlock);
  }
}

/// Returns the sum, read from `kStreams` pages at once: one place alone does not use a processor's full speed.
template <std::size_t kStreams>
float sum(const float* x, std::size_t n) {
  constexpr std::size_t kLanes = 16, kPage = 1024;
  std::array<float, 2 * kLanes> lanes{};
  for (std::size_t begin = 0; begin + kStreams * kPage <= n; begin += kStreams * kPage) {
    for (std::size_t i = begin; i < begin + kPage; i += 2 * kLanes) {
      for (std::size_t s = 0; s < kStreams; ++s) {
        for (std::size_t j = 0; j < 2 * kLanes; ++j) lanes[j] += x[s * kPage + i + j];
      }
    }
  }
  float total = 0;
  for (const float lane : lanes) total += lane;
  return total;
}

void busy(int width, long rounds) {
  if (width == 16) return busy_16(rounds);
  if (width == 8) return busy_8(rounds);
  busy_4(rounds);
}

/// Makes the compiler compute a value that is not used.
void keep(float value) { asm volatile("" : : "m"(value)); }

/// Calls f until `seconds` of CPU time are over. Returns the number of calls per CPU second.
template <class F>
double rate_of(double seconds, const F& f) {
  const double begin = thread_cpu_seconds();
  double calls = 0, now = begin;
  for (; now < begin + seconds; now = thread_cpu_seconds()) {
    f();
    ++calls;
  }
  return calls / (now - begin);
}

double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

double thread_cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return double(now.tv_sec) + 1e-9 * double(now.tv_nsec);
}

int fma_width(int limit) {
#ifdef __x86_64__
  if (limit >= 16 && __builtin_cpu_supports("avx512f")) return 16;
  if (limit >= 8 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return 8;
#endif
  return std::min(limit, 4);
}

std::string fma_name(int width) {
  if (width == 16) return "AVX-512";
  if (width == 8) return "AVX2";
#if defined(__x86_64__)
  return "SSE2";
#elif defined(__aarch64__)
  return "NEON";
#else
  return "plain C++";
#endif
}

double fma_peak(int threads, int width, double seconds) {
  HB_ASSERT(threads >= 1 && width <= fma_width());
  const double flops = 2.0 * width * kChains * double(kRounds);  // of one call
  if (threads == 1) return flops * rate_of(seconds, [&] { busy(width, kRounds); });
  // Each thread makes the number of calls that fit one core's time; the wall time includes what other processes take.
  const long calls = std::max(1L, long(seconds * rate_of(seconds / 4, [&] { busy(width, kRounds); })));
  std::atomic<int> ready{0};
  std::vector<double> begins(std::size_t(threads), 0.0), ends(std::size_t(threads), 0.0);
  std::vector<std::thread> crew;
  for (std::size_t i = 0; i < std::size_t(threads); ++i) {
    crew.emplace_back([&, i] {
      for (ready.fetch_add(1); ready.load() < threads;) std::this_thread::yield();
      begins[i] = wall_seconds();
      busy(width, kRounds * calls);
      ends[i] = wall_seconds();
    });
  }
  for (std::thread& thread : crew) thread.join();
  const double wall = *std::max_element(ends.begin(), ends.end()) - *std::min_element(begins.begin(), begins.end());
  return flops * double(calls) * threads / wall;
}

double clock_rate(double seconds) {
#ifdef __x86_64__
  constexpr double kLatency = 3;
  return kLatency * kChains * double(kRounds) * rate_of(seconds, [] { multiplications(kRounds); });
#else
  return 0 * seconds;
#endif
}

std::vector<PlainPass> plain_passes(float* a, const FourVectors& from, std::size_t n) {
  HB_ASSERT(n % (8 * 1024) == 0);
  const float *const b = from[0], *const c = from[1];
  const double bytes = double(n) * sizeof(float);
  return {{"read", bytes, {[=] { keep(sum<1>(b, n)); }, [=] { keep(sum<4>(b, n)); }, [=] { keep(sum<8>(b, n)); }}},
          {"copy", 2 * bytes, {[=] { std::memcpy(a, b, n * sizeof(float)); }, [=] { stream_copy(a, b, n); }}},
          {"triad", 3 * bytes, {[=] { plain_triad(a, b, c, n); }, [=] { stream_triad(a, b, c, n); }}},
          {"sum of 4", 5 * bytes, {[=] { stream_sum(a, from, n); }, [=] { sum_by_blocks(a, from, n); }}}};
}

double pass_rate(double bytes, const std::function<void()>& pass) {
  const double begin = thread_cpu_seconds();
  pass();
  return bytes / (thread_cpu_seconds() - begin);
}

std::size_t floats_beyond_caches() {
  constexpr std::size_t kMultiple = 1 << 20;
  std::size_t bytes = std::size_t(64) << 20;
  for (const int level : {_SC_LEVEL2_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE, _SC_LEVEL4_CACHE_SIZE}) {
    bytes = std::max(bytes, 2 * std::size_t(std::max(0L, sysconf(level))));
  }
  const std::size_t memory = std::size_t(sysconf(_SC_PHYS_PAGES)) * std::size_t(sysconf(_SC_PAGESIZE));
  return std::max(std::size_t(1), std::min(bytes, memory / 16) / sizeof(float) / kMultiple) * kMultiple;
}

}  // namespace hopbench
