// Backup workers: a synchronous parameter server that does not wait for the slowest ones.
// Chen, Monga, Bengio, Jozefowicz: "Revisiting Distributed Synchronous SGD", ICLR workshop 2016.
//
// One rule is enforced here: an update is the mean of exactly n - b gradients, the first to arrive of those computed
// with the current weights. The b later ones are dropped on arrival, and their workers go on with the newest weights.
// With b = 0 this is ps_bsp.
//
// A worker's iteration is a mini-batch. Its gradient can be in one update only, the one after the update that its
// weights come from. The number of that update goes with each push and answer. Only the first server decides which
// gradients are in; the others follow its decisions one by one, so all parts of an answer are of the same update.
#include "protocols/node/node.h"
#include "protocols/server/server.h"
#include "protocols/server/shard.h"

namespace hopbench {
namespace {

constexpr std::int64_t kLate = -1;  // instead of the number of gradients still to come in this update

void worker(Node& self, const KnobValues& knobs) {
  Iter update = 0;  // the number of updates in the weights
  const auto hear = [&](Iter k, const Words& words) {
    update = words[0];
    if (words[1] == kLate) self.lost(k, "came after enough others");
  };
  const auto back = [&](const Words& words) { update = words[0]; };
  work(self, knobs, {.say = [&](Iter) { return Words{update}; }, .hear = hear, .back = back});
}

/// Runs the first server. A decision is {worker, number of gradients still to come in this update, or kLate}.
void lead(Node& self, Shard& shard, int quorum) {
  for (Iter update = 0;; ++update) {
    const auto in = first_pushes(self, quorum, [&](const Message& push) {
      if (push.words[0] == update) return true;
      tell_servers(self, push.iter, {push.from, kLate});
      shard.answer(push.from, push.iter, {update, kLate});
      shard.drop(push);
      return false;
    });
    if (in.empty()) return;  // all workers have left
    shard.apply_mean(update, in);
    auto more = std::int64_t(in.size());
    for (const Message& push : in) tell_servers(self, push.iter, {push.from, --more});
    for (const Message& push : in) shard.answer(push.from, push.iter, {update + 1, 0});
  }
}

void follow(Node& self, Shard& shard) {
  std::vector<Message> in;
  for (Iter update = 0;;) {
    const Message decision = self.recv(is(kClock), "the first server's decision");
    const int from = static_cast<int>(decision.words[0]);
    if (decision.words[1] == kLate) {
      for (const Kind kind : {kPush, kPart})  // the gradient may still be on its way
        self.ignore({.kind = kind, .last = decision.iter, .from = from});
      shard.answer(from, decision.iter);
      continue;
    }
    // If a worker died between its pushes to two servers, its gradient is in the update at the first server only.
    auto next = self.recv_unless_left(is_from(kPush, from, decision.iter), "a gradient of this update");
    if (next) in.push_back(std::move(*next));
    if (decision.words[1] > 0) continue;
    if (!in.empty()) shard.apply_mean(update, in);
    ++update;
    for (const Message& push : in) shard.answer(push.from, push.iter);
    in.clear();
  }
}

void backup_workers(Node& self, const KnobValues& knobs) {
  if (!self.is_server()) return worker(self, knobs);
  Shard shard(self);
  if (self.rank != self.servers().front()) return follow(self, shard);
  lead(self, shard, self.worker_count() - knobs.integer("backup"));
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

OnLoss on_loss(const KnobValues& knobs) { return knobs.integer("backup") > 0 ? OnLoss::kContinues : OnLoss::kStops; }

}  // namespace

const Protocol& ps_backup_protocol() {
  static const Protocol protocol{
      .name = "ps_backup",
      .summary = "parameter server, synchronous with backup workers: an update waits for all but b gradients",
      .paper = "Chen, Monga, Bengio, Jozefowicz: Revisiting Distributed Synchronous SGD, ICLR workshop 2016",
      .family = Family::kServer,
      .knobs = with_server_knobs(
          {{"backup", 1, 0, 1000, {}, "b: gradients that an update does without; 0: ps_bsp", "memory H"}}),
      .body = backup_workers,
      .extra_ranks = server_count,
      .links = server_links,
      .refuse = refuse,
      .control = control,
      .on_loss = on_loss,
      .rejoins = always<true>,
      .source = Source::kMemory,
      .reading = "ps_backup/B1-B4"};
  return protocol;
}

}  // namespace hopbench
