// DSSP's synchronisation controller: Algorithm 2 of the paper (protocols/server/dssp.cpp).
#pragma once

#include "backends/base/time.h"

namespace hopbench::server {

/// A row of table A: the times of a worker's latest two pushes.
struct PushTimes {
  Time latest{};
  Time before{};
};

/// Returns r*, the number of iterations, 0 .. r_max, that the fastest worker p should still run so that it waits least
/// when it then stops for the slowest one:
///
///   P[r] = A[p].latest + r * I_p                 when p would push, I being the time between the latest two pushes
///   S[k] = A[slowest].latest + (k+1) * I_slowest   the slowest one's next pushes, k = 0 .. r_max
///   r*   = argmin over r of min over k of |S[k] - P[r]|
///
/// If several r are equally good, returns the smallest. Takes one pass over both rows: O(r_max).
inline int extra_iterations(const PushTimes& fastest, const PushTimes& slowest, int r_max) {
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
