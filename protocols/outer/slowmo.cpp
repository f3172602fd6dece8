// SlowMo: slow momentum over rounds of local steps. Wang, Tantia, Ballas, Rabbat: "SlowMo: Improving Communication-
// Efficient Distributed SGD with Slow Momentum", ICLR 2020. The base is local SGD.
//
// The rule enforced here: after every H local steps from x0, with m the mean of all models and lr the learning rate of
// the last step,
//   u <- beta u + (x0 - m) / lr         and then        x0 <- x0 - alpha lr u
// and all go on from x0, which is also the model that is handed over. With beta = 0 and alpha = 1 this is local SGD.
#include "protocols/groups/group_average.h"
#include "protocols/node/node.h"
#include "protocols/outer/outer_optimizer.h"

namespace hopbench::outer::slowmo {

void slowmo(Node& self, const KnobValues& knobs) {
  const Iter period = knobs.integer("period");
  const double alpha = knobs.real("alpha"), beta = knobs.real("beta");
  Vec x0 = self.initial(), x = x0;
  Optimizer inner = self.optimizer(x.size());
  OuterOptimizer slow(self);
  for (Iter k = 0; self.running(k); ++k) {
    if (groups::inner_step(self, x, inner, k, period)) {
      const Vec mean = groups::group_mean(self, self.workers(), k, x, "models of all workers");
      const double lr = inner.learning_rate(k);
      if (lr > 0) slow.step(x0, share(mean), {.lr = alpha * lr, .momentum = beta, .gain = 1 / lr});
      renew_inner_state(self, knobs, inner, x, k);
      take_over(self, x, x0);
    }
    self.report(k + 1, x0);
  }
}

const Protocol& slowmo_protocol() {
  static const Protocol protocol{
      .name = "slowmo",
      .summary = "local steps, then a step with slow momentum on the mean of all models",
      .paper =
          "Wang, Tantia, Ballas, Rabbat: SlowMo: Improving Communication-Efficient Distributed SGD with Slow "
          "Momentum, ICLR 2020",
      .family = Family::kOuter,
      .knobs = {period_knob(), knob("alpha", 1.0, 0, 1000, "slow learning rate", "memory H"),
                knob("beta", 0.5, 0, 0.999999, "slow momentum", "memory M"), inner_state_knob()},
      .body = slowmo,
      .links = groups::ring_links,
      .free_run = periods<1>,
      .gap_bound = periods<1>,
      .source = Source::kMemory,
      .reading = "outer/S1-S2"};
  return protocol;
}

}  // namespace hopbench::outer::slowmo
