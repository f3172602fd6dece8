// A gradient in micro-batches, one after the other, so that it can be cut short: at a deadline, or when a message asks
// for it.
#pragma once

#include <functional>

#include "protocols/node/node.h"

namespace hopbench {

/// A gradient, or the first part of one.
struct CutGradient {
  Vec values;       // the mean over its samples
  int samples = 0;  // from the front of the batch; at least a micro-batch
  bool whole = false;
};

/// Computes the gradient of iteration k in `parts` micro-batches whose sizes differ by at most one sample (fewer if the
/// batch has fewer). Before each but the first, asks whether to go on. Adding a part up is charged as a vector
/// operation. One part gives the bits of Node::gradient.
CutGradient gradient_in_parts(Node& self, const Vec& x, Iter k, int parts, const std::function<bool()>& go_on);

/// Says that this worker may throw cut gradients away (Node::abandoned): figures of it count them, from 0 on.
void may_abandon(Node& self);

/// Returns the samples of a micro-batch, counted from the front of the batch.
Samples part_of(int batch, int parts, int part);

/// Returns the knob `parts`.
Knob parts_knob(int fallback);

}  // namespace hopbench
