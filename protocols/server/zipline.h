// ZipLine: ElasticBSP's choice of the next barrier (protocols/server/elastic_bsp.cpp).
#pragma once

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <vector>

#include "backends/base/time.h"

namespace hopbench::server {

/// Chooses one push of each worker, so that the last and the first of those chosen are as close together as possible,
/// and returns their places. `pushes[i]` holds worker i's next pushes as predicted, ascending, at least one. Of several
/// such choices, takes the earliest.
///
/// Makes one pass over all times in order, keeping each worker's latest: O(R n^2) for R times of each of n workers.
inline std::vector<std::size_t> zipline(const std::vector<std::vector<Time>>& pushes) {
  std::vector<std::tuple<Time, std::size_t, std::size_t>> line;  // all times: when, whose, which
  for (std::size_t worker = 0; worker < pushes.size(); ++worker) {
    for (std::size_t j = 0; j < pushes[worker].size(); ++j) line.emplace_back(pushes[worker][j], worker, j);
  }
  std::sort(line.begin(), line.end());

  constexpr Time kNone = Time::min();
  std::vector<Time> latest(pushes.size(), kNone);
  std::vector<std::size_t> place(pushes.size(), 0), best = place;
  Duration least = Duration::max();
  for (const auto& [when, worker, j] : line) {
    latest[worker] = when;
    place[worker] = j;
    const Time first = *std::min_element(latest.begin(), latest.end());
    if (first == kNone || when - first >= least) continue;
    least = when - first;
    best = place;
  }
  return best;
}

}  // namespace hopbench::server
