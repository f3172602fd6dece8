// Hop's token queues, which bound how far a worker may be ahead of a neighbour (protocols/hop/hop.cpp).
//
// TokenQ(o -> i) is owned by o, an out-neighbour of i: o inserts, i removes. It is kept at i as a credit, which token
// messages from o fill (decision H3). Hence |TokenQ(o -> i)| = max_ig + Iter(o) - Iter(i) >= 0, messages under way
// included.
#pragma once

#include <map>

#include "protocols/node/node.h"

namespace hopbench::hop {

class Tokens {
 public:
  /// Every queue holds max_ig tokens at the start (H4). max_ig = 0: there are no token queues, and the calls below do
  /// nothing.
  Tokens(Node& self, int max_ig);

  /// Waits until every out-neighbour's queue holds n, then takes n of each at once (H2). Out-neighbours that have left
  /// owe no tokens (H10).
  void spend(Iter n);
  /// Inserts n tokens for each in-neighbour. Must be called after iteration k has been entered (H1), never before.
  void grant(Iter n, Iter k);
  /// Returns the out-neighbours that have not entered an iteration after k, as far as their tokens tell. They may be
  /// further, because a token may be on its way.
  std::vector<int> not_past(Iter k);
  /// Returns the number of iterations by which this worker is behind the slowest out-neighbour, as far as its tokens
  /// tell; <= 0: it is not behind.
  Iter behind();

 private:
  void collect();
  bool enough(Iter n) const;

  Node& self_;
  Iter max_ig_;
  std::map<int, Iter> here_;  // out-neighbour -> tokens
};

}  // namespace hopbench::hop
