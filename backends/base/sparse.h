// The sparse form of a vector: the entries that may differ from zero, as gradients of sparse rows have few of them.
//
// Entries lie side by side in ascending order of their columns, each column at most once, in host memory. What is no
// entry is zero. Sums of sparse vectors give the bits that the same sums of dense ones give, zeros' signs apart.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace hopbench {

struct SparseEntry {
  std::uint32_t column = 0;
  float value = 0;
};
/// What an entry takes, in floats: in storage as on the wire.
constexpr std::size_t kEntryFloats = sizeof(SparseEntry) / sizeof(float);

/// Whether so many entries of n numbers take less than the n numbers do.
constexpr bool sparse_is_smaller(std::size_t entries, std::size_t n) { return entries * kEntryFloats < n; }

/// y[column] += a * value
void scatter_add(float* y, float a, std::span<const SparseEntry> x);
/// Of x alone, and with a dense y: in the order of columns, in double.
double squared_norm(std::span<const SparseEntry> x);
double dot(std::span<const SparseEntry> x, const float* y);
double dot(std::span<const SparseEntry> x, std::span<const SparseEntry> y);
/// How many columns x or y has; then their sum, wx * x + wy * y, into out of that many.
std::size_t count_union(std::span<const SparseEntry> x, std::span<const SparseEntry> y);
void add(float wx, std::span<const SparseEntry> x, float wy, std::span<const SparseEntry> y, SparseEntry* out);
/// The entries of columns [first, first + n).
std::span<const SparseEntry> within(std::span<const SparseEntry> x, std::size_t first, std::size_t n);

}  // namespace hopbench
