// R-FAST: gradient tracking without any waiting. Zhu, Tian, Huang, Xu, He: "R-FAST: Robust Fully-Asynchronous
// Stochastic Gradient Tracking over General Topology", arXiv 2307.11617.
//
// Rules enforced here. A worker i with d out-neighbours has its model x_i, a tracker z_i, and rho_i, the sum of all
// that it ever gave away of z. In an iteration it
//   - tracks:    z' = z_i + g - (its gradient before) + the sum over in-neighbours j of (rho_j as received last -
//                rho_j as used last); then it keeps 1 / (d + 1) of z' as z_i, and adds as much to rho_i, for each
//                out-neighbour;
//   - descends:  v_i = x_i - lr z_i, and sends v_i and rho_i to its out-neighbours;
//   - averages:  x_i = the mean of v_i and the v_j received last from each in-neighbour j.
// It never waits. A worker's death ends the run, as its part of what is tracked is lost. rho is a running sum, so a
// lost message does no harm. The sum of all z, and of what is on the way, is the sum of all workers' last gradients.
#include <utility>

#include "protocols/skewed/running_sums.h"

namespace hopbench::skewed::r_fast {

void r_fast(Node& self, const KnobValues&) {
  Vec x = self.initial();
  const std::size_t trained = self.trainable();
  Optimizer optimizer = self.optimizer(x.size());
  LastReceived received(self, x, trained);
  Tracker tracker(self, trained, x.space());
  self.may_lose(kParams);
  self.may_lose(kPart);
  for (Iter k = 0; self.running(k); ++k) {
    self.enter(k);
    Vec step = std::move(self.gradient(x, k).values);  // running statistics are stepped by as they are
    received.refresh();
    tracker.take_in(self.trained(step), received);
    self.operate(bytes_of(2 * trained), [&] { step.assign(0, share(tracker.z())); });
    optimizer.step(x, share(step), k);
    self.applied(self.rank, k);
    for (const int peer : self.graph().out(self.rank)) {
      self.send(peer, kParams, k, share(x));
      self.send(peer, kPart, k, share(tracker.rho()));
    }
    x = received.averaged(k, x);
    self.report(k + 1, x);
  }
  self.ignore(is(kParams));
  self.ignore(is(kPart));
}

/// A worker steps by what it keeps of z', 1 / (d + 1) of it: the rest is on its way. So n steps are of n / (d + 1)
/// gradients, and the learning rate is multiplied by the mean of d + 1.
int gradients_per_update(const Setting& setting) {
  std::size_t all = 0;
  for (const int worker : setting.graph.ranks()) all += setting.graph.out(worker).size() + 1;
  return static_cast<int>(all);
}

const Protocol& r_fast_protocol() {
  static const Protocol protocol{
      .name = "r_fast",
      .summary = "gradient tracking without waiting: models and running sums of gradients as they arrive",
      .paper =
          "Zhu, Tian, Huang, Xu, He: R-FAST: Robust Fully-Asynchronous Stochastic Gradient Tracking over General "
          "Topology, arXiv 2307.11617",
      .family = Family::kSkewed,
      .body = r_fast,
      .refuse = [](const Setting& setting) { return unconnected(setting.graph); },
      .control = always<Control::kSchedule>,
      .loses_messages = true,
      .gradients_per_update = gradients_per_update,
      .source = Source::kMemory,
      .reading = "skewed/R1-R4"};
  return protocol;
}

}  // namespace hopbench::skewed::r_fast
