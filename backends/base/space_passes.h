// The passes over host memory that a plain loop does not bring near to the memory's speed. Not part of the seam.
#pragma once

#include <cstddef>
#include <span>

namespace hopbench {

/// Space::weighted_sum, block by block. Results too large for any cache are stored past the caches.
void weighted_sum_on_host(float* out, std::span<const float* const> in, std::span<const float> weights, std::size_t n);

/// Space::copy. Results too large for any cache are stored past the caches.
void copy_on_host(float* to, const float* from, std::size_t n);

/// Space::dot in double: sixteen sums, each of every sixteenth product, added up at the end. The products are exact in
/// double. Therefore the bits are the same with and without FMA, on any instruction set.
double dot_on_host(const float* x, const float* y, std::size_t n);

}  // namespace hopbench
