// The vectors that an R-FAST worker keeps: those that arrived last, and its tracker (protocols/skewed/r_fast.cpp).
#pragma once

#include <map>

#include "protocols/node/node.h"

namespace hopbench::skewed {

/// The last vectors that arrived from the in-neighbours.
class LastReceived {
 public:
  /// x: the models at the start; `tracked`: the numbers of a running sum.
  LastReceived(Node& self, const Vec& x, std::size_t tracked);

  /// Takes in what has arrived. Throws Error if a neighbour has died.
  void refresh();
  /// Adds to z what the in-neighbours have given away since the last call.
  void add_given(Vec& z);
  /// Returns the mean of v, of iteration k, and the neighbours' last ones.
  Vec averaged(Iter k, const Vec& v);
  std::size_t count() const { return last_.size(); }

 private:
  struct Last {
    Payload v;
    Iter of = -1;  // iteration of v
    Payload rho, used;
  };
  Node& self_;
  std::map<int, Last> last_;
};

/// z and rho of a worker, for trained numbers.
class Tracker {
 public:
  Tracker(Node& self, std::size_t n, Space& space) : self_(self), z_(n, space), rho_(n, space), before_(n, space) {}

  /// Tracks the gradient g and what has arrived. Then gives away what the out-neighbours get.
  void take_in(const Payload& g, LastReceived& received);

  const Vec& z() const { return z_; }
  const Vec& rho() const { return rho_; }

 private:
  Node& self_;
  Vec z_, rho_, before_;  // before_: the gradient that is in them
};

}  // namespace hopbench::skewed
