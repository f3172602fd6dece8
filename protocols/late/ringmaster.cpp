// Ringmaster ASGD: asynchronous SGD that ignores gradients which come too late. Maranjyan, Tyurin, Richtarik:
// "Ringmaster ASGD: The First Asynchronous SGD with Optimal Time Complexity", ICML 2025. This is the variant without
// stops of running work (Algorithm 4).
//
// The rule enforced here: a gradient is applied if its delay, the number of updates since its weights were sent, is
// less than R. Otherwise it is ignored, and counts as no update. Either way its worker goes on at once with the newest
// weights. Without a limit this is ps_asp.
#include "protocols/node/node.h"
#include "protocols/server/server.h"
#include "protocols/server/verdicts.h"

namespace hopbench::late::ringmaster {

void ringmaster(Node& self, const KnobValues& knobs) {
  if (!self.is_server()) return server::work_marked(self, knobs);
  const Iter limit = knobs.integer("delay", self.worker_count());
  server::serve_deciding(self, {.rule = [limit](const server::Arrival& gradient) {
                           const bool used = gradient.delay() < limit;
                           return server::GradientVerdict{.used = used, .closes = used};
                         }});
}

const Protocol& ringmaster_protocol() {
  static const Protocol protocol = server::asynchronous(
      {.name = "ringmaster",
       .summary = "parameter server, asynchronous, that ignores gradients whose delay is R updates or more",
       .paper = "Maranjyan, Tyurin, Richtarik: Ringmaster ASGD: The First Asynchronous SGD with Optimal Time "
                "Complexity, ICML 2025",
       .family = Family::kLate,
       .knobs = server::with_server_knobs({knob(
           "delay", 0, 0, 1'000'000'000, "R: the delay from which on a gradient is ignored; 0: the number of workers",
           "memory H; the default: ours")}),
       .body = ringmaster,
       .changes = always<Changes::kWork>,
       .gradients_per_update = always<1>,
       .source = Source::kMemory,
       .reading = "late/M1-M3"});
  return protocol;
}

}  // namespace hopbench::late::ringmaster
