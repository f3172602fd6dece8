// SGP, stochastic gradient push: decentralised SGD over directed graphs, in which a worker pushes shares of its model
// and of a weight, and need not hear from the workers that it pushes to.
// Assran, Loizou, Ballas, Rabbat: "Stochastic Gradient Push for Distributed Deep Learning", ICML 2019.
//
// Rules enforced here:
//   - a worker has x, a weight w = 1 at the start, and z = x / w, the model: gradients are taken at z and applied to x;
//   - in iteration k it gives away all of x and w: the share p = 1 / (peers + 1) of both to itself and to each of its
//     peers. So the sums of x and of w over all workers, including what is under way, are kept;
//   - it finishes iteration k with the pushes of iteration k - overlap, no earlier and no later ones (overlap > 0 is
//     Overlap-SGP), and after its last iteration takes in the pushes that are still under way.
//
// If every worker has as many receivers as senders and overlap is 0, w stays 1. Then z is x, and nothing is divided.
#include "protocols/gossip/hops.h"
#include "protocols/gossip/push_sum.h"
#include "protocols/groups/groups.h"
#include "protocols/node/collectives.h"
#include "protocols/node/node.h"

namespace hopbench::gossip::sgp {

bool on_topology(const KnobValues& knobs) { return knobs.text("graph") == "topology"; }

/// The ranks that a worker pushes to and receives pushes from, by iteration.
class Peers {
 public:
  Peers(const Node& self, const KnobValues& knobs)
      : self_(self), topology_(on_topology(knobs)), hops_(self.worker_count(), knobs.integer("peers")) {}
  std::vector<int> to(Iter k) const { return topology_ ? self_.graph().out(self_.rank) : hops_.to(self_.rank, k); }
  std::vector<int> from(Iter k) const { return topology_ ? self_.graph().in(self_.rank) : hops_.from(self_.rank, k); }
  bool balanced() const { return !topology_ || self_.graph().regular(); }

 private:
  const Node& self_;
  bool topology_;
  Hops hops_;
};

void sgp(Node& self, const KnobValues& knobs) {
  const Peers peers(self, knobs);
  const Iter overlap = knobs.integer("overlap");
  PushSum model(self, overlap > 0 || !peers.balanced());
  Optimizer optimizer = self.optimizer(model.x().size());
  const auto pushed_in = [&](Iter k) -> std::vector<Message> {
    if (k < 0) return {};
    const std::vector<int> senders = peers.from(k);
    return self.gather(senders, int(senders.size()), is(kParams, k), "what in-neighbours pushed");
  };

  Iter k = 0;
  for (; self.running(k); ++k) {
    self.enter(k);
    const Gradient g = self.gradient(model.z(), k);
    optimizer.step(model.x(), share(g.values), k);
    self.applied(self.rank, k);
    const std::vector<int> to = peers.to(k);
    const float p = 1.0f / static_cast<float>(to.size() + 1);
    model.push(to, k, p);
    model.receive(pushed_in(k - overlap), k, p);
    self.report(k + 1, model.z());
  }
  for (const Iter end = k; k < end + overlap; ++k) model.receive(pushed_in(k - overlap), k, 1.0f);
  if (overlap > 0) self.report(self.iteration() + 1, model.z());
}

std::vector<Edge> links(const Setting& setting) {
  if (!on_topology(setting.knobs)) return Hops(setting.workers, setting.knobs.integer("peers")).edges();
  return groups::graph_links(setting);
}

std::string refuse(const Setting& setting) { return on_topology(setting.knobs) ? unconnected(setting.graph) : ""; }

const Protocol& sgp_protocol() {
  static const Protocol protocol{
      .name = "sgp",
      .summary = "stochastic gradient push: weighted shares of models are pushed over a directed graph",
      .paper = "Assran, Loizou, Ballas, Rabbat: Stochastic Gradient Push for Distributed Deep Learning, ICML 2019",
      .family = Family::kGossip,
      .knobs = {knob("peers", 1, 1, 1000, "p: ranks pushed to in an iteration, j (p + 1)^i ahead, j = 1..p", "code"),
                knob("overlap", 0, 0, 1000, "tau: iterations that what was pushed is on the way before it is used",
                     "code"),
                choice("graph", {"exponential", "topology"},
                       "exponential: peers in turn, by `peers`; topology: all out-neighbours of the suite's, always",
                       "ours")},
      .body = sgp,
      .links = links,
      .on_topology = on_topology,
      .refuse = refuse,
      .free_run = [](const KnobValues& knobs) { return knobs.integer("overlap"); },
      .source = Source::kAbstractAndCode,
      .reading = "sgp/forward-hops"};
  return protocol;
}

}  // namespace hopbench::gossip::sgp
