// The mean of gradients over unequal numbers of samples, by all-reduce.
#pragma once

#include "protocols/node/micro_batches.h"
#include "protocols/node/node.h"

namespace hopbench::cut {

struct SampleMean {
  Vec values;
  std::int64_t samples = 0;  // of all workers
};

/// Weighs a gradient by its samples, relative to a batch. A whole batch keeps its bits. Charged as a vector operation.
Payload weighed_by_samples(Node& self, CutGradient&& g);

/// Makes the sum / workers of such gradients the mean over all `samples`. Whole batches of all keep their bits.
void divide_by_samples(Node& self, Vec& mean, std::int64_t samples);

/// Returns the mean over the samples of all workers, along a ring. `round` is the same on all.
SampleMean mean_over_samples(Node& self, Iter round, CutGradient&& g, const char* why);

}  // namespace hopbench::cut
