// K-async and K-batch-async SGD: an update waits for K gradients, and late ones are used in a later update. Dutta,
// Joshi, Ghosh, Dube, Nagpurkar: "Slow and Stale Gradients Can Win the Race: Error-Runtime Trade-offs in Distributed
// SGD", AISTATS 2018. K-async is also the schedule of PerFedS2 (without its meta-learning).
//
// Rules enforced here. An update is the mean of the next K gradients to come, whatever weights they were computed at:
//   k_async         K workers' gradients: a worker that has pushed waits for the update and goes on with its weights
//   k_batch_async   K gradients of any workers: a worker goes on at once, with the weights as they are
// With K = 1 both are ps_asp. With K = n, k_async is ps_bsp.
#include <algorithm>

#include "protocols/node/node.h"
#include "protocols/server/server.h"
#include "protocols/server/verdicts.h"

namespace hopbench::late::k_async {

int gradients_of(const Setting& setting) { return setting.knobs.integer("k", std::max(1, setting.workers / 2)); }

void collect(Node& self, const KnobValues& knobs, bool held) {
  if (!self.is_server()) return server::work_marked(self, knobs);
  const int k = gradients_of({knobs, self.graph(), self.worker_count()});
  server::serve_deciding(self, {.rule = [k, held](const server::Arrival& gradient) {
                           return server::GradientVerdict{.closes = gradient.collected + 1 == k, .held = held};
                         }});
}

void k_async(Node& self, const KnobValues& knobs) { collect(self, knobs, true); }
void k_batch_async(Node& self, const KnobValues& knobs) { collect(self, knobs, false); }

std::string refuse(const Setting& setting) {
  const int k = gradients_of(setting);
  if (k <= setting.workers) return "";
  return "k = " + std::to_string(k) + " of " + std::to_string(setting.workers) +
         " workers: an update would never have enough; take less, or k_batch_async";
}

Changes changes(const Setting& setting) {
  return gradients_of(setting) == setting.workers ? Changes::kRounding : Changes::kForm;
}

std::vector<Knob> all_knobs() {
  return server::with_server_knobs({knob("k", 0, 0, 100000, "K: gradients in an update; 0: half the number of workers",
                                         "memory H; the default: ours")});
}

constexpr std::string_view kPaper =
    "Dutta, Joshi, Ghosh, Dube, Nagpurkar: Slow and Stale Gradients Can Win the Race, AISTATS 2018";

const Protocol& k_async_protocol() {
  static const Protocol protocol =
      server::asynchronous({.name = "k_async",
                            .summary = "parameter server whose updates wait for K workers; late gradients are used",
                            .paper = kPaper,
                            .family = Family::kLate,
                            .knobs = all_knobs(),
                            .body = k_async,
                            .refuse = refuse,
                            .changes = changes,
                            .gradients_per_update = gradients_of,
                            .source = Source::kMemory,
                            .reading = "late/K1-K3"});
  return protocol;
}

const Protocol& k_batch_async_protocol() {
  static const Protocol protocol = server::asynchronous(
      {.name = "k_batch_async",
       .summary = "parameter server whose updates wait for K gradients of any workers; no worker waits",
       .paper = kPaper,
       .family = Family::kLate,
       .knobs = all_knobs(),
       .body = k_batch_async,
       .gradients_per_update = gradients_of,
       .source = Source::kMemory,
       .reading = "late/K1-K3"});
  return protocol;
}

}  // namespace hopbench::late::k_async
