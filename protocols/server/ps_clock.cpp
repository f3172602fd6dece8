#include "protocols/server/ps_clock.h"

#include <algorithm>

#include "protocols/server/server.h"

namespace hopbench::server {

void serve(Node& self, Shard& shard, Iter most, const LeastPushed& least) {
  const bool decides = self.rank == self.servers().front();
  shard.is_a_clock(most);
  struct Held {  // an answer to worker's push of iteration k; it may leave once all have pushed `least`
    int worker;
    Iter k, least;
  };
  std::vector<Held> held;
  Iter by_all = 0;  // pushed by all present workers, as last checked
  const auto due = [&](const Held& h) { return shard.pushed(h.worker) > h.k && by_all >= h.least; };
  const auto any_due = [&] {
    by_all = shard.least_pushed();
    return std::any_of(held.begin(), held.end(), due);
  };
  for (;;) {
    self.until([&] { return self.has(is(kPush)) || self.has(is(kClock)) || any_due(); }, "a gradient");
    if (const auto push = self.take(is(kPush))) {
      const Time when = self.now();
      shard.apply(*push);
      if (decides) held.push_back({push->from, push->iter, least(*push, when)});
    }
    if (const auto decision = self.take(is(kClock)))
      held.push_back({int(decision->words[0]), decision->iter, decision->words[1]});
    by_all = shard.least_pushed();
    for (const Held& h : held) {
      if (!due(h)) continue;
      if (decides) tell_servers(self, h.k, {h.worker, h.least});
      shard.answer(h.worker, h.k);
    }
    std::erase_if(held, due);
  }
}

void serve_ssp(Node& self, Iter staleness) {
  Shard shard(self);
  serve(self, shard, staleness, [&](const Message& push, Time) { return shard.pushed(push.from) - staleness; });
}

Knob staleness_knob() {
  return knob("staleness", 3, 0, 1000, "s: a worker that has pushed over s gradients more than the slowest is held",
              "DSSP");
}

int staleness_of(const KnobValues& knobs) { return knobs.integer("staleness"); }

std::optional<std::int64_t> staleness_bound(const Setting& setting) { return staleness_of(setting.knobs) + 1; }

}  // namespace hopbench::server
