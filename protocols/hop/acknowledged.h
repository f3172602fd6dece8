// NOTIFY-ACK, the scheme before token queues that Hop compares with: one update per edge at a time
// (protocols/hop/hop.cpp).
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <vector>

#include "protocols/node/node.h"

namespace hopbench::hop {

/// The sender of a worker's updates. A receiver acknowledges an update once it has averaged it; only then may the next
/// leave on that edge. An update that may not leave yet leaves by itself later (decision H14), so `send` never waits.
class Acknowledged {
 public:
  /// If `on` is false, updates leave at once, and nothing is acknowledged or waited for.
  Acknowledged(Node& self, bool on) : self_(self), on_(on), state_(std::make_shared<State>()) {
    if (!on) return;
    for (int receiver : self.graph().out(self.rank)) state_->edges[receiver] = {};
    self.spawn([&self, state = state_] {
      for (;;) {
        const Message ack = self.recv(is(kAck), "an acknowledgement");
        state->edges.at(ack.from).free = true;
        issue(self, *state);
      }
    });
  }

  /// Sends iteration k's update to these out-neighbours.
  void send(const std::vector<int>& receivers, Iter k, const Payload& x) {
    if (!on_) {
      for (int receiver : receivers) self_.send(receiver, kParams, k, x);
      return;
    }
    state_->k = k;
    state_->x = x;
    for (int receiver : receivers) state_->edges.at(receiver).pending = true;
    issue(self_, *state_);
  }

  /// Waits until that update has left for all of them: iteration k + 1 may not be entered before.
  void until_sent() {
    if (!on_) return;
    const auto sent = [&](const auto& item) { return !item.second.pending || !self_.present(item.first); };
    self_.until([&] { return std::all_of(state_->edges.begin(), state_->edges.end(), sent); }, "an acknowledgement");
  }

  /// Tells the in-neighbours that their updates of iteration k have been averaged.
  void acknowledge(Iter k) {
    if (!on_) return;
    for (int sender : self_.graph().in(self_.rank)) self_.send(sender, kAck, k);
  }

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
  static void issue(Node& self, State& state) {
    for (auto& [receiver, edge] : state.edges) {
      if (!edge.pending || !edge.free) continue;
      edge = {.free = false, .pending = false};
      self.send(receiver, kParams, state.k, state.x);
    }
  }

  Node& self_;
  bool on_;
  std::shared_ptr<State> state_;  // shared with a strand that outlives the body
};

}  // namespace hopbench::hop
