// ZipLine: ElasticBSP's choice of the next barrier (protocols/elastic_bsp.cpp).
#pragma once

#include <cstddef>
#include <vector>

#include "backends/base/time.h"

namespace hopbench {

/// `pushes[i]`: worker i's next pushes as predicted, ascending, one at least. Chooses one of each worker so that the
/// last and the first of those chosen are as close together as can be, and returns their places. Of several such
/// choices the earliest.
///
/// One pass over all times in order, keeping each worker's latest: O(R n^2) for R times of each of n workers.
std::vector<std::size_t> zipline(const std::vector<std::vector<Time>>& pushes);

}  // namespace hopbench
