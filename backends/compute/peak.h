// The best rates of this machine, measured. The shares that a benchmark prints are shares of these rates.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace hopbench {

/// Returns the width of a fused multiply-add of this processor: 16, 8 or 4 floats (AVX-512, AVX2 and NEON; SSE2 and
/// other processors multiply, then add). Ignores instructions wider than `limit`.
int fma_width(int limit = 16);
std::string fma_name(int width);  // "AVX-512", "AVX2", "SSE2", "NEON", "plain C++"

/// Returns floating-point operations a second (an FMA is two) of `threads` threads at once that keep the FMA units of
/// that width busy from registers. One thread runs here and counts its CPU time, so that other processes on its core
/// take nothing from it. Several threads count wall time from a common start to the end of the last one.
double fma_peak(int threads, int width, double seconds);

/// Returns cycles a second of the caller's core, from a chain of dependent multiplications (3 cycles each on every
/// x86-64 since 2008). Returns 0 on other processors.
double clock_rate(double seconds);

using FourVectors = std::array<const float*, 4>;

/// A pass over vectors that no cache holds, written in plain ways: plain and streaming stores, one and several streams,
/// all vectors in turn and block by block. The fastest way is the limit of any pass over the same number of vectors.
struct PlainPass {
  std::string name;  // read: sum of a; copy: a = b; triad: a = b + s c; sum of 4: a = b + c + d + e
  double bytes = 0;  // read and written
  std::vector<std::function<void()>> ways;
};
/// Needs vectors of n floats, 64-byte aligned, that outlive the passes; n is a multiple of 8192.
std::vector<PlainPass> plain_passes(float* a, const FourVectors& from, std::size_t n);

/// Runs one pass over `bytes` bytes. Returns bytes a second of the calling thread's CPU time.
double pass_rate(double bytes, const std::function<void()>& pass);

/// Returns the floats of a vector beyond the caches: twice the largest, at least 64 MiB, at most 1/16 of memory.
std::size_t floats_beyond_caches();

/// Returns the CPU seconds of the calling thread so far.
double thread_cpu_seconds();

}  // namespace hopbench
