// Batch sizes whose sum stays: how a global batch is divided among workers of different speeds (lb_bsp.cpp,
// dynamic_batching.cpp). Arithmetic only.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "protocols/node/batch_bounds.h"

namespace hopbench::allreduce {

/// Whole numbers in proportion to `shares` (all above 0; one for each worker, as `bounds`) that sum to `total`: the
/// least max b_i / share_i, up to rounding. Workers that would leave their bounds are held at them and the others share
/// the rest. Rounding is by largest remainder, of equal ones to the lowest rank first. All bounds must have the same
/// `multiple`, and `total` must be one; so are the numbers.
/// The sum of the bounds' lows must not exceed `total`, that of their highs not be below it.
std::vector<int> proportional(std::int64_t total, std::span<const double> shares, std::span<const BatchBounds> bounds);

}  // namespace hopbench::allreduce
