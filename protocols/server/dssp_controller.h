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
int extra_iterations(const PushTimes& fastest, const PushTimes& slowest, int r_max);

}  // namespace hopbench::server
