// Synchronous SGD with batches that differ: the part that LB-BSP (lb_bsp.cpp) and dynamic batching
// (dynamic_batching.cpp) have in common. An update is that of BSP; only who computes how much of it changes.
// A manager (batch_manager.h) on the first server, or beside worker 0, decides that.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "protocols/allocation.h"
#include "protocols/batch_manager.h"
#include "protocols/node.h"

namespace hopbench {

/// Called on the manager only.
using MakeRule = std::function<std::unique_ptr<BatchRule>(Node& manager, const KnobValues& knobs)>;

/// The body of every rank.
void balanced_bsp(Node& self, const KnobValues& knobs, const MakeRule& make_rule);

// Facts of a protocol with this body.
std::vector<Knob> balanced_knobs(std::vector<Knob> own);
int balanced_servers(const Setting& setting);
std::vector<Edge> balanced_links(const Setting& setting);

/// `low` and `high` as multiples of the batch that all workers begin with: low <= 1 <= high leaves the sum possible.
BatchBounds bounds_around(int batch, double low, double high);

}  // namespace hopbench
