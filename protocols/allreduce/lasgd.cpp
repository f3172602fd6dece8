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
#include <memory>

#include "protocols/groups/group_average.h"
#include "protocols/node/collectives.h"
#include "protocols/node/node.h"

namespace hopbench {
namespace {

/// The round that a worker takes part in: begun by its body, averaged by another strand.
struct Round {
  Iter number = -1;
  bool under_way = false;
  Payload contributed;
  Vec mean;
  double weight = 0;          // of each worker's model in the mean
  std::int64_t finished = 0;  // 1 if this worker has no more steps to do; afterwards: the number of such workers
};

void average_forever(Node& self, Round& round) {
  for (;;) {
    self.until([&] { return round.under_way; }, "the next round");
    const RingMean ring = ring_mean(self, self.workers(), round.number, round.contributed, round.mean, 0,
                                    "models of the other workers", round.finished);
    round.finished = ring.count;
    round.weight = ring.weight;
    round.under_way = false;
  }
}

void begin(Round& round, const Vec& x, bool finished) {
  ++round.number;
  round.contributed = share(x);
  round.finished = finished ? 1 : 0;
  round.under_way = true;
}

void correct(Node& self, Vec& x, const Round& round) {
  if (round.number < 0) return;
  self.operate(bytes_of(4 * x.size()), [&] {
    // In this order, a worker whose model has not changed since then ends with the bits of the mean.
    const Payload terms[] = {share(x), round.contributed, share(round.mean)};
    const float weights[] = {1.0f, -1.0f, 1.0f};
    x = weighted_sum(terms, weights);
  });
  self.averaged(round.number, self.workers(), round.weight);
}

void lasgd(Node& self, const KnobValues&) {
  Vec x = self.initial();
  Optimizer optimizer = self.optimizer(x.size());
  const auto round = std::make_shared<Round>();  // the strand outlives this body
  round->mean = Vec::uninitialised(x.size(), x.space());
  self.spawn([&self, round] { average_forever(self, *round); });

  Iter k = 0;
  for (; self.running(k); ++k) {
    self.enter(k);
    local_step(self, x, optimizer, k);
    if (!round->under_way) {
      correct(self, x, *round);
      begin(*round, x, false);
    }
    self.report(k + 1, x);
  }

  self.retire();
  for (bool last = false; !last;) {
    self.until([&] { return !round->under_way; }, "workers that have not finished");
    last = round->finished == self.worker_count();
    correct(self, x, *round);
    if (!last) begin(*round, x, true);
  }
  self.report(k, x);
}

std::vector<Edge> links(const Setting& setting) { return ring_links(all_workers(setting)); }

}  // namespace

const Protocol& lasgd_protocol() {
  static const Protocol protocol{
      .name = "lasgd",
      .summary = "local steps without waiting, while an all-reduce of the models is under way",
      .paper =
          "Avidor, Tal Israel: Locally Asynchronous Stochastic Gradient Descent for Decentralised Deep Learning, "
          "arXiv 2203.13085",
      .family = Family::kAllReduce,
      .knobs = {},
      .body = lasgd,
      .links = links,
      .control = always<Control::kSchedule>,
      .source = Source::kMemory,
      .reading = "lasgd/correction on completion",
      .experimental = always<true>};  // the correction is not checked against the paper's text
  return protocol;
}

}  // namespace hopbench
