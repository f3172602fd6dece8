#include "models/learner.h"

#include <algorithm>

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

}  // namespace hopbench
