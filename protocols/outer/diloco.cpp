// DiLoCo: many local steps, then one outer step with Nesterov momentum. Douillard, Feng, Rusu, Chhaparia, Donchev,
// Kuncoro, Ranzato, Szlam, Shen: "DiLoCo: Distributed Low-Communication Training of Language Models", arXiv 2311.08105.
//
// Rules enforced here:
//   - every worker makes H steps with an optimizer of its own, whose state stays with it;
//   - the outer gradient is x0 minus the mean of all workers' models. On every worker the outer optimizer makes the
//     same step with it;
//   - all go on from x0, which is also the model that is handed over.
// With H = 1 and an outer step of plain SGD at rate 1 this averages all models after each step.
#include "protocols/groups/group_average.h"
#include "protocols/node/node.h"
#include "protocols/outer/outer_optimizer.h"

namespace hopbench::outer::diloco {

void diloco(Node& self, const KnobValues& knobs) {
  const Iter period = knobs.integer("period");
  const OuterOptimizer::Step step = outer_step(knobs);
  Vec x0 = self.initial(), x = x0;
  Optimizer inner = self.optimizer(x.size());
  OuterOptimizer outer(self);
  for (Iter k = 0; self.running(k); ++k) {
    if (groups::inner_step(self, x, inner, k, period)) {
      const Vec mean = groups::group_mean(self, self.workers(), k, x, "models of all workers");
      outer.step(x0, share(mean), step);
      renew_inner_state(self, knobs, inner, x, k);
      take_over(self, x, x0);
    }
    self.report(k + 1, x0);
  }
}

const Protocol& diloco_protocol() {
  static const Protocol protocol{
      .name = "diloco",
      .summary = "many local steps, then an outer step with Nesterov momentum on the mean of all models",
      .paper = "Douillard et al.: DiLoCo: Distributed Low-Communication Training of Language Models, arXiv 2311.08105",
      .family = Family::kOuter,
      .knobs = with_outer_knobs({period_knob(), inner_state_knob()}),
      .body = diloco,
      .links = groups::ring_links,
      .free_run = periods<1>,
      .gap_bound = periods<1>,
      .source = Source::kMemory,
      .reading = "outer/D1-D3"};
  return protocol;
}

}  // namespace hopbench::outer::diloco
