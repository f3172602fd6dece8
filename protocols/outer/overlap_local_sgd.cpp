// Overlap-Local-SGD: workers are pulled towards an anchor, whose all-reduce goes on during their local steps. Wang,
// Liang, Joshi: "Overlap Local-SGD: An Algorithmic Approach to Hide Communication Delays in Distributed SGD", ICASSP
// 2020.
//
// Rules enforced here, after every H local steps:
//   - the mean of all models that was begun H steps ago is awaited, and moves the anchor:
//       v <- beta v + (mean - z)    z <- z + v
//   - each worker is pulled towards it: x <- x - alpha (x - z). The mean of what comes out is begun, and goes on during
//     the next H steps.
#include "protocols/groups/background_mean.h"
#include "protocols/groups/group_average.h"
#include "protocols/node/collectives.h"
#include "protocols/node/node.h"
#include "protocols/outer/outer_optimizer.h"

namespace hopbench::outer::overlap_local_sgd {

constexpr const char* kWhy = "the mean of all models of a round before";

void overlap_local_sgd(Node& self, const KnobValues& knobs) {
  const Iter period = knobs.integer("period");
  const double alpha = knobs.real("alpha");
  const OuterOptimizer::Step step{.lr = 1, .momentum = knobs.real("beta")};
  Vec x = self.initial(), z = x;
  Optimizer inner = self.optimizer(x.size());
  OuterOptimizer anchor(self);
  BackgroundMean mean(self);
  for (Iter k = 0; self.running(k); ++k) {
    if (groups::inner_step(self, x, inner, k, period)) {
      mean.wait(kWhy);
      if (k >= period) anchor.step(z, share(mean.taken().values), step);
      x = combined(self, {{1 - alpha, share(x)}, {alpha, share(z)}});
      mean.begin(share(x));
    }
    self.report(k + 1, x);
  }
  self.retire();
  mean.wait(kWhy);  // others still need what it sends on
}

const Protocol& overlap_local_sgd_protocol() {
  static const Protocol protocol{
      .name = "overlap_local_sgd",
      .summary = "local steps that are pulled towards an anchor, whose all-reduce goes on meanwhile",
      .paper =
          "Wang, Liang, Joshi: Overlap Local-SGD: An Algorithmic Approach to Hide Communication Delays in "
          "Distributed SGD, ICASSP 2020",
      .family = Family::kOuter,
      .knobs = {period_knob(), knob("alpha", 0.6, 0, 1, "pull towards the anchor", "memory H"),
                knob("beta", 0.7, 0, 0.999999, "momentum of the anchor", "memory H")},
      .body = overlap_local_sgd,
      .links = groups::ring_links,
      .free_run = periods<2>,
      .gap_bound = periods<2>,
      .source = Source::kMemory,
      .reading = "outer/O1-O3",
      .experimental = always<true>};  // the first pull is not checked
  return protocol;
}

}  // namespace hopbench::outer::overlap_local_sgd
