// Gradient tracking (DSGT): every worker keeps an estimate of the mean gradient of all workers and steps by that, not
// by its own gradient. Pu, Nedic: "Distributed Stochastic Gradient Tracking Methods", Mathematical Programming, 2021;
// first in Di Lorenzo, Scutari (NEXT), 2016.
//
// Rules enforced here:
//   - y_0 = g_0, and then y_k = (W y_{k-1}) + g_k - g_{k-1}. So the mean of all y_k is that of all g_k;
//   - x_{k+1} = W (x_k - lr y_k);
//   - a message carries both vectors, of this iteration, to each neighbour. W is symmetric and doubly stochastic
//     (Metropolis).
#include <utility>

#include "protocols/gossip/mixing.h"
#include "protocols/node/collectives.h"

namespace hopbench::skewed::gradient_tracking {

/// Returns y + g - g_before. Running statistics are not tracked: they are g's.
Vec tracked(Node& self, const Vec& y, const Vec& g, const Vec& g_before) {
  return self.computed(bytes_of(4 * g.size()), [&] {
    Vec sum = combined({{1, share(y)}, {1, share(g)}, {-1, share(g_before)}});
    const std::size_t trained = self.trainable();
    if (trained < g.size()) sum.assign(trained, g.slice(trained, g.size() - trained));
    return sum;
  });
}

void gradient_tracking(Node& self, const KnobValues&) {
  const gossip::Exchange exchange = gossip::with_neighbours(self);
  Vec x = self.initial(), y(x.size(), x.space()), g_before = y;
  Optimizer optimizer = self.optimizer(x.size());
  for (Iter k = 0; self.running(k); ++k) {
    self.enter(k);
    Vec g = std::move(self.gradient(x, k).values);
    y = tracked(self, y, g, g_before);
    g_before = std::move(g);
    optimizer.step(x, share(y), k);
    self.applied(self.rank, k);
    gossip::send_to(self, k, exchange, x);
    gossip::send_second(self, k, exchange, y);
    x = gossip::averaged_with(self, k, exchange, gossip::received(self, k, exchange), x);
    y = gossip::averaged_second(self, k, exchange, y);
    self.report(k + 1, x);
  }
}

const Protocol& gradient_tracking_protocol() {
  static const Protocol protocol{
      .name = "gradient_tracking",
      .summary = "D-PSGD by an estimate of all workers' mean gradient, which is gossiped too; for skewed data",
      .paper = "Pu, Nedic: Distributed Stochastic Gradient Tracking Methods, Mathematical Programming, 2021",
      .family = Family::kSkewed,
      .body = gradient_tracking,
      .refuse = gossip::not_symmetric,
      .gap_bound = gossip::diameter_of,
      .source = Source::kMemory,
      .reading = "skewed/T1-T3"};
  return protocol;
}

}  // namespace hopbench::skewed::gradient_tracking
