// Consensus control: D-PSGD that repeats the exchange with the neighbours while the models are too far apart.
// Kong, Lin, Koloskova, Jaggi, Stich: "Consensus Control for Decentralized Deep Learning", ICML 2021.
//
// Rules enforced here:
//   - after a local step all workers average with their neighbours, by W (Metropolis), once or several times;
//   - in each exchange worker i finds d_i^2 = the sum of W_ij |x_j - x_i|^2, before it averages. If the root of the
//     mean of all d_i^2 is more than `ratio` times lr times phi, another exchange follows, but no more than `most` in
//     an iteration;
//   - phi is a moving average of the mean length of all workers' gradients.
// All workers have all these numbers before they decide, so all decide alike.
#include <bit>
#include <cmath>

#include "protocols/gossip/mixing.h"
#include "protocols/groups/groups.h"
#include "protocols/node/collectives.h"

namespace hopbench::skewed::consensus_control {

constexpr double kKept = 0.9;  // share of phi that an iteration keeps

struct Measured {
  double apart = 0;   // d_i^2, or the mean of them
  double length = 0;  // of a gradient
};

/// Sends this worker's numbers of an exchange to all others, and returns the means over all workers.
Measured mean_over_workers(Node& self, Iter number, const Measured& mine) {
  const Words words{std::bit_cast<std::int64_t>(mine.apart), std::bit_cast<std::int64_t>(mine.length)};
  Measured mean;  // added by ascending rank, so that all get the same bits
  for (const Message& said : exchanged(self, kClock, number, {}, words, "distances")) {
    mean.apart += std::bit_cast<double>(said.words[0]) / self.worker_count();
    mean.length += std::bit_cast<double>(said.words[1]) / self.worker_count();
  }
  return mean;
}

/// Averages x with the neighbours, and returns d_i^2.
double exchange_once(Node& self, Iter k, const gossip::Exchange& exchange, Vec& x) {
  gossip::send_to(self, k, exchange, x);
  const std::vector<Message> others = gossip::received(self, k, exchange);
  double apart = 0, weights = exchange.own;
  for (const double weight : exchange.weights) weights += weight;
  self.operate(bytes_of(3 * x.size() * others.size()), [&] {
    for (std::size_t i = 0; i < others.size(); ++i) {
      const Vec difference = combined({{1, self.trained(x)}, {-1, self.trained(others[i].body)}});
      apart += exchange.weights[i] / weights * squared_norm(share(difference));
    }
  });
  x = gossip::averaged_with(self, k, exchange, others, x);
  return apart;
}

void consensus_control(Node& self, const KnobValues& knobs) {
  const double ratio = knobs.real("ratio");
  const int most = knobs.integer("most");
  const gossip::Exchange exchange = gossip::with_neighbours(self);
  Vec x = self.initial();
  Optimizer optimizer = self.optimizer(x.size());
  double phi = -1;

  for (Iter k = 0; self.running(k); ++k) {
    self.enter(k);
    const Gradient g = self.gradient(x, k);
    Measured mine;
    self.operate(bytes_of(x.size()), [&] { mine.length = std::sqrt(squared_norm(self.trained(g.values))); });
    const double lr = static_cast<double>(optimizer.learning_rate(k));
    optimizer.step(x, share(g.values), k);
    self.applied(self.rank, k);
    for (int done = 0; done < most; ++done) {
      mine.apart = exchange_once(self, k, exchange, x);
      const Measured mean = mean_over_workers(self, k * most + done, mine);
      if (done == 0) phi = phi < 0 ? mean.length : kKept * phi + (1 - kKept) * mean.length;
      if (!(std::sqrt(mean.apart) > ratio * lr * phi)) break;
    }
    self.report(k + 1, x);
  }
}

const Protocol& consensus_control_protocol() {
  static const Protocol protocol{
      .name = "consensus_control",
      .summary = "D-PSGD that repeats the exchange while the models are too far apart; for skewed data",
      .paper = "Kong, Lin, Koloskova, Jaggi, Stich: Consensus Control for Decentralized Deep Learning, ICML 2021",
      .family = Family::kSkewed,
      .knobs = {knob("ratio", 0.5, 0, 1e9, "distance between models that is allowed, in lengths of a step", "ours"),
                knob("most", 8, 1, 1000, "exchanges in an iteration, at most", "ours")},
      .body = consensus_control,
      .links = groups::all_pairs,
      .on_topology = always<true>,
      .refuse = gossip::not_symmetric,
      .control = always<Control::kLockstepByValues>,
      .gap_bound = one_ahead,
      .source = Source::kMemory,
      .reading = "skewed/C1-C4",
      .experimental = always<true>};  // the measure of distance and its limit are not checked against the paper's text
  return protocol;
}

}  // namespace hopbench::skewed::consensus_control
