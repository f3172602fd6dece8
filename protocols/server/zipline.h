// ZipLine: ElasticBSP's choice of the next barrier (protocols/server/elastic_bsp.cpp).
#pragma once

#include <cstddef>
#include <vector>

#include "backends/base/time.h"

namespace hopbench::server {

/// Chooses one push of each worker, so that the last and the first of those chosen are as close together as possible,
/// and returns their places. `pushes[i]` holds worker i's next pushes as predicted, ascending, at least one. Of several
/// such choices, takes the earliest.
///
/// Makes one pass over all times in order, keeping each worker's latest: O(R n^2) for R times of each of n workers.
std::vector<std::size_t> zipline(const std::vector<std::vector<Time>>& pushes);

}  // namespace hopbench::server
