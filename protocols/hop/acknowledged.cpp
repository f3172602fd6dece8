#include "protocols/hop/acknowledged.h"

#include <algorithm>

namespace hopbench::hop {

Acknowledged::Acknowledged(Node& self, bool on) : self_(self), on_(on), state_(std::make_shared<State>()) {
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

void Acknowledged::issue(Node& self, State& state) {
  for (auto& [receiver, edge] : state.edges) {
    if (!edge.pending || !edge.free) continue;
    edge = {.free = false, .pending = false};
    self.send(receiver, kParams, state.k, state.x);
  }
}

void Acknowledged::send(const std::vector<int>& receivers, Iter k, const Payload& x) {
  if (!on_) {
    for (int receiver : receivers) self_.send(receiver, kParams, k, x);
    return;
  }
  state_->k = k;
  state_->x = x;
  for (int receiver : receivers) state_->edges.at(receiver).pending = true;
  issue(self_, *state_);
}

void Acknowledged::until_sent() {
  if (!on_) return;
  const auto sent = [&](const auto& item) { return !item.second.pending || !self_.present(item.first); };
  self_.until([&] { return std::all_of(state_->edges.begin(), state_->edges.end(), sent); }, "an acknowledgement");
}

void Acknowledged::acknowledge(Iter k) {
  if (!on_) return;
  for (int sender : self_.graph().in(self_.rank)) self_.send(sender, kAck, k);
}

}  // namespace hopbench::hop
