// What this machine does at best, measured: the rates that a benchmark's shares are shares of.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace hopbench {

/// How wide a fused multiply-add of this processor is: 16, 8 or 4 floats (AVX-512, AVX2 and NEON; SSE2 and other
/// processors multiply, then add). `limit`: as if it had no wider ones.
int fma_width(int limit = 16);
std::string fma_name(int width);  // "AVX-512", "AVX2", "SSE2", "NEON", "plain C++"

/// Floating-point operations a second (an FMA is two) of `threads` threads at once that keep the FMA units of that
/// width busy from registers. One thread runs here and counts its CPU time, so that others on its core take nothing
/// from it; several count wall time from a common start to the last one's end.
double fma_peak(int threads, int width, double seconds);

/// Cycles a second of the core the caller runs on, from a chain of dependent multiplications (3 cycles each on every
/// x86-64 since 2008); 0 on other processors.
double clock_rate(double seconds);

using FourVectors = std::array<const float*, 4>;

/// A pass over vectors that no cache holds, written in plain ways: plain and streaming stores, one and several streams,
/// all vectors in turn and block by block. The fastest of them is the limit of what else passes over as many vectors.
struct PlainPass {
  std::string name;  // read: sum of a; copy: a = b; triad: a = b + s c; sum of 4: a = b + c + d + e
  double bytes = 0;  // read and written
  std::vector<std::function<void()>> ways;
};
/// The vectors have n floats, 64-byte aligned, n a multiple of 8192. They outlive the passes.
std::vector<PlainPass> plain_passes(float* a, const FourVectors& from, std::size_t n);

/// Bytes a second of the calling thread's CPU time in one pass over that many.
double pass_rate(double bytes, const std::function<void()>& pass);

/// Floats of a vector that is beyond the caches: twice the largest one, at least 64 MiB, at most a sixteenth of memory.
std::size_t floats_beyond_caches();

/// CPU seconds of the calling thread so far.
double thread_cpu_seconds();

}  // namespace hopbench
