// MATCHA: D-PSGD that uses each link in a part of the iterations only, those more often that hold the graph together.
// Wang, Sahu, Yang, Joshi, Kar: "MATCHA: Speeding Up Decentralized SGD via Matching Decomposition Sampling", 2019.
//
// Rules enforced here:
//   - the links are split into matchings, in which a worker has one partner at most;
//   - an iteration uses matching j with probability p_j, independently, and all workers draw alike. The sum of all
//     p_j is `budget` times the number of matchings (protocols/gossip/matcha_plan.h);
//   - after its local step a worker averages with its partners of this iteration: x_{k+1} = (I - alpha L_k) x, where
//     L_k is the Laplacian of the links in use. Without a partner it goes on alone.
#include <algorithm>

#include "protocols/gossip/matcha_plan.h"

#include "protocols/gossip/mixing.h"
#include "protocols/groups/group_average.h"

namespace hopbench::gossip::matcha {

/// Returns the partners of iteration k, by a draw that is common to all workers.
Exchange drawn(const Node& self, const MatchaPlan& plan, Iter k) {
  Random random = self.common_random(Purpose::kPeer, k);
  std::vector<int> partners;
  for (std::size_t j = 0; j < plan.matchings.size(); ++j) {
    if (!random.chance(plan.chances[j])) continue;
    for (const auto& [a, b] : plan.matchings[j]) {
      if (a == self.rank) partners.push_back(b);
      if (b == self.rank) partners.push_back(a);
    }
  }
  std::sort(partners.begin(), partners.end());
  const std::vector<double> weights(partners.size(), plan.alpha);
  return {.to = partners,
          .from = partners,
          .weights = weights,
          .own = 1 - plan.alpha * static_cast<double>(partners.size())};
}

void matcha(Node& self, const KnobValues& knobs) {
  const MatchaPlan plan = make_matcha_plan(self.graph(), knobs.real("budget"));
  Vec x = self.initial();
  Optimizer optimizer = self.optimizer(x.size());
  for (Iter k = 0; self.running(k); ++k) {
    self.enter(k);
    groups::local_step(self, x, optimizer, k);
    x = mixed(self, k, drawn(self, plan, k), x);
    self.report(k + 1, x);
  }
}

const Protocol& matcha_protocol() {
  static const Protocol protocol{
      .name = "matcha",
      .summary = "D-PSGD over randomly drawn matchings of the graph, with a budget of links in an iteration",
      .paper =
          "Wang, Sahu, Yang, Joshi, Kar: MATCHA: Speeding Up Decentralized SGD via Matching Decomposition Sampling, "
          "arXiv 1905.09435",
      .family = Family::kGossip,
      .knobs = {knob("budget", 0.5, 0.01, 1, "communication budget: mean share of the matchings in an iteration",
                     "code; the default: paper")},
      .body = matcha,
      .refuse = not_symmetric,
      .free_run = [](const KnobValues& knobs) { return static_cast<int>(2 / knobs.real("budget")); },
      .source = Source::kAbstractAndCode,
      .reading = "matcha/M1-M4"};
  return protocol;
}

}  // namespace hopbench::gossip::matcha
