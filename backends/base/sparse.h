// The sparse form of a vector: the entries that may differ from zero, as gradients of sparse rows have few of them.
//
// Entries lie side by side in ascending order of their columns, each column at most once, in host memory. Columns
// without an entry are zero. Sums have the same bits as those of dense vectors, except for signs of zeros.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace hopbench {

struct SparseEntry {
  std::uint32_t column = 0;
  float value = 0;
};
/// The size of an entry in floats, both in storage and on the wire.
constexpr std::size_t kEntryFloats = sizeof(SparseEntry) / sizeof(float);

/// Returns true if `entries` entries take less memory than n dense numbers.
constexpr bool sparse_is_smaller(std::size_t entries, std::size_t n) { return entries * kEntryFloats < n; }

/// Does y[column] += a * value for each entry.
void scatter_add(float* y, float a, std::span<const SparseEntry> x);
/// Sums over x alone, with a dense y or with a sparse y: in the order of columns, in double.
double squared_norm(std::span<const SparseEntry> x);
double dot(std::span<const SparseEntry> x, const float* y);
double dot(std::span<const SparseEntry> x, std::span<const SparseEntry> y);
/// Counts the columns in x or y. add() writes wx * x + wy * y into `out`, which needs that number of entries.
std::size_t count_union(std::span<const SparseEntry> x, std::span<const SparseEntry> y);
void add(float wx, std::span<const SparseEntry> x, float wy, std::span<const SparseEntry> y, SparseEntry* out);
/// Returns the entries of columns [first, first + n).
std::span<const SparseEntry> within(std::span<const SparseEntry> x, std::size_t first, std::size_t n);

}  // namespace hopbench
