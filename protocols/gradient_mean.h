// The mean of all workers' gradients by all-reduce, while the backward pass goes on.
// Overlap: Li et al., "PyTorch Distributed: Experiences on Accelerating Data Parallel Training", VLDB 2020.
#pragma once

#include <memory>
#include <vector>

#include "protocols/node.h"

namespace hopbench {

/// Neighbouring buckets of the gradient are merged up to a size and reduced as one, last layer first, as soon as they
/// are complete; one after the other, in the same order on every rank. All ranks get the same bits.
class GradientMean {
 public:
  /// With the knobs of `knobs()` among the protocol's.
  GradientMean(Node& self, const KnobValues& knobs);
  static std::vector<Knob> knobs();
  /// The links that its algorithm needs.
  static std::vector<Edge> links(const Setting& setting);

  /// Node::gradient, and its share in the mean of iteration k: `weight` times it, divided by the number of workers.
  Gradient add(const Vec& x, Iter k, Samples samples = {}, float weight = 1);
  /// Waits until the whole mean of the last iteration added is here.
  Payload result();

 private:
  struct Reduction;
  Node& self_;
  std::shared_ptr<Reduction> reduction_;  // shared with a strand that outlives the body
};

}  // namespace hopbench
