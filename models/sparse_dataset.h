// Rows with few values other than zero, as text and click data have them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace hopbench {

/// The arrays of a compressed sparse row matrix. Row r's values are values[offsets[r] .. offsets[r + 1]), in the
/// columns at the same indices, which ascend within a row.
struct SparseArrays {
  std::span<const std::uint64_t> offsets;  // rows + 1, from 0 up to the number of values
  std::span<const std::uint32_t> columns;  // 0 .. original.size() - 1
  std::span<const float> values;           // finite, none of them 0
  std::span<const float> labels;           // one per row, finite, as in the file
  /// original[c] is the file's number of column c; ascending. A file may number columns up to 2^32 - 1 and use few of
  /// them. Only columns that some row uses have a place in a model, so vectors are no longer than the data need.
  std::span<const std::uint32_t> original;
};

/// An immutable set of rows. Copies share the arrays, which stay in place while one lives. Many threads may read it.
class SparseDataset {
 public:
  struct Row {
    std::span<const std::uint32_t> columns;
    std::span<const float> values;
    float label;
  };
  /// `owner` keeps the arrays alive.
  SparseDataset(std::shared_ptr<const void> owner, const SparseArrays& arrays) : owner_(std::move(owner)), a_(arrays) {}

  std::size_t rows() const { return a_.labels.size(); }
  std::size_t columns() const { return a_.original.size(); }  // of a model for it
  std::size_t nonzeros() const { return a_.values.size(); }
  Row row(std::size_t r) const {
    const std::size_t first = a_.offsets[r], count = a_.offsets[r + 1] - first;
    return {a_.columns.subspan(first, count), a_.values.subspan(first, count), a_.labels[r]};
  }
  const SparseArrays& arrays() const { return a_; }

 private:
  std::shared_ptr<const void> owner_;
  SparseArrays a_;
};

/// Returns the rows of `data` in the columns of `other`, as for a test set in the columns of its training set. Values
/// in columns that `other` lacks are dropped: a model that starts them at 0 has learnt nothing about them.
SparseDataset in_columns_of(const SparseDataset& data, const SparseDataset& other);

/// Vectors that own the arrays of a SparseDataset.
struct SparseVectors {
  std::vector<std::uint64_t> offsets;
  std::vector<std::uint32_t> columns;
  std::vector<float> values, labels;
  std::vector<std::uint32_t> original;
};
SparseDataset make_sparse(SparseVectors vectors);

}  // namespace hopbench
