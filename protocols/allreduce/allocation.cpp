#include "protocols/allreduce/allocation.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "backends/base/error.h"

namespace hopbench::allreduce {
namespace allocation {

double within(double part, const BatchBounds& bounds) {
  return std::clamp(part, double(bounds.low), double(bounds.high));
}

/// The parts before rounding. Of the parts that are out of bounds those on the side that weighs more are held at theirs
/// (the others may come back when the rest is shared anew), until none is left.
std::vector<double> unrounded(std::int64_t total, std::span<const double> shares, std::span<const BatchBounds> bounds) {
  std::vector<double> parts(shares.size());
  std::vector<char> held(shares.size(), 0);
  for (bool again = true; again;) {
    double rest = double(total), sum = 0, excess = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) held[i] ? rest -= parts[i] : sum += shares[i];
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (held[i]) continue;
      parts[i] = rest * shares[i] / sum;
      excess += within(parts[i], bounds[i]) - parts[i];
    }
    again = false;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const double kept = within(parts[i], bounds[i]);
      if (held[i] || !((kept > parts[i] && excess >= 0) || (kept < parts[i] && excess <= 0))) continue;
      parts[i] = kept;
      held[i] = 1;
      again = true;
    }
  }
  return parts;
}

}  // namespace allocation

std::vector<int> proportional(std::int64_t total, std::span<const double> shares, std::span<const BatchBounds> bounds) {
  HB_ASSERT(!shares.empty() && shares.size() == bounds.size());
  const int multiple = bounds.front().multiple;
  HB_ASSERT(total % multiple == 0);
  const std::vector<double> parts = allocation::unrounded(total, shares, bounds);
  std::vector<int> batches(parts.size());
  for (std::size_t i = 0; i < parts.size(); ++i)
    batches[i] = static_cast<int>(std::floor(parts[i] / multiple)) * multiple;
  std::vector<std::size_t> order(parts.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return parts[a] - batches[a] > parts[b] - batches[b]; });

  std::int64_t left = total - std::accumulate(batches.begin(), batches.end(), std::int64_t{0});
  while (left > 0) {
    const std::int64_t before = left;
    for (const std::size_t i : order) {
      if (left == 0 || batches[i] > bounds[i].high - multiple) continue;
      batches[i] += multiple;
      left -= multiple;
    }
    HB_ASSERT_MSG(left < before, "the bounds leave no room for the global batch");
  }
  HB_ASSERT_MSG(left == 0, "the bounds ask for more than the global batch");
  return batches;
}

}  // namespace hopbench::allreduce
