#include "backends/base/sparse.h"

#include <algorithm>

namespace hopbench {
namespace {

/// Calls f(column, in x, in y) for each column that either has, ascending; nullptr for the one that lacks it.
template <class F>
void walk(std::span<const SparseEntry> x, std::span<const SparseEntry> y, const F& f) {
  std::size_t i = 0, j = 0;
  while (i < x.size() || j < y.size()) {
    const bool of_x = j == y.size() || (i < x.size() && x[i].column <= y[j].column);
    const bool of_y = i == x.size() || (j < y.size() && y[j].column <= x[i].column);
    f(of_x ? x[i].column : y[j].column, of_x ? &x[i] : nullptr, of_y ? &y[j] : nullptr);
    i += of_x ? 1 : 0;
    j += of_y ? 1 : 0;
  }
}

}  // namespace

void scatter_add(float* y, float a, std::span<const SparseEntry> x) {
  for (const SparseEntry& entry : x) y[entry.column] += a * entry.value;
}

double squared_norm(std::span<const SparseEntry> x) {
  double sum = 0;
  for (const SparseEntry& entry : x) sum += double(entry.value) * double(entry.value);
  return sum;
}

double dot(std::span<const SparseEntry> x, const float* y) {
  double sum = 0;
  for (const SparseEntry& entry : x) sum += double(entry.value) * double(y[entry.column]);
  return sum;
}

double dot(std::span<const SparseEntry> x, std::span<const SparseEntry> y) {
  double sum = 0;
  walk(x, y, [&](std::uint32_t, const SparseEntry* a, const SparseEntry* b) {
    if (a != nullptr && b != nullptr) sum += double(a->value) * double(b->value);
  });
  return sum;
}

std::size_t count_union(std::span<const SparseEntry> x, std::span<const SparseEntry> y) {
  std::size_t n = 0;
  walk(x, y, [&](std::uint32_t, const SparseEntry*, const SparseEntry*) { ++n; });
  return n;
}

void add(float wx, std::span<const SparseEntry> x, float wy, std::span<const SparseEntry> y, SparseEntry* out) {
  walk(x, y, [&](std::uint32_t column, const SparseEntry* a, const SparseEntry* b) {
    float sum = a != nullptr ? wx * a->value : 0.0f;
    if (b != nullptr) sum += wy * b->value;
    *out++ = {column, sum};
  });
}

std::span<const SparseEntry> within(std::span<const SparseEntry> x, std::size_t first, std::size_t n) {
  const auto before = [](const SparseEntry& entry, std::size_t column) { return entry.column < column; };
  const auto begin = std::lower_bound(x.begin(), x.end(), first, before);
  const auto end = std::lower_bound(begin, x.end(), first + n, before);
  return {begin, end};
}

}  // namespace hopbench
