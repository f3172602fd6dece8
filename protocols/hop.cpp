// Hop: decentralised training that tolerates stragglers by queues between neighbours.
// Luo, Lin, Zhuo, Qian: "Hop: Heterogeneity-aware Decentralized Training", ASPLOS 2019. Our reading: decisions H1-H14.
//
// Rules enforced here:
//   - a worker finishes iteration k with the iteration-k parameters of all but `backup` in-neighbours; or, with
//     `staleness` s, with each one's newest, none older than k - s, the fresher the heavier;
//   - it enters an iteration only after spending a token of each out-neighbour, who grants one whenever it enters its
//     own: so it is never more than `max_ig` iterations ahead of one (protocols/tokens.h);
//   - behind all of them by `skip_trigger` or more, it jumps, at most to the slowest one's iteration, and goes on with
//     its neighbours' average.
#include <algorithm>

#include "protocols/acknowledged.h"
#include "protocols/collectives.h"
#include "protocols/node.h"
#include "protocols/tokens.h"
#include "protocols/updates.h"

namespace hopbench {
namespace {

int max_ig(const KnobValues& knobs) { return knobs.text("gap_control") == "tokens" ? knobs.integer("max_ig") : 0; }

bool skips(const KnobValues& knobs) { return knobs.integer("max_jump") > 1; }

/// By how many iterations to advance after iteration k (H7): never past the slowest out-neighbour or the last
/// iteration. An advance by one is the ordinary one: the updates a jump of one would need are those of k, used already.
Iter stride_after(Iter k, Node& self, Tokens& tokens, const KnobValues& knobs) {
  if (!skips(knobs)) return 1;
  const Iter behind = tokens.behind();
  if (behind < knobs.integer("skip_trigger")) return 1;
  return std::max<Iter>(1, std::min({behind, Iter{knobs.integer("max_jump")}, self.end() - 1 - k}));
}

void hop(Node& self, const KnobValues& knobs) {
  const bool parallel = knobs.text("form") == "parallel";
  const bool keep_self = knobs.flag("skip_keep_self");
  const int backup = knobs.integer("backup");
  Tokens tokens(self, max_ig(knobs));
  Updates updates(self, knobs.integer("staleness"));
  Acknowledged outgoing(self, knobs.text("gap_control") == "notify_ack");
  Vec x = self.initial();
  Optimizer optimizer = self.optimizer(x.size());

  Iter stride = 1;
  for (Iter k = 0; self.running(k); k += stride) {
    if (k > 0) tokens.spend(stride);
    self.enter(k);
    if (k > 0) tokens.grant(stride, k);  // only now: granting first allows a lead of max_ig + 1 (H1)

    if (stride > 1) {  // own update absent (H8): what the last iteration made of x was never sent
      updates.announce_skipped(k - stride + 1, k - 1);
      auto terms = updates.receive_after_jump(k - 1, backup - 1);
      if (keep_self || terms.empty()) {
        terms.push_back(updates.own(k - 1, k - stride + 1, x));
      } else if (parallel) {
        self.lost(k - stride, "jumped before it was sent");
      }
      x = average(self, k, std::move(terms));
    }

    Gradient g;
    if (!parallel) {
      g = self.gradient(x, k);
      optimizer.step(x, share(g.values), k);
    }
    outgoing.send(k, share(x));
    if (parallel) g = self.gradient(x, k);  // while the parameters travel

    auto terms = updates.receive(k, backup);
    terms.push_back(updates.own(k, k, x));
    x = average(self, k, std::move(terms));
    outgoing.acknowledge(k);
    if (parallel) optimizer.step(x, share(g.values), k);
    self.applied(self.rank, k);
    self.report(k + 1, x);
    outgoing.until_sent();
    stride = stride_after(k, self, tokens, knobs);
  }
}

std::string refuse_skipping(const Setting& setting) {
  if (max_ig(setting.knobs) == 0) return "skipping counts tokens: it needs gap_control = 'tokens'";
  if (setting.knobs.integer("backup") == 0 && setting.knobs.integer("staleness") < setting.knobs.integer("max_jump"))
    return "skipping needs neighbours that tolerate missing updates: set backup to 1 or more, or staleness to max_jump";
  return "";
}

std::string refuse(const Setting& setting) {
  const int backup = setting.knobs.integer("backup"), staleness = setting.knobs.integer("staleness");
  if (!setting.graph.strongly_connected())
    return "topology '" + setting.graph.name() + "' is not strongly connected: some worker never hears of the others";
  if (backup > 0 && staleness > 0) return "backup and staleness together have no known rule: set one of them to 0";
  if (backup + staleness > 0 && setting.knobs.text("gap_control") == "notify_ack")
    return "notify_ack with backup or staleness: a slow receiver would block its senders: take tokens";
  for (int r = 0; r < setting.workers; ++r) {
    const int updates = int(setting.graph.in(r).size()) + 1;  // |N_in|, its own included
    if (backup >= updates)
      return "backup = " + std::to_string(backup) + " leaves nothing of the " + std::to_string(updates) +
             " updates that worker " + std::to_string(r) + " averages: take less";
  }
  return skips(setting.knobs) ? refuse_skipping(setting) : "";
}

int free_run(const KnobValues& knobs) { return std::max(max_ig(knobs), knobs.integer("staleness")); }

Control control(const KnobValues& knobs) { return skips(knobs) ? Control::kSchedule : Control::kLockstep; }

// Which updates are averaged after a jump, and what NOTIFY-ACK waits for, are recalled with medium confidence.
bool experimental(const KnobValues& knobs) { return skips(knobs) || knobs.text("gap_control") == "notify_ack"; }

std::vector<Knob> all_knobs() {
  return {
      {"max_ig", 5, 1, 1000, {}, "tokens a queue holds at the start: the most iterations ahead of a neighbour", "ours"},
      {"backup", 0, 0, 1000, {}, "in-neighbours (N_buw) whose update an iteration may do without", "memory M"},
      {"staleness",
       0,
       0,
       1000,
       {},
       "s: iteration k takes each neighbour's newest update, of k - s at least; 0: the standard receive",
       "memory L"},
      {"max_jump",
       0,
       0,
       1000,
       {},
       "longest jump of a worker that is behind; 0, 1: no skipping; jumps beyond max_ig never come about",
       "memory M"},
      {"skip_trigger",
       2,
       1,
       1000,
       {},
       "iterations behind every out-neighbour from which on a worker jumps",
       "memory H"},
      {"skip_keep_self", false, 0, 0, {}, "after a jump a worker's own model counts as one more share", "ours"},
      {"form",
       "parallel",
       0,
       0,
       {"parallel", "serial"},
       "parallel: the gradient overlaps the exchange; serial: step, then exchange",
       "memory H"},
      {"gap_control",
       "tokens",
       0,
       0,
       {"tokens", "queues", "notify_ack"},
       "queues: no tokens, the update queues alone bound the gap, with backup nothing does; notify_ack: one update an "
       "edge",
       "memory H"},
  };
}

}  // namespace

const Protocol& hop_protocol() {
  static const Protocol protocol{
      .name = "hop",
      .summary = "decentralised SGD with bounded iteration gaps, backup workers, bounded staleness, skipping",
      .paper = "Luo, Lin, Zhuo, Qian: Hop: Heterogeneity-aware Decentralized Training, ASPLOS 2019",
      .knobs = all_knobs(),
      .body = hop,
      .refuse = refuse,
      .control = control,
      .free_run = free_run,
      .source = Source::kMemory,
      .reading = "hop/H1-H14",
      .experimental = experimental};
  return protocol;
}

}  // namespace hopbench
