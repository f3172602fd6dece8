#include "backends/cuda/row_products.h"

#include <algorithm>
#include <cstring>

#include "backends/cuda/kernels/kernels.h"

namespace hopbench::cuda {

void RowProducts::make_room(std::size_t bytes) {
  if (bytes <= device_.bytes()) return;
  host_ = Pinned(), device_ = Buffer();
  host_ = Pinned(2 * bytes), device_ = Buffer(2 * bytes);
}

// Copies one piece there and one back: where rows begin, columns, values; then the products.
void RowProducts::run(const float* x, std::size_t bias_at, std::span<const Backend::SparseRow> rows, float* to) {
  const std::lock_guard lock(mutex_);
  const Stream stream = Device::mine().vectors();
  std::size_t values = 0;
  for (const Backend::SparseRow& row : rows) values += row.columns.size();
  const std::size_t begins = (rows.size() + 1) * sizeof(std::uint64_t), of_values = values * sizeof(float);
  const std::size_t columns_at = begins, values_at = columns_at + of_values, products_at = values_at + of_values;
  make_room(products_at + rows.size() * sizeof(float));
  char* const host = host_.as<char>();
  char* const device = device_.as<char>();
  std::uint64_t begin = 0;
  for (std::size_t r = 0; r <= rows.size(); ++r) {
    reinterpret_cast<std::uint64_t*>(host)[r] = begin;
    if (r == rows.size()) break;
    const Backend::SparseRow& row = rows[r];
    std::copy(row.columns.begin(), row.columns.end(), reinterpret_cast<std::uint32_t*>(host + columns_at) + begin);
    std::copy(row.values.begin(), row.values.end(), reinterpret_cast<float*>(host + values_at) + begin);
    begin += row.columns.size();
  }
  copy(stream, device, host, products_at);
  SparseRows there;
  there.columns = reinterpret_cast<const std::uint32_t*>(device + columns_at);
  there.values = reinterpret_cast<const float*>(device + values_at);
  there.row_begin = reinterpret_cast<const std::uint64_t*>(device);
  there.rows = static_cast<int>(rows.size());
  margins(stream, there, x, bias_at, reinterpret_cast<float*>(device + products_at));
  copy(stream, host + products_at, device + products_at, rows.size() * sizeof(float));
  wait_for(stream);
  std::memcpy(to, host + products_at, rows.size() * sizeof(float));
}

}  // namespace hopbench::cuda
