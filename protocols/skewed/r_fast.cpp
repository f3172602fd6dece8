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
#include <map>
#include <utility>

#include "protocols/node/collectives.h"

namespace hopbench::skewed::r_fast {

/// Returns now - before. Of two running sums that are near each other this is exact, as adding both to z would not be.
Vec gained(const Payload& now, const Payload& before) { return combined({{1, now}, {-1, before}}); }

/// The last vectors that arrived from the in-neighbours.
class LastReceived {
 public:
  /// x: the models at the start; `tracked`: the numbers of a running sum.
  LastReceived(Node& self, const Vec& x, std::size_t tracked) : self_(self) {
    for (const int peer : self.graph().in(self.rank)) {
      Last& from = last_[peer];
      from.v = share(x);
      from.rho = from.used = share(Vec(tracked, x.space()));
    }
  }

  /// Takes in what has arrived. Throws Error if a neighbour has died.
  void refresh() {
    self_.poll();
    for (const auto& [peer, from] : last_) {
      if (!self_.died(peer)) continue;
      self_.give_up({&peer, 1}, "rank " + std::to_string(peer) + " died while it held a part of what is tracked");
    }
    for (auto& [peer, from] : last_) {
      if (auto v = self_.take_newest(is_from(kParams, peer))) from.v = std::move(v->body), from.of = v->iter;
      if (auto rho = self_.take_newest(is_from(kPart, peer))) from.rho = std::move(rho->body);
    }
  }

  /// Adds to z what the in-neighbours have given away since the last call.
  void add_given(Vec& z) {
    for (auto& [peer, from] : last_) {
      z.add(share(gained(from.rho, from.used)));
      from.used = from.rho;
    }
  }

  /// Returns the mean of v, of iteration k, and the neighbours' last ones.
  Vec averaged(Iter k, const Vec& v) const {
    std::vector<Term> terms = {{.sender = self_.rank, .tag = k, .value = share(v)}};
    for (const auto& [peer, from] : last_) terms.push_back({.sender = peer, .tag = from.of, .value = from.v});
    return average(self_, k, std::move(terms));
  }
  std::size_t count() const { return last_.size(); }

 private:
  struct Last {
    Payload v;
    Iter of = -1;  // iteration of v
    Payload rho, used;
  };
  Node& self_;
  std::map<int, Last> last_;
};

/// z and rho of a worker, for trained numbers.
class Tracker {
 public:
  Tracker(Node& self, std::size_t n, Space& space) : self_(self), z_(n, space), rho_(n, space), before_(n, space) {}

  /// Tracks the gradient g and what has arrived. Then gives away what the out-neighbours get.
  void take_in(const Payload& g, LastReceived& received) {
    const auto out = static_cast<float>(self_.graph().out(self_.rank).size());
    self_.operate(bytes_of((8 + 4 * received.count()) * z_.size()), [&] {
      z_.add(g);
      z_.axpy(-1.0f, share(before_));
      before_ = Vec::copy_of(g);
      received.add_given(z_);
      Vec given = rho_;
      given.axpy(1 / (out + 1), share(z_));
      // z loses what rho has really gained, rounding included, so the sum of both stays that of the gradients.
      z_.axpy(-out, share(gained(share(given), share(rho_))));
      rho_ = std::move(given);
    });
  }
  const Vec& z() const { return z_; }
  const Vec& rho() const { return rho_; }

 private:
  Node& self_;
  Vec z_, rho_, before_;  // before_: the gradient that is in them
};

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
