#include "suites/trial/preparation.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <vector>

#include "backends/base/error.h"
#include "backends/base/space.h"

namespace hopbench {
namespace {

void compute(Workload& workload, int worker, int batch, int times) {
  for (int k = 0; k < times; ++k) {
    Vec g = workload.sparse() ? Vec() : Vec::uninitialised(workload.size(), workload.space());
    workload.gradient(workload.initial().share(), worker, 0, batch, g, [](int) {});
  }
}

/// Returns the largest batch, at least the trial's, for which the device has room. It is computed.
int compute_largest(Workload& workload, int worker, const BatchBounds& batches) {
  const int least = workload.spec().batch;
  for (int batch = std::max(least, batches.high); batch > least;
       batch = std::max(least, batch / 2 / batches.multiple * batches.multiple)) {
    try {
      workload.make_room(batch);
      compute(workload, worker, batch, 2);
      return batch;
    } catch (const Error& error) {
      if (error.code() != ExitCode::kEnvironment) throw;
    }
  }
  workload.make_room(least);
  compute(workload, worker, least, 2);
  return least;
}

/// Returns the batches below `largest`, in the order in which they are computed.
std::vector<int> others(int trial, int largest, const BatchBounds& batches) {
  std::vector<int> sizes;
  for (int size = batches.low; size < largest; size += batches.multiple) sizes.push_back(size);
  std::stable_sort(sizes.begin(), sizes.end(), [&](int a, int b) { return std::abs(a - trial) < std::abs(b - trial); });
  return sizes;
}

}  // namespace

Prepared prepare(Workload& workload, int worker, const BatchBounds& batches, Duration at_most) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  workload.load_data();
  if (&workload.space() == &null_space()) return {};
  const int trial = workload.spec().batch;
  if (&workload.space() != device_space()) {
    compute(workload, worker, trial, 1);
    return {};
  }
  Prepared prepared{.sizes = (batches.high - batches.low) / batches.multiple + 1};
  for (const int size : others(trial, compute_largest(workload, worker, batches), batches)) {
    if (size != trial && Clock::now() - begin >= at_most) break;
    compute(workload, worker, size, 2);
    ++prepared.computed;
  }
  return prepared;
}

}  // namespace hopbench
