// Quasi-global momentum (QG-DSGDm): D-PSGD whose momentum follows the averaged models, not a worker's own gradients.
// Lin, Karimireddy, Stich, Jaggi: "Quasi-Global Momentum: Accelerating Decentralized Deep Learning on Heterogeneous
// Data", ICML 2021.
//
// Rules enforced here, with beta the optimizer's momentum and m = 0 at the start:
//   - a local step from x_k with the momentum m:  x' = x_k - lr (beta m + g)
//   - the average with all neighbours:            x_{k+1} = W x'
//   - what happened in both:                      m <- mu m + (1 - mu) (x_k - x_{k+1}) / lr
// A step with lr = 0 leaves m as it is. Weight decay is part of g. W is symmetric and doubly stochastic (Metropolis).
#include <utility>

#include "protocols/gossip/mixing.h"
#include "protocols/node/collectives.h"

namespace hopbench::skewed::qg_dsgdm {

/// m, of trained numbers only. It takes the place of what the optimizer would have added up itself.
class QuasiGlobalMomentum {
 public:
  QuasiGlobalMomentum(Node& self, double mu, const Vec& x) : self_(self), mu_(mu), m_(self.trainable(), x.space()) {}

  /// Puts m where the optimizer keeps its momentum. It has none if optimizer.momentum is 0, nor before its first step,
  /// when m is 0 too.
  void give_to(Optimizer& optimizer, Vec& x) {
    for (Vec* momentum : optimizer.state(x)) self_.operate(bytes_of(2 * m_.size()), [&] { *momentum = m_; });
  }

  /// Takes in that x became `next`, by a step with that learning rate.
  void follow(const Vec& x, const Vec& next, double lr) {
    if (lr == 0) return;
    const double rate = (1 - mu_) / lr;
    m_ = combined(self_, {{mu_, share(m_)}, {rate, self_.trained(x)}, {-rate, self_.trained(next)}});
  }

 private:
  Node& self_;
  const double mu_;
  Vec m_;
};

void qg_dsgdm(Node& self, const KnobValues& knobs) {
  const gossip::Exchange exchange = gossip::with_neighbours(self);
  Vec x = self.initial();
  Optimizer optimizer = self.optimizer(x.size());
  QuasiGlobalMomentum momentum(self, knobs.real("mu"), x);
  for (Iter k = 0; self.running(k); ++k) {
    self.enter(k);
    const Gradient g = self.gradient(x, k);
    Vec stepped;
    self.operate(bytes_of(2 * x.size()), [&] { stepped = x; });
    momentum.give_to(optimizer, stepped);
    const double lr = static_cast<double>(optimizer.learning_rate(k));
    optimizer.step(stepped, share(g.values), k);
    self.applied(self.rank, k);
    Vec next = gossip::mixed(self, k, exchange, stepped);
    momentum.follow(x, next, lr);
    x = std::move(next);
    self.report(k + 1, x);
  }
}

const Protocol& qg_dsgdm_protocol() {
  static const Protocol protocol{
      .name = "qg_dsgdm",
      .summary = "D-PSGD with quasi-global momentum, which follows the averaged models; for skewed data",
      .paper =
          "Lin, Karimireddy, Stich, Jaggi: Quasi-Global Momentum: Accelerating Decentralized Deep Learning on "
          "Heterogeneous Data, ICML 2021",
      .family = Family::kSkewed,
      .knobs = {knob("mu", 0.9, 0, 0.999999, "share of m that an iteration keeps", "memory H")},
      .body = qg_dsgdm,
      .refuse = gossip::not_symmetric,
      .keeps_own_momentum = true,
      .gap_bound = gossip::diameter_of,
      .source = Source::kMemory,
      .reading = "skewed/Q1-Q4"};
  return protocol;
}

}  // namespace hopbench::skewed::qg_dsgdm
