// Hop: decentralised training that tolerates stragglers by queues between neighbours.
// Luo, Lin, Zhuo, Qian: "Hop: Heterogeneity-aware Decentralized Training", ASPLOS 2019. Our reading: decisions H1-H17.
//
// Rules enforced here:
//   - a worker finishes iteration k with the iteration-k parameters of all but `backup` in-neighbours; or, with
//     `staleness` s, with each one's newest parameters, none older than k - s, and fresher ones weigh more;
//   - it enters an iteration only after spending a token of each out-neighbour, which grants one for each iteration
//     that it enters. So no worker is more than `max_ig` iterations ahead of an out-neighbour (protocols/hop/tokens.h);
//   - if it is behind all of them by `skip_trigger` or more, it jumps, at most to the slowest one's iteration, and goes
//     on with its neighbours' average. In the parallel form a gradient that the jump throws away is not a step: it
//     changes neither the momentum nor the reported model (`jump_momentum`);
//   - with `backup`, if a worker dies, the survivors go on while each has lost at most `backup` of its in-neighbours
//     for good. Dead workers owe no tokens, so the bound is over the survivors' graph.
// The settings, and which of them are impossible, are in protocols/hop/hop_settings.h.
#include <algorithm>

#include "protocols/hop/acknowledged.h"
#include "protocols/hop/hop_settings.h"
#include "protocols/hop/tokens.h"
#include "protocols/hop/unheard.h"
#include "protocols/hop/updates.h"
#include "protocols/node/collectives.h"
#include "protocols/node/node.h"

namespace hopbench::hop::hop {

/// Returns the number of iterations to advance (H7): never past the slowest out-neighbour, so never past the last
/// iteration. An advance by one is not a jump, because the updates that a jump of one would need are used already.
Iter next_stride(Tokens& tokens, const HopSettings& set) {
  if (!set.skips()) return 1;
  const Iter behind = tokens.behind();
  return behind < set.skip_trigger ? 1 : std::min(behind, Iter{set.max_jump});
}

/// Returns the out-neighbours that can still use iteration k's update, as far as tokens tell. In iteration K a worker
/// uses updates of K - staleness or later. Right after a jump it also uses an update that is one iteration older, which
/// on a directed graph may still be on its way.
std::vector<int> in_time(Iter k, Node& self, Tokens& tokens, const HopSettings& set) {
  const bool late_use = set.skips() && !self.graph().undirected();
  return tokens.not_past(k + set.staleness + (late_use ? 1 : 0));
}

void hop(Node& self, const KnobValues& knobs) {
  const HopSettings set(knobs);
  Tokens tokens(self, set.max_ig);
  Updates updates(self, set.staleness, set.reuse);
  Acknowledged outgoing(self, set.acknowledges);
  Unheard unheard(self);
  const std::vector<int>& everybody = self.graph().out(self.rank);
  Vec x = self.initial();
  Optimizer optimizer = self.optimizer(x.size());

  Iter stride = 1;
  for (Iter k = 0; self.running(k); k += stride) {
    if (k > 0) tokens.spend(stride);
    self.enter(k);
    if (k > 0) tokens.grant(stride, k);  // only now: granting first allows a lead of max_ig + 1 (H1)

    if (stride > 1) {  // own update absent (H8): what the last iteration made of x was never sent
      updates.announce_jump(k);
      auto terms = updates.receive_after_jump(k - 1, set.backup - 1);
      if (set.keep_self || terms.empty()) {
        terms.push_back(updates.own(k - 1, k - stride + 1, x));
      } else {
        unheard.lose_all();
      }
      x = average(self, k, std::move(terms));
    }

    Gradient g;
    const auto step = [&] {
      optimizer.step(x, share(g.values), k);
      self.applied(self.rank, k);
      if (set.skips()) unheard.add(k);
    };
    if (!set.parallel) {
      g = self.gradient(x, k);
      step();
    }
    const std::vector<int> usable_by = set.check_receiver || set.skips() ? in_time(k, self, tokens, set) : everybody;
    if (!usable_by.empty()) unheard.heard();
    outgoing.send(set.check_receiver ? usable_by : everybody, k, share(x));
    if (set.parallel) g = self.gradient(x, k);  // while the parameters travel

    auto terms = updates.receive(k, set.backup);
    terms.push_back(updates.own(k, k, x));
    x = average(self, k, std::move(terms));
    outgoing.acknowledge(k);
    stride = set.drops() ? next_stride(tokens, set) : 1;
    if (stride > 1) {
      unheard.lose(k);
    } else if (set.parallel) {
      step();
    }
    self.report(k + 1, x);
    outgoing.until_sent();
    if (!set.drops()) stride = next_stride(tokens, set);
  }
}

int free_run(const KnobValues& knobs) {
  const HopSettings set(knobs);
  return std::max(set.max_ig, set.staleness);
}

Control control(const KnobValues& knobs) {
  return HopSettings(knobs).skips() ? Control::kSchedule : Control::kLockstep;
}

OnLoss on_loss(const KnobValues& knobs) { return HopSettings(knobs).backup > 0 ? OnLoss::kContinues : OnLoss::kStops; }

bool follows_times(const KnobValues& knobs) {
  const HopSettings set(knobs);
  return set.backup > 0 || set.staleness > 0 || set.skips();
}

// Not checked against the paper's text (medium or low confidence): which updates are averaged after a jump, what
// NOTIFY-ACK waits for, how a receiver is checked, and that an update is averaged once only.
bool experimental(const KnobValues& knobs) {
  const HopSettings set(knobs);
  return set.skips() || set.acknowledges || set.check_receiver || !set.reuse;
}

const Protocol& hop_protocol() {
  static const Protocol protocol{
      .name = "hop",
      .summary = "decentralised SGD with bounded iteration gaps, backup workers, bounded staleness, skipping",
      .paper = "Luo, Lin, Zhuo, Qian: Hop: Heterogeneity-aware Decentralized Training, ASPLOS 2019",
      .family = Family::kHop,
      .knobs = hop_knobs(),
      .body = hop,
      .refuse = hop_refuses,
      .note = hop_note,
      .control = control,
      .follows_times = follows_times,
      .on_loss = on_loss,
      .changes = hop_changes,
      .free_run = free_run,
      .gap_bound = hop_gap_bound,
      .source = Source::kMemory,
      .reading = "hop/H1-H17",
      .experimental = experimental};
  return protocol;
}

}  // namespace hopbench::hop::hop
