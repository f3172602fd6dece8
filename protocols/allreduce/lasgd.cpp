// LASGD, locally asynchronous SGD: local steps go on while an all-reduce of the models is under way.
// Avidor, Tal Israel: "Locally Asynchronous Stochastic Gradient Descent for Decentralised Deep Learning", arXiv
// 2203.13085.
//
// Rules enforced here:
//   - all-reduces, called rounds, follow one another. A worker contributes its model between two of its steps, and
//     never waits for the mean;
//   - when the mean arrives, x <- x + (mean - contributed model), again between two steps. So the steps made meanwhile
//     stay, and the sum of all workers' corrections is zero;
//   - a worker that has no steps left goes on contributing, until a round finds all workers in that state. So all take
//     part in the same rounds, and end with the same model.
#include "protocols/groups/background_mean.h"
#include "protocols/groups/group_average.h"
#include "protocols/node/collectives.h"
#include "protocols/node/node.h"

namespace hopbench::allreduce::lasgd {

/// Takes in the mean of the round before, if there was one, to which `contributed` was this worker's part.
void correct(Node& self, Vec& x, const Payload& contributed, BackgroundMean& rounds) {
  if (rounds.last().round < 0) return;
  const BackgroundMean::Mean& mean = rounds.taken();
  // In this order, a worker whose model has not changed since then ends with the bits of the mean.
  x = combined(self, {{1, share(x)}, {-1, contributed}, {1, share(mean.values)}});
}

void lasgd(Node& self, const KnobValues&) {
  Vec x = self.initial();
  Optimizer optimizer = self.optimizer(x.size());
  BackgroundMean rounds(self);  // each counts the workers that have no more steps to do
  Payload contributed;
  const auto begin = [&](std::int64_t has_no_more) { rounds.begin(contributed = share(x), has_no_more); };

  Iter k = 0;
  for (; self.running(k); ++k) {
    self.enter(k);
    groups::local_step(self, x, optimizer, k);
    if (!rounds.under_way()) {
      correct(self, x, contributed, rounds);
      begin(0);
    }
    self.report(k + 1, x);
  }

  self.retire();
  for (bool last = false; !last;) {
    rounds.wait("workers that have not finished");
    last = rounds.last().ring.count == self.worker_count();
    correct(self, x, contributed, rounds);
    if (!last) begin(1);
  }
  self.report(k, x);
}

const Protocol& lasgd_protocol() {
  static const Protocol protocol{
      .name = "lasgd",
      .summary = "local steps without waiting, while an all-reduce of the models is under way",
      .paper =
          "Avidor, Tal Israel: Locally Asynchronous Stochastic Gradient Descent for Decentralised Deep Learning, "
          "arXiv 2203.13085",
      .family = Family::kAllReduce,
      .body = lasgd,
      .links = groups::ring_links,
      .control = always<Control::kSchedule>,
      .source = Source::kMemory,
      .reading = "lasgd/correction on completion",
      .experimental = always<true>};  // the correction is not checked against the paper's text
  return protocol;
}

}  // namespace hopbench::allreduce::lasgd
