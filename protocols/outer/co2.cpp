// CO2: outer steps whose all-reduce overlaps a whole round of local steps. Sun, Qin, Sun, Li, Li, Shen, Qiao, Zhong:
// "CO2: Efficient Distributed Training with Full Communication-Computation Overlap", ICLR 2024.
//
// Rules enforced here, after the local steps of round t, which began at x_t:
//   - the mean of all models that was begun at the end of round t - 1 is awaited. The outer gradient is late by a
//     round: D = x_{t-1} - mean. It is divided by the staleness gap, 1 + |x_t - x_{t-1}| / |D|;
//   - u <- beta u + D / (lr gap), cut to the norm `clip` if it is longer;   x_{t+1} = x_t - alpha lr u;
//   - the mean of the models as they are now is begun. It goes on during the next round. All go on from x_{t+1}.

#include "protocols/groups/background_mean.h"
#include "protocols/groups/group_average.h"
#include "protocols/node/collectives.h"
#include "protocols/node/node.h"
#include "protocols/outer/outer_optimizer.h"

namespace hopbench::outer::co2 {

constexpr const char* kWhy = "the mean of all models of the round before";

/// The outer state: u, and the models from which this round and the one before began.
struct Outer {
  Vec now, before, u;
  double alpha, beta, clip;
};

/// Makes the outer step with the mean of the round before. Running statistics become those of the mean.
void step(Node& self, Outer& outer, const Payload& mean, double lr) {
  const std::size_t n = outer.now.size(), trained = self.trainable();
  self.operate(bytes_of(12 * n), [&] {
    const Vec late = combined({{1, self.trained(outer.before)}, {-1, self.trained(mean)}});
    const Vec moved = combined({{1, self.trained(outer.now)}, {-1, self.trained(outer.before)}});
    const double length = late.norm(), gap = length > 0 ? 1 + moved.norm() / length : 1;
    outer.u.scale(static_cast<float>(outer.beta));
    outer.u.axpy(static_cast<float>(1 / (lr * gap)), share(late));
    if (const double norm = outer.u.norm(); outer.clip > 0 && norm > outer.clip)
      outer.u.scale(static_cast<float>(outer.clip / norm));
    outer.before = outer.now;
    Vec next = Vec::copy_of(self.trained(outer.now));
    next.axpy(static_cast<float>(-outer.alpha * lr), share(outer.u));
    outer.now.assign(0, share(next));
    if (trained < n) outer.now.assign(trained, mean.slice(trained, n - trained));
  });
}

void co2(Node& self, const KnobValues& knobs) {
  const Iter period = knobs.integer("period");
  Vec x = self.initial();
  Outer outer{x, x, Vec(self.trainable(), x.space()), knobs.real("alpha"), knobs.real("beta"), knobs.real("clip")};
  Optimizer inner = self.optimizer(x.size());
  BackgroundMean mean(self);
  for (Iter k = 0; self.running(k); ++k) {
    if (groups::inner_step(self, x, inner, k, period)) {
      mean.wait(kWhy);
      const bool first = k < period;
      const Vec before = first ? Vec() : Vec::copy_of(share(mean.taken().values));
      mean.begin(share(x));
      const double lr = inner.learning_rate(k);
      if (!first && lr > 0) step(self, outer, share(before), lr);
      take_over(self, x, outer.now);
    }
    self.report(k + 1, outer.now);
  }
  self.retire();
  mean.wait(kWhy);  // others still need what it sends on
}

const Protocol& co2_protocol() {
  static const Protocol protocol{
      .name = "co2",
      .summary = "outer steps with the mean of the round before, whose all-reduce overlaps a round of local steps",
      .paper = "Sun et al.: CO2: Efficient Distributed Training with Full Communication-Computation Overlap, ICLR 2024",
      .family = Family::kOuter,
      .knobs = {period_knob(), knob("alpha", 1.0, 0, 1000, "outer learning rate", "memory L"),
                knob("beta", 0.2, 0, 0.999999, "outer momentum", "memory L"),
                knob("clip", 0.0, 0, 1e9, "longest u (norm); 0: any", "memory L")},
      .body = co2,
      .links = groups::ring_links,
      .free_run = periods<2>,
      .gap_bound = periods<2>,
      .source = Source::kMemory,
      .reading = "outer/C1-C3",
      .experimental = always<true>};  // the staleness gap and the clipping are not checked against the paper's text
  return protocol;
}

}  // namespace hopbench::outer::co2
