// Rennala SGD: minibatch SGD whose batch comes from whichever workers are fast. Tyurin, Richtarik: "Optimal Time
// Complexities of Parallel Stochastic Optimization Methods Under a Fixed Computation Model", NeurIPS 2023.
//
// The rule enforced here: an update is the mean of the first S gradients that were computed at the newest weights. A
// worker may give several of them. A gradient whose weights are no longer the newest is ignored on arrival. A worker
// gets the newest weights as soon as it has pushed, so no worker waits; the server takes all gradients that have come
// before it answers any.
#include "protocols/node/node.h"
#include "protocols/server/server.h"
#include "protocols/server/verdicts.h"

namespace hopbench::late::rennala {

int collected_for(const Setting& setting) { return setting.knobs.integer("batch", setting.workers); }

void rennala(Node& self, const KnobValues& knobs) {
  if (!self.is_server()) return server::work_marked(self, knobs);
  const int batch = collected_for({knobs, self.graph(), self.worker_count()});
  server::serve_deciding(self, {.rule =
                                    [batch](const server::Arrival& gradient) {
                                      const bool fresh = gradient.delay() == 0;
                                      return server::GradientVerdict{
                                          .used = fresh, .closes = fresh && gradient.collected + 1 == batch};
                                    },
                                .takes_all_first = true});
}

const Protocol& rennala_protocol() {
  static const Protocol protocol = server::asynchronous(
      {.name = "rennala",
       .summary = "parameter server that collects S gradients at the newest weights and ignores late ones",
       .paper =
           "Tyurin, Richtarik: Optimal Time Complexities of Parallel Stochastic Optimization Methods Under a Fixed "
           "Computation Model, NeurIPS 2023",
       .family = Family::kLate,
       .knobs = server::with_server_knobs(
           {knob("batch", 0, 0, 100000, "S: gradients in an update; 0: as many as there are workers",
                 "memory H; the default: ours")}),
       .body = rennala,
       .changes = always<Changes::kWork>,
       .gradients_per_update = collected_for,
       .source = Source::kMemory,
       .reading = "late/R1-R3"});
  return protocol;
}

}  // namespace hopbench::late::rennala
