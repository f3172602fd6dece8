// One-peer exponential graph: D-PSGD in which a worker hears of one other worker in each iteration, 1, 2, 4, ... ranks
// away in turn. Ying, Yuan, Chen, Hu, Pan, Yin: "Exponential Graph is Provably Efficient for Decentralized Deep
// Training", NeurIPS 2021.
//
// One rule is enforced here: after its local step of iteration k worker i sends its model to rank i + 2^(k mod L), and
// goes on with the mean of its own and that of rank i - 2^(k mod L), both of this iteration; L = log2 n, rounded up. If
// n is a power of two, L iterations without steps make all models their mean, exactly.
#include "protocols/gossip/hops.h"
#include "protocols/gossip/mixing.h"
#include "protocols/groups/group_average.h"

namespace hopbench::gossip::one_peer {

void one_peer(Node& self, const KnobValues&) {
  Vec x = self.initial();
  Optimizer optimizer = self.optimizer(x.size());
  const Hops hops(self.worker_count(), 1);  // 1, 2, 4, ... in turn
  for (Iter k = 0; self.running(k); ++k) {
    self.enter(k);
    groups::local_step(self, x, optimizer, k);
    x = mixed(self, k, {.to = hops.to(self.rank, k), .from = hops.from(self.rank, k), .weights = {1.0}, .own = 1}, x);
    self.report(k + 1, x);
  }
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
      .links = [](const Setting& setting) { return Hops(setting.workers, 1).edges(); },
      .gap_bound = [](const Setting& setting) -> std::optional<std::int64_t> {
        return setting.workers == 1 ? 0 : Hops(setting.workers, 1).turns();
      },
      .source = Source::kMemory,
      .reading = "one_peer/O1-O2"};
  return protocol;
}

}  // namespace hopbench::gossip::one_peer
