// The work of a rank before any clock starts.
#pragma once

#include "backends/base/time.h"
#include "models/workload.h"
#include "protocols/node/batch_bounds.h"

namespace hopbench {

/// The batch sizes of a rank, and the number of them that were computed before the start.
struct Prepared {
  int sizes = 1, computed = 1;
};

/// Loads the data and computes gradients that nobody sees, so that page faults, first touch and compilation are outside
/// every clock. In host memory that is one gradient of the trial's batch.
///
/// On a GPU it is two of each batch size in `batches`, the second of which is captured as a graph. The largest comes
/// first, because a network that grows is compiled anew. If the GPU has no room for it, half of it is tried, and so on
/// down to the trial's batch. The others follow, those near the trial's batch first, until `at_most` is over: the other
/// ranks wait meanwhile. The trial's batch and the largest are always among them.
///
/// Error as from Workload::gradient at the trial's batch.
Prepared prepare(Workload& workload, int worker, const BatchBounds& batches, Duration at_most);

}  // namespace hopbench
