#include "protocols/server/dssp_controller.h"

namespace hopbench::server {

int extra_iterations(const PushTimes& fastest, const PushTimes& slowest, int r_max) {
  const Duration own = fastest.latest - fastest.before, theirs = slowest.latest - slowest.before;
  const auto apart = [&](int r, int k) {
    return std::chrono::abs((slowest.latest + (k + 1) * theirs) - (fastest.latest + r * own));
  };
  int best = 0, k = 0;
  Duration least = Duration::max();
  for (int r = 0; r <= r_max; ++r) {
    while (k < r_max && apart(r, k + 1) <= apart(r, k)) ++k;  // both rows rise, so k never falls
    if (apart(r, k) < least) {
      least = apart(r, k);
      best = r;
    }
  }
  return best;
}

}  // namespace hopbench::server
