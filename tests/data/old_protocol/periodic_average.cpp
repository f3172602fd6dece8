// periodic_average: every worker trains alone and averages its model with its neighbours' every few iterations.
// An example to start from: replace this by your paper, and say which rule your protocol enforces.
//
// One rule is enforced here: every `period`-th iteration ends with the average of all neighbours' models of that same
// iteration.
#include "protocols/collectives.h"
#include "protocols/node.h"

namespace hopbench {
namespace {

// The whole protocol: what every worker does. It runs unchanged with real processes and in virtual time.
void periodic_average(Node& self, const KnobValues& knobs) {
  const int period = knobs.integer("period");
  const std::vector<int>& neighbours = self.neighbours();
  Vec x = self.initial();
  Optimizer optimizer = self.optimizer(x.size());

  for (Iter k = 0; self.running(k); ++k) {
    self.enter(k);  // checkers, rates and traces go by this
    const Gradient g = self.gradient(x, k);
    optimizer.step(x, share(g.values), k);

    if ((k + 1) % period == 0) {
      for (const int peer : neighbours) self.send(peer, kParams, k, share(x));
      // The reason becomes the "time waiting, by reason" column and the deadlock report.
      auto terms = terms_of(self.gather(neighbours, int(neighbours.size()), is(kParams, k), "a neighbour's model"));
      terms.push_back({.sender = self.rank, .tag = k, .value = share(x)});
      x = average(self, k, std::move(terms));
    }
    self.report(k + 1, x);  // a reference, not a copy; evaluated later, off the clock
  }
}

}  // namespace

const Protocol& periodic_average_protocol() {
  static const Protocol protocol{.name = "periodic_average",
                                 .summary = "local steps, and the average with the neighbours every few iterations",
                                 .paper = "none: an example",
                                 .knobs = {{.name = "period",
                                            .fallback = std::int64_t{4},
                                            .low = 1,
                                            .high = 1000,
                                            .meaning = "iterations from one average to the next",
                                            .source = "ours"}},
                                 .body = periodic_average,
                                 .reading = "periodic_average"};
  return protocol;
}

}  // namespace hopbench
