// The gradients that a worker of Hop loses in a jump (protocols/hop/hop.cpp, decision H16).
#pragma once

#include <vector>

#include "protocols/node/node.h"

namespace hopbench::hop {

/// The gradients that only the worker's own model holds, because no update with them was sent in time for any
/// neighbour. A jump that leaves the own model out loses them. They are kept only if workers jump.
class Unheard {
 public:
  explicit Unheard(Node& self) : self_(self) {}

  /// Records that the own model holds the gradient of iteration k from now on.
  void add(Iter k) { gradients_.push_back(k); }
  /// Records that an update with all of them was sent in time.
  void heard() { gradients_.clear(); }
  /// Declares all of them lost.
  void lose_all() {
    for (const Iter k : gradients_) lose(k);
    gradients_.clear();
  }
  /// Declares the gradient of iteration k lost, which the own model does not hold.
  void lose(Iter k) { self_.lost(k, "jumped before it was sent in time"); }

 private:
  Node& self_;
  std::vector<Iter> gradients_;
};

}  // namespace hopbench::hop
