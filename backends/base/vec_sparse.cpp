#include "backends/base/vec_sparse.h"

#include <algorithm>
#include <bit>

#include "backends/base/error.h"

namespace hopbench {
namespace {

/// Rounds up to one of eight sizes between two powers of two: blocks of memory are kept by size and so fit again.
std::size_t rounded(std::size_t entries) {
  const std::size_t step = std::max<std::size_t>(16, std::bit_floor(entries) / 8);
  return (entries + step - 1) / step * step;
}

Vec sum_of(float wx, const Payload& x, float wy, const Payload& y) {
  const std::size_t columns = count_union(x.entries(), y.entries());
  Vec sum = Vec::sparse_with_room(x.size(), columns);
  add(wx, x.entries(), wy, y.entries(), sum.room());
  sum.keep(columns);
  return sum;
}

}  // namespace

std::span<const SparseEntry> Payload::entries() const {
  HB_ASSERT(sparse_);
  return {reinterpret_cast<const SparseEntry*>(raw()), stored_ / kEntryFloats};
}

Payload Payload::slice(std::size_t offset, std::size_t n) const {
  HB_ASSERT(offset <= n_ && n <= n_ - offset);
  if (!sparse_) return Payload(storage_, offset_ + offset, n);
  if (n == n_) return *this;
  const std::span<const SparseEntry> part = within(entries(), offset, n);
  Vec moved = Vec::sparse_with_room(n, part.size());
  std::transform(part.begin(), part.end(), moved.room(), [&](const SparseEntry& entry) {
    return SparseEntry{static_cast<std::uint32_t>(entry.column - offset), entry.value};
  });
  moved.keep(part.size());
  return moved.share();
}

Vec Vec::sparse_with_room(std::size_t n, std::size_t entries) {
  Vec v = uninitialised(rounded(std::max<std::size_t>(1, entries)) * kEntryFloats);
  v.n_ = n;
  v.sparse_ = true;
  return v;
}

Vec Vec::of_parts(std::size_t n, const Payload& like) {
  return like.sparse() ? sparse_with_room(n, 0) : uninitialised(n, like.space());
}

SparseEntry* Vec::room() {
  HB_ASSERT(sparse_);
  own();
  return reinterpret_cast<SparseEntry*>(storage_.get()->data());
}

void Vec::keep(std::size_t entries) {
  HB_ASSERT(sparse_ && entries * kEntryFloats <= storage_.get()->size());
  stored_ = entries * kEntryFloats;
}

void Vec::make_dense() {
  Vec dense(n_);
  scatter_add(dense.mutable_data(), 1.0f, stored().entries());
  *this = std::move(dense);
}

void Vec::scale_entries(float a) {
  SparseEntry* const mine = room();
  for (std::size_t i = 0; i < stored_ / kEntryFloats; ++i) mine[i].value *= a;
}

void Vec::add_entries(float a, const Payload& x) {
  if (!sparse_) return space().scatter_add(mutable_data(), a, x.entries());
  const Payload terms[] = {stored(), x};
  const float weights[] = {1.0f, a};
  *this = sparse_weighted_sum(terms, weights);
}

void Vec::assign_entries(std::size_t offset, const Payload& part) {
  if (!sparse_) {
    float* const to = mutable_data() + offset;
    space().fill(to, 0.0f, part.size());
    return space().scatter_add(to, 1.0f, part.entries());
  }
  const std::span<const SparseEntry> mine = stored().entries();
  const std::span<const SparseEntry> before = within(mine, 0, offset);
  const std::span<const SparseEntry> after = within(mine, offset + part.size(), n_ - offset - part.size());
  const std::size_t entries = before.size() + part.entries().size() + after.size();
  Vec all = sparse_with_room(n_, entries);
  SparseEntry* to = std::copy(before.begin(), before.end(), all.room());
  for (const SparseEntry& entry : part.entries())
    *to++ = {static_cast<std::uint32_t>(offset + entry.column), entry.value};
  std::copy(after.begin(), after.end(), to);
  all.keep(entries);
  *this = std::move(all);
  if (!sparse_is_smaller(entries, n_)) make_dense();
}

double sparse_dot(const Payload& x, const Payload& y) {
  if (!x.sparse()) return sparse_dot(y, x);
  return y.sparse() ? dot(x.entries(), y.entries()) : dot(x.entries(), in_space(y, host_space()).data());
}

Vec sparse_weighted_sum(std::span<const Payload> terms, std::span<const float> weights) {
  const auto is_sparse = [](const Payload& term) { return term.sparse(); };
  const bool all_sparse = std::all_of(terms.begin(), terms.end(), is_sparse);
  Vec sum;
  if (all_sparse) {
    sum = Vec::copy_of(terms[0]);
    sum.scale(weights[0]);
  } else {
    const auto dense = std::find_if_not(terms.begin(), terms.end(), is_sparse);
    sum = Vec(terms[0].size(), dense->space());
    sum.axpy(weights[0], terms[0]);
  }
  for (std::size_t i = 1; i < terms.size(); ++i) {
    HB_ASSERT(terms[i].size() == sum.size());
    if (sum.sparse()) {
      sum = sum_of(1.0f, sum.share(), weights[i], terms[i]);
      if (!sparse_is_smaller(sum.share().entries().size(), sum.size())) sum.mutable_data();
    } else {
      sum.axpy(weights[i], terms[i]);
    }
  }
  return sum;
}

void read_to_host(const Payload& x, std::span<float> to) {
  HB_ASSERT(to.size() == x.size());
  if (!x.sparse()) return x.space().read(x.data(), to.data(), x.size());
  std::fill(to.begin(), to.end(), 0.0f);
  scatter_add(to.data(), 1.0f, x.entries());
}

}  // namespace hopbench
