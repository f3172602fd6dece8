// Backup workers: a synchronous parameter server that does not wait for the slowest ones.
// Chen, Monga, Bengio, Jozefowicz: "Revisiting Distributed Synchronous SGD", ICLR workshop 2016.
//
// One rule is enforced here: an update is the mean of exactly n - b gradients, the first to arrive of those computed
// with the current weights. The b later ones are dropped on arrival, and their workers go on with the newest weights.
// With b = 0 this is ps_bsp.
//
// A worker's iteration is a mini-batch. Its gradient can be in one update only, the one after the update that its
// weights come from.
#include "protocols/node/node.h"
#include "protocols/server/server.h"
#include "protocols/server/verdicts.h"

namespace hopbench::server::backup_workers {

void backup_workers(Node& self, const KnobValues& knobs) {
  if (!self.is_server()) return work_marked(self, knobs);
  const int quorum = self.worker_count() - knobs.integer("backup");
  serve_deciding(self, {.rule = [quorum](const Arrival& gradient) {
                   const bool fresh = gradient.mark == gradient.updates;
                   return GradientVerdict{
                       .used = fresh, .closes = fresh && gradient.collected + 1 == quorum, .held = fresh};
                 }});
}

std::string refuse(const Setting& setting) {
  const int backup = setting.knobs.integer("backup");
  if (backup < setting.workers) return "";
  return "backup = " + std::to_string(backup) + " leaves none of " + std::to_string(setting.workers) +
         " gradients for an update: take less";
}

Control control(const KnobValues& knobs) {
  return knobs.integer("backup") > 0 ? Control::kSchedule : Control::kLockstep;
}

Changes changes(const Setting& setting) {
  return setting.knobs.integer("backup") > 0 ? Changes::kWork : Changes::kRounding;
}

OnLoss on_loss(const KnobValues& knobs) { return knobs.integer("backup") > 0 ? OnLoss::kContinues : OnLoss::kStops; }

const Protocol& ps_backup_protocol() {
  static const Protocol protocol{
      .name = "ps_backup",
      .summary = "parameter server, synchronous with backup workers: an update waits for all but b gradients",
      .paper = "Chen, Monga, Bengio, Jozefowicz: Revisiting Distributed Synchronous SGD, ICLR workshop 2016",
      .family = Family::kServer,
      .knobs = with_server_knobs(
          {knob("backup", 1, 0, 1000, "b: gradients that an update does without; 0: ps_bsp", "memory H")}),
      .body = backup_workers,
      .extra_ranks = server_count,
      .links = server_links,
      .refuse = refuse,
      .control = control,
      .on_loss = on_loss,
      .changes = changes,
      .rejoins = always<true>,
      .source = Source::kMemory,
      .reading = "ps_backup/B1-B4"};
  return protocol;
}

}  // namespace hopbench::server::backup_workers
