// Local SGD: every worker trains a model of its own and only now and then all of them are averaged.
// Stich: "Local SGD Converges Fast and Communicates Little", ICLR 2019.
//
// One rule is enforced here: after every `period` local steps (the paper's H) each worker goes on with the mean of all
// workers' models of that iteration. In between it hears of no other worker. With H = 1 this is synchronous SGD that
// averages parameters instead of gradients.
#include "protocols/groups/group_average.h"
#include "protocols/node/node.h"

namespace hopbench::allreduce::local_sgd {

void local_sgd(Node& self, const KnobValues& knobs) {
  const Iter period = knobs.integer("period");
  Vec x = self.initial();
  Optimizer optimizer = self.optimizer(x.size());
  for (Iter k = 0; self.running(k); ++k) {
    if (groups::inner_step(self, x, optimizer, k, period))
      x = groups::group_mean(self, self.workers(), k, x, "models of all workers");
    self.report(k + 1, x);
  }
}

const Protocol& local_sgd_protocol() {
  static const Protocol protocol{
      .name = "local_sgd",
      .summary = "local steps, and an average of all models after every so many",
      .paper = "Stich: Local SGD Converges Fast and Communicates Little, ICLR 2019",
      .family = Family::kAllReduce,
      .knobs = {knob("period", 4, 1, 1'000'000, "H: local steps from one average to the next", "ours")},
      .body = local_sgd,
      .links = groups::ring_links,
      .free_run = periods<1>,
      .gap_bound = periods<1>,
      .source = Source::kMemory,
      .reading = "local_sgd/H-steps"};
  return protocol;
}

}  // namespace hopbench::allreduce::local_sgd
