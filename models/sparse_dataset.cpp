#include "models/sparse_dataset.h"

#include <utility>

namespace hopbench {

SparseDataset make_sparse(SparseVectors vectors) {
  const auto owner = std::make_shared<const SparseVectors>(std::move(vectors));
  return {owner, {owner->offsets, owner->columns, owner->values, owner->labels, owner->original}};
}

SparseDataset in_columns_of(const SparseDataset& data, const SparseDataset& other) {
  constexpr std::uint32_t kDropped = ~std::uint32_t{0};
  const SparseArrays &from = data.arrays(), &to = other.arrays();
  std::vector<std::uint32_t> place(from.original.size(), kDropped);
  for (std::size_t c = 0, o = 0; c < from.original.size() && o < to.original.size();) {  // both ascend
    if (from.original[c] == to.original[o])
      place[c++] = static_cast<std::uint32_t>(o++);
    else if (from.original[c] < to.original[o])
      ++c;
    else
      ++o;
  }
  SparseVectors made;
  made.offsets.reserve(from.offsets.size());
  made.offsets.push_back(0);
  for (std::size_t r = 0; r < data.rows(); ++r) {
    for (std::uint64_t i = from.offsets[r]; i < from.offsets[r + 1]; ++i) {
      if (place[from.columns[i]] == kDropped) continue;
      made.columns.push_back(place[from.columns[i]]);
      made.values.push_back(from.values[i]);
    }
    made.offsets.push_back(made.columns.size());
  }
  made.labels.assign(from.labels.begin(), from.labels.end());
  made.original.assign(to.original.begin(), to.original.end());
  return make_sparse(std::move(made));
}

}  // namespace hopbench
