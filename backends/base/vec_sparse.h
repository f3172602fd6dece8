// What Vec does where one of its vectors is sparse. Not part of the seam.
#pragma once

#include <span>

#include "backends/base/vec.h"

namespace hopbench {

/// One of them is sparse, or both.
double sparse_dot(const Payload& x, const Payload& y);
/// As weighted_sum, where one of the terms is sparse at least. Sparse where all are and that is smaller.
Vec sparse_weighted_sum(std::span<const Payload> terms, std::span<const float> weights);
/// All x.size() numbers, of either form.
void read_to_host(const Payload& x, std::span<float> to);

}  // namespace hopbench
