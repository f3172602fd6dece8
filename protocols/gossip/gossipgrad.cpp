// GossipGraD: one partner per batch, and every worker's updates reach all workers within log n batches.
// Daily, Vishnu, Siegel, Warfel, Amatya: "GossipGraD: Scalable Deep Learning using Gossip Communication based
// Asynchronous Gradient Descent", arXiv 1803.05880.
//
// Rules enforced here:
//   - in iteration k worker i steps, sends its model to rank i + 2^(k mod L), and goes on with the mean of its own
//     model and that of the one rank that sent to it; L = log2 n, rounded up;
//   - rotation: after each turn of L iterations the partners change. In turn r they are m 2^(k mod L) ahead, where m is
//     the r-th number coprime to n, so that a turn still reaches all workers;
//   - the samples also go round a ring: in iteration k worker i computes on the samples of rank i + k.
#include <numeric>
#include <set>

#include "protocols/node/collectives.h"
#include "protocols/node/node.h"

namespace hopbench::gossip::gossipgrad {

class Partners {
 public:
  Partners(int n, bool rotate) : n_(n) {
    for (Iter hop = 1; hop < n; hop *= 2) hops_.push_back(hop);
    for (Iter m = 1; m < n; ++m) {
      if (m == 1 || (rotate && std::gcd(m, Iter{n}) == 1)) factors_.push_back(m);
    }
  }
  /// Returns the number of ranks by which the partner of iteration k is ahead.
  int ahead(Iter k) const {
    const auto at = static_cast<std::size_t>(k);
    return int(hops_[at % hops_.size()] * factors_[at / hops_.size() % factors_.size()] % n_);
  }
  Iter cycle() const { return Iter(hops_.size() * factors_.size()); }

 private:
  Iter n_;
  std::vector<Iter> hops_, factors_;
};

void gossipgrad(Node& self, const KnobValues& knobs) {
  const int n = self.worker_count(), batch = self.batch();
  const bool shuffle = knobs.flag("shuffle");
  const Partners partners(n, knobs.flag("rotate"));
  Vec x = self.initial();
  Optimizer optimizer = self.optimizer(x.size());

  for (Iter k = 0; self.running(k); ++k) {
    self.enter(k);
    const Samples theirs{.first = (k * n + (self.rank + k) % n) * batch, .count = batch, .shared = true};
    const Gradient g = self.gradient(x, k, shuffle ? theirs : Samples{});
    optimizer.step(x, share(g.values), k);
    if (n > 1) {
      const int ahead = partners.ahead(k), from = (self.rank + n - ahead) % n;
      self.send((self.rank + ahead) % n, kParams, k, share(x));
      auto terms = terms_of(self.gather({&from, 1}, 1, is(kParams, k), "its partner's model"));
      terms.push_back({.sender = self.rank, .tag = k, .value = share(x)});
      x = average(self, k, std::move(terms));
    }
    self.report(k + 1, x);
  }
}

std::vector<Edge> links(const Setting& setting) {
  std::set<Edge> edges;
  const Partners partners(setting.workers, setting.knobs.flag("rotate"));
  for (Iter k = 0; k < partners.cycle(); ++k) {
    for (int r = 0; r < setting.workers; ++r) edges.emplace(r, (r + partners.ahead(k)) % setting.workers);
  }
  return {edges.begin(), edges.end()};
}

const Protocol& gossipgrad_protocol() {
  static const Protocol protocol{
      .name = "gossipgrad",
      .summary = "a model to one partner an iteration, 2^i ahead; partners rotate, log n iterations reach everybody",
      .paper = "Daily, Vishnu, Siegel, Warfel, Amatya: GossipGraD, arXiv 1803.05880",
      .family = Family::kGossip,
      .knobs = {knob("rotate", true, "other partners in each turn of log n iterations", "memory M"),
                knob("shuffle", false, "samples go round a ring, a batch an iteration; not charged", "memory M")},
      .body = gossipgrad,
      .links = links,
      .moves_data = [](const KnobValues& knobs) { return knobs.flag("shuffle"); },
      .source = Source::kMemory,
      .reading = "gossipgrad/G1-G4",
      .experimental = [](const KnobValues&) { return true; }};
  return protocol;
}

}  // namespace hopbench::gossip::gossipgrad
