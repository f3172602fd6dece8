// Gossip-PGA: D-PSGD with an average of all workers' models after every so many iterations.
// Chen, Yuan, Zhang, Pan, Xu, Yin: "Accelerating Gossip SGD with Periodic Global Averaging", ICML 2021.
//
// One rule is enforced here: after its local step of iteration k a worker goes on with the mean of all workers' stepped
// models if k + 1 is a multiple of the period H, and with the average W of its own and its neighbours' otherwise. With
// H = 1 it is local SGD with a period of 1; if H is longer than the run, it is D-PSGD in serial form.
#include "protocols/gossip/mixing.h"
#include "protocols/groups/group_average.h"

namespace hopbench::skewed::gossip_pga {

void gossip_pga(Node& self, const KnobValues& knobs) {
  const Iter period = knobs.integer("period");
  const gossip::Exchange exchange = gossip::with_neighbours(self);
  Vec x = self.initial();
  Optimizer optimizer = self.optimizer(x.size());
  for (Iter k = 0; self.running(k); ++k) {
    self.enter(k);
    groups::local_step(self, x, optimizer, k);
    const bool global = (k + 1) % period == 0;
    x = global ? groups::group_mean(self, self.workers(), k, x, "models of all workers")
               : gossip::mixed(self, k, exchange, x);
    self.report(k + 1, x);
  }
}

std::vector<Edge> links(const Setting& setting) {
  return groups::joined(groups::ring_links(setting), groups::graph_links(setting));
}

const Protocol& gossip_pga_protocol() {
  static const Protocol protocol{
      .name = "gossip_pga",
      .summary = "D-PSGD, and an average of all models after every so many iterations",
      .paper = "Chen, Yuan, Zhang, Pan, Xu, Yin: Accelerating Gossip SGD with Periodic Global Averaging, ICML 2021",
      .family = Family::kSkewed,
      .knobs = {knob("period", 6, 1, 1'000'000, "H: iterations from one average of all to the next", "memory M")},
      .body = gossip_pga,
      .links = links,
      .on_topology = always<true>,
      .refuse = gossip::not_symmetric,
      .gap_bound = gossip::diameter_of,
      .source = Source::kMemory,
      .reading = "skewed/P1-P2"};
  return protocol;
}

}  // namespace hopbench::skewed::gossip_pga
