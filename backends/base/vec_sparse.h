// The parts of Vec for cases in which one of the vectors is sparse. Not part of the seam.
#pragma once

#include <span>

#include "backends/base/vec.h"

namespace hopbench {

/// Returns the dot product of x and y, at least one of which is sparse.
double sparse_dot(const Payload& x, const Payload& y);
/// Returns weighted_sum of terms of which at least one is sparse. Sparse if all terms are and the result is smaller so.
Vec sparse_weighted_sum(std::span<const Payload> terms, std::span<const float> weights);
/// Writes all x.size() numbers of either form into `to`.
void read_to_host(const Payload& x, std::span<float> to);

}  // namespace hopbench
