// DSGD-AAU: a worker averages with those neighbours that are done when it is, and how many it waits for is decided anew
// each time. Xiong, Yan, Wang, Li: "Straggler-Resilient Decentralized Learning via Adaptive Asynchronous Updates",
// MobiHoc 2024.
//
// Rules enforced here:
//   - a worker that has made its local step waits. As soon as two neighbours wait whose link has not been used in this
//     epoch (protocols/gossip/path_search.h), all that wait go on: each averages with its neighbours among them, with
//     Metropolis weights in the graph of those workers. The others go on computing;
//   - an epoch ends when its links connect all workers. So within an epoch the work of each worker reaches all.
// A controller, a rank of its own, decides. A dead worker is in no further average; one that was under way when it died
// goes on without it.
#include "protocols/gossip/active_rounds.h"
#include "protocols/groups/group_average.h"
#include "protocols/groups/groups.h"

namespace hopbench::gossip::dsgd_aau {

void dsgd_aau(Node& self, const KnobValues&) {
  if (self.is_server()) return control_rounds(self, Rounds::kOnTheirOwn);
  const int controller = self.servers().front();
  Vec x = self.initial();
  Optimizer optimizer = self.optimizer(x.size());
  for (Iter k = 0; self.running(k); ++k) {
    self.enter(k);
    groups::local_step(self, x, optimizer, k);
    self.send(controller, kRequest, k);
    const Message answer = self.recv(is_from(kReply, controller), "neighbours that are done");
    average_active(self, k, answer.iter, active_neighbours(self.graph(), self.rank, groups::members_in(answer.words)),
                   x);
    self.report(k + 1, x);
  }
}

const Protocol& dsgd_aau_protocol() {
  static const Protocol protocol{
      .name = "dsgd_aau",
      .summary = "decentralised SGD: workers that are done average as soon as a link is new in its epoch",
      .paper =
          "Xiong, Yan, Wang, Li: Straggler-Resilient Decentralized Learning via Adaptive Asynchronous Updates, MobiHoc "
          "2024",
      .family = Family::kGossip,
      .body = dsgd_aau,
      .extra_ranks = always<1>,
      .links = links_with_controller,
      .on_topology = always<true>,
      .refuse = too_many_or_not_symmetric,
      .control = always<Control::kSchedule>,
      .on_loss = always<OnLoss::kContinues>,
      .source = Source::kMemory,
      .reading = "dsgd_aau/A1-A4",
      .experimental = always<true>};  // which links count as new is not checked against the paper's text
  return protocol;
}

}  // namespace hopbench::gossip::dsgd_aau
