// NOTIFY-ACK, the scheme before token queues that Hop compares with: one update per edge at a time
// (protocols/hop/hop.cpp).
#pragma once

#include <map>
#include <memory>

#include "protocols/node/node.h"

namespace hopbench::hop {

/// The sender of a worker's updates. A receiver acknowledges an update once it has averaged it; only then may the next
/// leave on that edge. An update that may not leave yet leaves by itself later (decision H14), so `send` never waits.
class Acknowledged {
 public:
  /// If `on` is false, updates leave at once, and nothing is acknowledged or waited for.
  Acknowledged(Node& self, bool on);

  /// Sends iteration k's update to these out-neighbours.
  void send(const std::vector<int>& receivers, Iter k, const Payload& x);
  /// Waits until that update has left for all of them: iteration k + 1 may not be entered before.
  void until_sent();
  /// Tells the in-neighbours that their updates of iteration k have been averaged.
  void acknowledge(Iter k);

 private:
  struct Edge {
    bool free = true;  // all updates on it are acknowledged
    bool pending = false;
  };
  struct State {
    std::map<int, Edge> edges;  // by out-neighbour
    Iter k = 0;                 // the update that leaves or has left
    Payload x;
  };
  static void issue(Node& self, State& state);

  Node& self_;
  bool on_;
  std::shared_ptr<State> state_;  // shared with a strand that outlives the body
};

}  // namespace hopbench::hop
