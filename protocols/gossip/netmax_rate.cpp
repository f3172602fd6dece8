// How soon a policy of NetMax brings models together, as predicted.
#include <algorithm>
#include <cmath>

#include "protocols/gossip/netmax_policy.h"
#include "protocols/node/eigenvalues.h"

namespace hopbench::gossip {

double consensus_rate(const Topology& graph, const PullTimes& times, const PullPolicy& policy) {
  const auto n = static_cast<std::size_t>(graph.size());
  std::vector<std::vector<double>> lost(n, std::vector<double>(n, 0.0));  // 1 - E[W'W], a Laplacian
  double seconds = 0;
  for (std::size_t i = 0; i < n; ++i) {
    seconds += policy.chances[i][i] * times.alone[i] / static_cast<double>(n);
    for (const int neighbour : graph.in(static_cast<int>(i))) {
      const auto m = static_cast<std::size_t>(neighbour);
      const double chance = policy.chances[i][m];
      const double weight = policy.pull * (1 - policy.pull / chance) / static_cast<double>(n);
      seconds += chance * times.pulling[i][m] / static_cast<double>(n);
      lost[i][i] += weight, lost[m][m] += weight, lost[i][m] -= weight, lost[m][i] -= weight;
    }
  }
  const double gap = eigenvalues(lost)[1];
  return gap > 1e-12 ? -std::log1p(-std::min(gap, 1 - 1e-12)) / seconds : 0;
}

}  // namespace hopbench::gossip
