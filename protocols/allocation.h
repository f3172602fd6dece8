// Batch sizes whose sum stays: how a global batch is divided among workers of different speeds (lb_bsp.cpp,
// dynamic_batching.cpp). Arithmetic only.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace hopbench {

/// Fewest and most samples that a worker may be given, both included.
struct BatchBounds {
  int low = 1, high = std::numeric_limits<int>::max();
};

/// Whole numbers in proportion to `shares` (all above 0; one for each worker, as `bounds`) that sum to `total`: the
/// least max b_i / share_i, up to rounding. Workers that would leave their bounds are held at them and the others share
/// the rest. Rounding is by largest remainder, of equal ones to the lowest rank first.
/// The sum of the bounds' lows must not exceed `total`, that of their highs not be below it.
std::vector<int> proportional(std::int64_t total, std::span<const double> shares, std::span<const BatchBounds> bounds);

}  // namespace hopbench
