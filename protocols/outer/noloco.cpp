// NoLoCo: DiLoCo without an all-reduce: after local steps, workers exchange with one partner each. Kolehmainen,
// Blagoev, Donaghy, Ersoy, Nies: "NoLoCo: No-all-reduce Low Communication Training Method for Large Models", arXiv
// 2506.10911.
//
// Rules enforced here, after every H local steps from phi to theta, with D = phi - theta:
//   - all workers are paired at random, the same way on every worker. With an odd number one stays alone;
//   - with j the partner, and the mean over both:
//       delta <- alpha delta - beta mean(D) - gamma (phi - mean(phi))        phi <- phi + delta
//     The last term draws the models together, which nothing else does;
//   - the worker goes on from its own phi, which is also the model that it hands over.
#include <algorithm>
#include <numeric>

#include "protocols/groups/group_average.h"
#include "protocols/node/collectives.h"
#include "protocols/node/node.h"
#include "protocols/outer/outer_optimizer.h"

namespace hopbench::outer::noloco {

constexpr Kind kSlow = kParams, kOuter = kReply;

/// Returns the partner in that round; its own rank if it has none.
int partner_in(const Node& self, Iter round) {
  std::vector<int> order(static_cast<std::size_t>(self.worker_count()));
  std::iota(order.begin(), order.end(), 0);
  self.common_random(Purpose::kPeer, round).shuffle(std::span(order));
  const auto place = static_cast<std::size_t>(std::find(order.begin(), order.end(), self.rank) - order.begin());
  const std::size_t other = place ^ 1U;
  return other < order.size() ? order[other] : self.rank;
}

/// Running statistics have no momentum: they become the pair's mean.
void take_mean_statistics(const Node& self, Vec& phi, Vec& delta, const Payload& theta, const Payload& theirs) {
  const std::size_t trained = self.trainable(), rest = phi.size() - trained;
  if (rest == 0) return;
  const Payload terms[] = {theta.slice(trained, rest), theirs.slice(trained, rest)};
  phi.assign(trained, share(mean(terms)));
  delta.assign(trained, share(Vec(rest, delta.space())));
}

void noloco(Node& self, const KnobValues& knobs) {
  const Iter period = knobs.integer("period");
  const auto alpha = static_cast<float>(knobs.real("alpha")), beta = static_cast<float>(knobs.real("beta")),
             gamma = static_cast<float>(knobs.real("gamma"));
  Vec phi = self.initial(), theta = phi, delta(phi.size(), phi.space());
  Optimizer inner = self.optimizer(phi.size());
  for (Iter k = 0; self.running(k); ++k) {
    if (groups::inner_step(self, theta, inner, k, period)) {
      const int partner = partner_in(self, k / period);
      Payload theirs_phi = share(phi), theirs_theta = share(theta);
      if (partner != self.rank) {
        self.send(partner, kSlow, k, theirs_phi);
        self.send(partner, kOuter, k, theirs_theta);
        theirs_phi = self.recv(is_from(kSlow, partner, k), "the partner's models").body;
        theirs_theta = self.recv(is_from(kOuter, partner, k), "the partner's models").body;
      }
      // delta = alpha delta - beta (phi + phi' - theta - theta') / 2 - gamma (phi - phi') / 2
      self.operate(bytes_of(8 * phi.size()), [&] {
        delta = combined({{alpha, share(delta)},
                          {-(beta + gamma) / 2, share(phi)},
                          {(gamma - beta) / 2, theirs_phi},
                          {beta / 2, share(theta)},
                          {beta / 2, theirs_theta}});
        phi.add(share(delta));
        take_mean_statistics(self, phi, delta, share(theta), theirs_theta);
      });
      const std::vector<int> both =
          partner < self.rank ? std::vector{partner, self.rank} : std::vector{self.rank, partner};
      if (partner != self.rank) self.averaged(k, both, 0.5);
      take_over(self, theta, phi);
    }
    self.report(k + 1, phi);
  }
}

const Protocol& noloco_protocol() {
  static const Protocol protocol{
      .name = "noloco",
      .summary = "DiLoCo without an all-reduce: outer steps with one random partner each",
      .paper =
          "Kolehmainen et al.: NoLoCo: No-all-reduce Low Communication Training Method for Large Models, arXiv "
          "2506.10911",
      .family = Family::kOuter,
      .knobs = {period_knob(), knob("alpha", 0.5, 0, 0.999999, "momentum of the outer step", "memory M"),
                knob("beta", 0.7, 0, 1000, "learning rate of the outer step", "memory M"),
                knob("gamma", 0.9, 0, 2, "how strongly the models of a pair are drawn together", "memory M")},
      .body = noloco,
      .links = groups::all_pairs,
      .free_run = periods<2>,
      .source = Source::kMemory,
      .reading = "outer/N1-N3",
      .experimental = always<true>};  // the constants, and gamma's term, are not checked against the paper's text
  return protocol;
}

}  // namespace hopbench::outer::noloco
