// D-PSGD: every worker keeps a model of its own and averages it with its neighbours' in every iteration.
// Lian, Zhang, Zhang, Hsieh, Zhang, Liu: "Can Decentralized Algorithms Outperform Centralized Algorithms?", NeurIPS
// 2017.
//
// One rule is enforced here: a worker finishes iteration k with the iteration-k parameters of all its in-neighbours,
// weighted like its own (W is uniform), no earlier and no later ones.
//   parallel form (the paper's)  x_{k+1} = sum of W_ij x_j - lr * gradient at x_k: the gradient overlaps the exchange
//   serial form                  a local step first, then the average of the stepped models
#include "protocols/collectives.h"
#include "protocols/node.h"

namespace hopbench {
namespace {

void dpsgd(Node& self, const KnobValues& knobs) {
  const bool parallel = knobs.text("form") == "parallel";
  const std::vector<int>& senders = self.graph().in(self.rank);
  Vec x = self.initial();
  Optimizer optimizer = self.optimizer(x.size());

  for (Iter k = 0; self.running(k); ++k) {
    self.enter(k);
    Gradient g;
    if (!parallel) {
      g = self.gradient(x, k);
      optimizer.step(x, share(g.values), k);
    }
    for (int peer : self.graph().out(self.rank)) self.send(peer, kParams, k, share(x));
    if (parallel) g = self.gradient(x, k);  // while the parameters travel

    auto terms = terms_of(self.gather(senders, int(senders.size()), is(kParams, k), "parameters of this iteration"));
    terms.push_back({.sender = self.rank, .tag = k, .value = share(x)});
    x = average(self, k, std::move(terms));
    if (parallel) optimizer.step(x, share(g.values), k);
    self.applied(self.rank, k);
    self.report(k + 1, x);
  }
}

std::string refuse(const Setting& setting) { return unconnected(setting.graph); }

}  // namespace

const Protocol& dpsgd_protocol() {
  static const Protocol protocol{
      .name = "dpsgd",
      .summary = "decentralised SGD: each worker averages its model with its neighbours' in every iteration",
      .paper = "Lian et al.: Can Decentralized Algorithms Outperform Centralized Algorithms?, NeurIPS 2017",
      .knobs = {choice("form", {"parallel", "serial"},
                       "parallel: the gradient overlaps the exchange; serial: step, then exchange", "memory H")},
      .body = dpsgd,
      .refuse = refuse,
      .gap_bound = [](const Setting& setting) -> std::optional<std::int64_t> { return setting.graph.diameter(); },
      .source = Source::kMemory,
      .reading = "dpsgd/uniform-weights"};
  return protocol;
}

}  // namespace hopbench
