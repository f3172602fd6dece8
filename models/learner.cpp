#include "models/learner.h"

#include <algorithm>
#include <cmath>

#include "backends/base/error.h"

namespace hopbench {

std::vector<Bucket> equal_buckets(std::size_t parameters) {
  HB_ASSERT(parameters > 0);
  const std::size_t count = std::min<std::size_t>(8, parameters);
  std::vector<Bucket> buckets;
  for (std::size_t i = count; i-- > 0;) {
    const std::size_t from = parameters * i / count, to = parameters * (i + 1) / count;
    const double backward = static_cast<double>(count - i) / static_cast<double>(count);
    buckets.push_back({.offset = from, .size = to - from, .done_at = (1.0 + 2.0 * backward) / 3.0});
  }
  return buckets;
}

std::vector<Tensor> square_tensors(const std::vector<Bucket>& runs) {
  std::vector<Tensor> tensors;
  for (const Bucket& run : runs) {
    const auto side = static_cast<std::size_t>(std::sqrt(static_cast<double>(run.size)));
    const Tensor matrix{.offset = run.offset, .rows = side, .columns = run.size / std::max<std::size_t>(side, 1)};
    if (matrix.size() > 0) tensors.push_back(matrix);
    const std::size_t left = run.size - matrix.size();
    if (left > 0) tensors.push_back({.offset = run.offset + matrix.size(), .rows = left, .columns = 1});
  }
  std::sort(tensors.begin(), tensors.end(), [](const Tensor& a, const Tensor& b) { return a.offset < b.offset; });
  return tensors;
}

}  // namespace hopbench
