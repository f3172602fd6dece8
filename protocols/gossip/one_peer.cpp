// One-peer exponential graph: D-PSGD in which a worker hears of one other worker in each iteration, 1, 2, 4, ... ranks
// away in turn. Ying, Yuan, Chen, Hu, Pan, Yin: "Exponential Graph is Provably Efficient for Decentralized Deep
// Training", NeurIPS 2021.
//
// One rule is enforced here: after its local step of iteration k worker i sends its model to rank i + 2^(k mod L), and
// goes on with the mean of its own and that of rank i - 2^(k mod L), both of this iteration; L = log2 n, rounded up. If
// n is a power of two, L iterations without steps make all models their mean, exactly.
#include <set>

#include "protocols/gossip/mixing.h"
#include "protocols/groups/group_average.h"

namespace hopbench::gossip::one_peer {

/// Returns L, the number of iterations after which the distances start again.
Iter turn_of(int workers) {
  Iter turn = 0;
  while ((Iter{1} << turn) < workers) ++turn;
  return turn;
}

int ahead(int workers, Iter k) { return 1 << (k % turn_of(workers)); }

Exchange exchange_in(const Node& self, Iter k) {
  const int n = self.worker_count();
  if (n == 1) return {};
  const int hop = ahead(n, k);
  return {.to = {(self.rank + hop) % n}, .from = {(self.rank + n - hop) % n}, .weights = {1.0}, .own = 1};
}

void one_peer(Node& self, const KnobValues&) {
  Vec x = self.initial();
  Optimizer optimizer = self.optimizer(x.size());
  for (Iter k = 0; self.running(k); ++k) {
    self.enter(k);
    groups::local_step(self, x, optimizer, k);
    x = mixed(self, k, exchange_in(self, k), x);
    self.report(k + 1, x);
  }
}

std::vector<Edge> links(const Setting& setting) {
  std::set<Edge> edges;
  for (Iter k = 0; k < turn_of(setting.workers); ++k) {
    for (int r = 0; r < setting.workers; ++r) edges.emplace(r, (r + ahead(setting.workers, k)) % setting.workers);
  }
  return {edges.begin(), edges.end()};
}

const Protocol& one_peer_protocol() {
  static const Protocol protocol{
      .name = "one_peer",
      .summary = "one-peer exponential graph: the mean with one other model an iteration, 1, 2, 4, ... ranks away",
      .paper =
          "Ying, Yuan, Chen, Hu, Pan, Yin: Exponential Graph is Provably Efficient for Decentralized Deep Training, "
          "NeurIPS 2021",
      .family = Family::kGossip,
      .body = one_peer,
      .links = links,
      .gap_bound = [](const Setting& setting) -> std::optional<std::int64_t> { return turn_of(setting.workers); },
      .source = Source::kMemory,
      .reading = "one_peer/O1-O2"};
  return protocol;
}

}  // namespace hopbench::gossip::one_peer
