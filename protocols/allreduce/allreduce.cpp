// Synchronous data-parallel SGD by all-reduce: every worker applies the mean of all workers' gradients.
// Ring all-reduce: Patarasuk, Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", JPDC 2009;
// overlap with the backward pass: Li et al., "PyTorch Distributed", VLDB 2020.
//
// Two rules are enforced here:
//   - a worker finishes iteration k with the mean of all workers' iteration-k gradients, the same bits on every rank,
//     so the replicas never differ;
//   - with `overlap`, a bucket of the gradient is reduced as soon as it is complete, last layer first, while the rest
//     of the backward pass goes on (protocols/allreduce/gradient_mean.h).
#include "protocols/allreduce/gradient_mean.h"
#include "protocols/node/collectives.h"
#include "protocols/node/node.h"

namespace hopbench::allreduce::allreduce {

void allreduce(Node& self, const KnobValues& knobs) {
  Vec x = self.initial();
  Optimizer optimizer = self.optimizer(x.size());
  GradientMean mean(self, knobs);

  for (Iter k = 0; self.running(k); ++k) {
    if (self.returned()) take_state(self, self.peers(), k, x);
    self.enter(k);
    mean.add(x, k);
    optimizer.step(x, mean.result(), k);
    for (int worker : self.workers()) self.applied(worker, k);
    self.report(k + 1, x);
  }
}

const Protocol& allreduce_protocol() {
  static const Protocol protocol{
      .name = "allreduce",
      .summary = "synchronous SGD: all-reduce of the gradients, overlapping the backward pass",
      .paper = "Patarasuk, Yuan: Bandwidth optimal all-reduce algorithms for clusters of workstations, JPDC 2009",
      .family = Family::kAllReduce,
      .knobs = GradientMean::knobs(),
      .body = allreduce,
      .links = GradientMean::links,
      .changes = always<Changes::kRounding>,
      .gap_bound = one_ahead,
      .source = Source::kMemory,
      .reading = "allreduce/ring"};
  return protocol;
}

}  // namespace hopbench::allreduce::allreduce
