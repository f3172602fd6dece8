// A worker's pushes to parameter servers while the backward pass goes on: wait-free backpropagation. Zhang et al.:
// "Poseidon: An Efficient Communication Architecture for Distributed Deep Learning on GPU Clusters", USENIX ATC 2017.
#pragma once

#include "protocols/node.h"

namespace hopbench {

/// With overlap, each bucket of the gradient leaves as kPart as soon as it is complete, as layers do in MXNet and
/// TensorFlow; the last one, or nothing, leaves with the push itself. A server joins them (Shard::join). A sparse
/// gradient leaves with the push.
class Pushes {
 public:
  Pushes(Node& self, bool overlap) : self_(self), overlap_(overlap) {}
  /// Node::gradient of iteration k, to be pushed as that of iteration `tag`. Follow it by push() with the same tag.
  Gradient gradient(const Vec& x, Iter k, Iter tag, Samples samples = {});
  void push(Iter tag, const Vec& g, Words words = {});

 private:
  void send(Kind kind, Iter tag, const Bucket& bucket, const Vec& g, const Words& words);
  Node& self_;
  const bool overlap_;
  bool whole_ = false;  // nothing of the gradient has left
};

/// The knob `overlap`. It is off by default: a server keeps neighbouring layers, so that what all workers send of one
/// layer meets at few servers. With a server beside each worker that takes longer than to push everything at once.
Knob overlap_knob();

}  // namespace hopbench
