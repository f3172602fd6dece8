// Synchronous SGD with batches that differ: the part that LB-BSP (lb_bsp.cpp) and dynamic batching
// (dynamic_batching.cpp) have in common. An update is that of BSP; only who computes how much of it changes.
// A manager (batch_manager.h) on the first server, or beside worker 0, decides that.
#pragma once

#include <functional>
#include <memory>

#include "protocols/allreduce/allocation.h"
#include "protocols/allreduce/batch_manager.h"
#include "protocols/node/node.h"

namespace hopbench::allreduce {

/// Called on the manager only.
using MakeRule = std::function<std::unique_ptr<BatchRule>(Node& manager, const KnobValues& knobs)>;

/// The body of every rank.
void balanced_bsp(Node& self, const KnobValues& knobs, const MakeRule& make_rule);

/// Returns the protocol with the facts and knobs that all with this body have, besides its own knobs.
Protocol with_balanced_batches(Protocol own);
/// Returns the batches that a worker may be given if the rule keeps to `bounds`: the others have their least at least.
BatchBounds balanced_batches(const Setting& setting, BatchBounds bounds);

/// `low` and `high` are in batches that all workers begin with: low <= 1 <= high leaves the sum possible. Both are
/// rounded towards that batch, to multiples of the knob `multiple`.
BatchBounds bounds_around(int batch, double low, double high, const KnobValues& knobs);

}  // namespace hopbench::allreduce
