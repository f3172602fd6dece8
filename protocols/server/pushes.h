// A worker's pushes to parameter servers while the backward pass goes on: wait-free backpropagation. Zhang et al.:
// "Poseidon: An Efficient Communication Architecture for Distributed Deep Learning on GPU Clusters", USENIX ATC 2017.
#pragma once

#include <vector>

#include "protocols/node/node.h"
#include "protocols/server/stripes.h"

namespace hopbench::server {

/// A worker's pushes. With overlap, each bucket of the gradient is sent as kPart as soon as it is complete, as MXNet
/// and TensorFlow send layers. The last bucket is sent with the push itself. A server joins the parts. A
/// model of one bucket, such as one with sparse gradients, is pushed whole.
class Pushes {
 public:
  Pushes(Node& self, bool overlap);
  /// Computes the gradient of iteration k (Node::gradient). Call push() with the same `tag` next.
  Gradient gradient(const Vec& x, Iter k, Iter tag, Samples samples = {});
  void push(Iter tag, const Vec& g, Words words = {});

 private:
  void send(Kind kind, Iter tag, std::size_t bucket, const Vec& g, const Words& words);
  Node& self_;
  const bool overlap_;
  std::vector<Stripes> stripes_;  // by server
  bool whole_ = false;            // no part of the gradient has been sent
};

/// Server's side: returns the body of a push to the server with these stripes, joined with the parts that came before
/// it. The copy is not charged, because a real server receives each part in its place.
Payload joined(Node& self, const Stripes& stripes, const Message& push, Space& space);
/// Server's side: drops the parts of a push that is not used.
void drop_parts(Node& self, const Stripes& stripes, const Message& push);

/// Returns the knob `overlap`.
Knob overlap_knob();

}  // namespace hopbench::server
