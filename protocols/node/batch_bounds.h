// The batches that a protocol may give to a worker.
#pragma once

#include <limits>

namespace hopbench {

/// The batches that a worker may be given: from `low` to `high` samples, both included, in steps of `multiple`. `low`,
/// and `high` unless it is the default, are multiples too.
struct BatchBounds {
  int low = 1, high = std::numeric_limits<int>::max();
  int multiple = 1;
};

}  // namespace hopbench
