// DyBW, dynamic backup workers: rounds of D-PSGD that end as soon as enough neighbours are done; the work of the others
// is dropped. The predecessor of DSGD-AAU. Xiong, Yan, Singh, Li: "Straggler-Resilient Distributed Machine Learning
// with Dynamic Backup Workers", arXiv 2102.06280.
//
// Rules enforced here:
//   - all workers begin iteration k together. It ends as soon as two neighbours are done whose link has not been
//     used in this epoch (protocols/gossip/path_search.h). So the number of neighbours that a worker waits for is
//     dynamic;
//   - those that are done step, and average with their neighbours among them, by Metropolis weights;
//   - the others stop computing, keep their models, and begin iteration k + 1. What they computed is lost.
#include <algorithm>

#include "protocols/gossip/active_rounds.h"
#include "protocols/groups/groups.h"
#include "protocols/node/micro_batches.h"

namespace hopbench::gossip::dybw {

void train(Node& self, const KnobValues& knobs) {
  const int controller = self.servers().front(), parts = knobs.integer("parts");
  Vec x = self.initial();
  may_abandon(self);
  Optimizer optimizer = self.optimizer(x.size());
  for (Iter k = 0; self.running(k); ++k) {
    self.enter(k);
    const CutGradient g = gradient_in_parts(self, x, k, parts, [&] {
      self.poll();
      return !self.has(is(kReply, k));
    });
    if (g.whole) self.send(controller, kRequest, k);
    const Message answer = self.recv(is_from(kReply, controller, k), "neighbours that are done");
    const std::vector<int> active = groups::members_in(answer.words);
    if (std::binary_search(active.begin(), active.end(), self.rank)) {
      optimizer.step(x, share(g.values), k);
      self.applied(self.rank, k);
      average_active(self, k, k, active_neighbours(self.graph(), self.rank, active), x);
    } else if (g.whole) {
      self.lost(k, "the round was over");
    } else {
      self.abandoned();
    }
    self.report(k + 1, x);
  }
}

void dybw(Node& self, const KnobValues& knobs) {
  return self.is_server() ? control_rounds(self, Rounds::kTogether) : train(self, knobs);
}

const Protocol& dybw_protocol() {
  static const Protocol protocol{
      .name = "dybw",
      .summary = "D-PSGD in rounds that end when enough neighbours are done; the work of the others is dropped",
      .paper =
          "Xiong, Yan, Singh, Li: Straggler-Resilient Distributed Machine Learning with Dynamic Backup Workers, arXiv "
          "2102.06280",
      .family = Family::kGossip,
      .knobs = {parts_knob(8)},
      .body = dybw,
      .extra_ranks = always<1>,
      .links = links_with_controller,
      .on_topology = always<true>,
      .refuse = too_many_or_not_symmetric,
      .follows_times = always<true>,
      .changes = always<Changes::kWork>,
      .source = Source::kMemory,
      .reading = "dybw/B1-B3",
      .experimental = always<true>};  // what becomes of late work is not checked against the paper's text
  return protocol;
}

}  // namespace hopbench::gossip::dybw
