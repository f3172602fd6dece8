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
#include <bit>

#include "protocols/gossip/hops.h"
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

/// Push-sum: a vector x and a weight w, of which the same shares are given away. Whatever the shares and the delays,
/// the sums of x and of w over all ranks, including what is under way, are kept, and x / w tends to the mean. Kempe,
/// Dobra, Gehrke: "Gossip-Based Computation of Aggregate Information", FOCS 2003.
class PushSum {
 public:
  /// Starts with x = initial, w = 1. If `weighs` is false, w is known to stay 1, so that z is x itself.
  PushSum(Node& self, bool weighs) : self_(self), weighs_(weighs), x_(self.initial()) {
    if (weighs_) z_ = self.initial();
  }

  Vec& x() { return x_; }
  const Vec& z() const { return weighs_ ? z_ : x_; }  // x / w, as of the last receive

  /// Sends x and w to each of `peers`, which take the share p of both.
  void push(const std::vector<int>& peers, Iter k, float p) {
    const Words words{std::bit_cast<std::int64_t>(w_), std::bit_cast<std::int64_t>(double{p})};
    for (const int peer : peers) self_.send(peer, kParams, k, share(x_), words);
  }

  /// Keeps the share p of x and w, and adds to it what the pushes bring.
  void receive(const std::vector<Message>& pushes, Iter k, float p) {
    std::vector<Term> terms = terms_of(pushes);
    double w = p * w_;
    for (std::size_t i = 0; i < pushes.size(); ++i) {
      const auto p_of_sender = std::bit_cast<double>(pushes[i].words[1]);
      terms[i].weight = static_cast<float>(p_of_sender);
      w += p_of_sender * std::bit_cast<double>(pushes[i].words[0]);
    }
    terms.push_back({.sender = self_.rank, .tag = k, .value = share(x_), .weight = p});
    x_ = sum(self_, k, std::move(terms));
    w_ = w;
    if (weighs_) z_ = combined(self_, {{1 / w_, share(x_)}});
  }

 private:
  Node& self_;
  bool weighs_;
  Vec x_, z_;
  double w_ = 1;
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
