// Push-sum: a vector x and a weight w, of which the same shares are given away. Whatever the shares and the delays, the
// sums of x and of w over all ranks, including what is under way, are kept, and x / w tends to the mean. Kempe, Dobra,
// Gehrke: "Gossip-Based Computation of Aggregate Information", FOCS 2003.
#pragma once

#include <vector>

#include "protocols/node/node.h"

namespace hopbench::gossip {

class PushSum {
 public:
  /// Starts with x = initial, w = 1. If `weighs` is false, w is known to stay 1, so that z is x itself.
  PushSum(Node& self, bool weighs);

  Vec& x() { return x_; }
  const Vec& z() const { return weighs_ ? z_ : x_; }  // x / w, as of the last receive

  /// Sends x and w to each of `peers`, which take the share p of both.
  void push(const std::vector<int>& peers, Iter k, float p);
  /// Keeps the share p of x and w, and adds to it what the pushes bring.
  void receive(const std::vector<Message>& pushes, Iter k, float p);

 private:
  Node& self_;
  bool weighs_;
  Vec x_, z_;
  double w_ = 1;
};

}  // namespace hopbench::gossip
