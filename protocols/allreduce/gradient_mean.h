// The mean of all workers' gradients by all-reduce, while the backward pass goes on.
// Overlap: Li et al., "PyTorch Distributed: Experiences on Accelerating Data Parallel Training", VLDB 2020.
#pragma once

#include <memory>
#include <vector>

#include "protocols/node/node.h"

namespace hopbench::allreduce {

/// The mean of all gradients. Neighbouring buckets are merged up to a size and reduced as one as soon as they are
/// complete, last layer first, one after the other, in the same order on every rank. All ranks get the same bits.
class GradientMean {
 public:
  /// Reads the knobs of `knobs()`, which must be among the protocol's.
  GradientMean(Node& self, const KnobValues& knobs);
  static std::vector<Knob> knobs();
  /// Returns the links that the algorithm needs.
  static std::vector<Edge> links(const Setting& setting);

  /// Computes Node::gradient, and adds `weight` times it, divided by the number of workers, to the mean of iteration k.
  Gradient add(const Vec& x, Iter k, Samples samples = {}, float weight = 1);
  /// Waits until the whole mean of the last iteration added is here, and returns it.
  Payload result();

 private:
  struct Reduction;
  Node& self_;
  std::shared_ptr<Reduction> reduction_;  // shared with a strand that outlives the body
};

}  // namespace hopbench::allreduce
