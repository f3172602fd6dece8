// D-PSGD: every worker keeps a model of its own and averages it with its neighbours' in every iteration.
// Lian, Zhang, Zhang, Hsieh, Zhang, Liu: "Can Decentralized Algorithms Outperform Centralized Algorithms?", NeurIPS
// 2017.
//
// One rule is enforced here: a worker finishes iteration k with the iteration-k parameters of all its in-neighbours, no
// earlier and no later ones. The weights W are doubly stochastic on every undirected graph (Metropolis), so averaging
// keeps the mean of all models. On a regular graph they are uniform.
//   parallel form (the paper's)  x_{k+1} = sum of W_ij x_j - lr * gradient at x_k: the gradient overlaps the exchange
//   serial form                  a local step first, then the average of the stepped models
#include "protocols/groups/group_average.h"
#include "protocols/node/collectives.h"
#include "protocols/node/node.h"

namespace hopbench::gossip::dpsgd {

/// Returns true if every neighbour's model weighs as much as the worker's own. A directed graph has no symmetric
/// weights.
bool uniform(const KnobValues& knobs, const Topology& graph) {
  return knobs.text("weights") == "uniform" || graph.regular() || !graph.undirected();
}

/// Sets Metropolis weights. The worker's own term comes last and gets the rest of 1.
void weigh(const Node& self, std::vector<Term>& terms) {
  double given = 0;
  for (Term& term : terms) {
    const bool own = term.sender == self.rank;
    const double weight = own ? 1 - given : metropolis_weight(self.graph(), self.rank, term.sender);
    term.weight = static_cast<float>(weight);
    given += weight;
  }
}

void dpsgd(Node& self, const KnobValues& knobs) {
  const bool parallel = knobs.text("form") == "parallel", equal = uniform(knobs, self.graph());
  const std::vector<int>& senders = self.graph().in(self.rank);
  Vec x = self.initial();
  Optimizer optimizer = self.optimizer(x.size());

  for (Iter k = 0; self.running(k); ++k) {
    self.enter(k);
    if (!parallel) groups::local_step(self, x, optimizer, k);
    for (int peer : self.graph().out(self.rank)) self.send(peer, kParams, k, share(x));
    Gradient g;
    if (parallel) g = self.gradient(x, k);  // while the parameters travel

    auto terms = terms_of(self.gather(senders, int(senders.size()), is(kParams, k), "parameters of this iteration"));
    terms.push_back({.sender = self.rank, .tag = k, .value = share(x)});
    if (!equal) weigh(self, terms);
    x = average(self, k, std::move(terms));
    if (parallel) {
      optimizer.step(x, share(g.values), k);
      self.applied(self.rank, k);
    }
    self.report(k + 1, x);
  }
}

std::string note(const Setting& setting) {
  const Topology& graph = setting.graph;
  if (graph.regular()) return "";
  const std::string where = " on topology '" + graph.name() + "', whose workers have different numbers of neighbours";
  const bool given = setting.knobs.given("weights");
  if (!graph.undirected()) {
    const bool asked = given && setting.knobs.text("weights") == "metropolis";
    return "uniform weights" + where + ": the mean of the models drifts" +
           (asked ? "; Metropolis weights need edges of both directions" : "");
  }
  if (uniform(setting.knobs, graph)) return "uniform weights" + where + ": the mean of the models drifts";
  return given ? "" : "Metropolis weights" + where + "; that is new, and weights = 'uniform' is as before";
}

const Protocol& dpsgd_protocol() {
  static const Protocol protocol{
      .name = "dpsgd",
      .summary = "decentralised SGD: each worker averages its model with its neighbours' in every iteration",
      .paper = "Lian et al.: Can Decentralized Algorithms Outperform Centralized Algorithms?, NeurIPS 2017",
      .family = Family::kGossip,
      .knobs = {choice("form", {"parallel", "serial"},
                       "parallel: the gradient overlaps the exchange; serial: step, then exchange", "memory H"),
                choice("weights", {"metropolis", "uniform"},
                       "W; metropolis: doubly stochastic on undirected graphs (on a directed one uniform); uniform: 1 "
                       "/ (in-degree + 1)",
                       "derived")},
      .body = dpsgd,
      .refuse = [](const Setting& setting) { return unconnected(setting.graph); },
      .note = note,
      .gap_bound = [](const Setting& setting) -> std::optional<std::int64_t> { return setting.graph.diameter(); },
      .source = Source::kMemory,
      .reading = "dpsgd/D1-D6"};
  return protocol;
}

}  // namespace hopbench::gossip::dpsgd
