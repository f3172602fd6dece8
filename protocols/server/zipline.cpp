#include "protocols/server/zipline.h"

#include <algorithm>
#include <tuple>

namespace hopbench::server {

std::vector<std::size_t> zipline(const std::vector<std::vector<Time>>& pushes) {
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
