// GBA: asynchronous training with the global batch, and so the hyper-parameters, of synchronous training. Su, Zhang,
// Lv, Xu, Cheng, et al.: "GBA: A Tuning-free Approach to Switch between Synchronous and Asynchronous Training for
// Recommendation Models", NeurIPS 2022.
//
// Rules enforced here:
//   - a batch gets a token when its worker fetches it: the number of the global batch that it belongs to, of M batches;
//   - global step k is made once M gradients have come since step k - 1, from whichever workers: their sum over M;
//   - a gradient counts as 0 if its token is more than iota steps old. It stays among the M.
// No worker waits for another.
#include "protocols/node/node.h"
#include "protocols/server/server.h"
#include "protocols/server/verdicts.h"

namespace hopbench::late::gba {

int batches_per_step(const Setting& setting) { return setting.knobs.integer("batches", setting.workers); }

void gba(Node& self, const KnobValues& knobs) {
  const int batches = batches_per_step({knobs, self.graph(), self.worker_count()});
  if (!self.is_server()) return server::work_marked(self, knobs, self.rank / batches);
  Iter fetched = self.worker_count(), come = 0;
  const Iter tolerance = knobs.integer("tolerance");
  server::serve_deciding(self, {.rule =
                                    [&](const server::Arrival& gradient) {
                                      const bool last = ++come % batches == 0;
                                      return server::GradientVerdict{.used = gradient.delay() <= tolerance,
                                                                     .closes = last};
                                    },
                                .mark = [&](Iter) { return fetched++ / batches; },
                                .divisor = batches});
}

const Protocol& gba_protocol() {
  static const Protocol protocol = server::asynchronous(
      {.name = "gba",
       .summary =
           "parameter server, asynchronous with the global batch of synchronous training; late gradients count 0",
       .paper = "Su et al.: GBA: A Tuning-free Approach to Switch between Synchronous and Asynchronous Training for "
                "Recommendation Models, NeurIPS 2022",
       .family = Family::kLate,
       .knobs = server::with_server_knobs(
           {knob("batches", 0, 0, 100000, "M: batches in a global step; 0: as many as there are workers", "memory H"),
            knob("tolerance", 4, 0, 1'000'000, "iota: steps that a token may be old", "memory H; the default: ours")}),
       .body = gba,
       .changes = always<Changes::kWork>,
       .gradients_per_update = batches_per_step,
       .source = Source::kMemory,
       .reading = "late/G1-G4",
       .experimental = always<true>});  // which gradients make a step is not checked against the paper's text
  return protocol;
}

}  // namespace hopbench::late::gba
