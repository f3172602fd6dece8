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

#include "protocols/collectives.h"
#include "protocols/node.h"
#include "protocols/tokens.h"
#include "protocols/updates.h"

namespace hopbench {
namespace {

int max_ig(const KnobValues& knobs) { return knobs.text("gap_control") == "tokens" ? knobs.integer("max_ig") : 0; }

/// By how many iterations to advance after iteration k (H7): never past the slowest out-neighbour or the last
/// iteration. An advance by one is the ordinary one: the updates a jump of one would need are those of k, used already.
Iter stride_after(Iter k, Node& self, Tokens& tokens, const KnobValues& knobs) {
  if (knobs.integer("max_jump") == 0) return 1;
  const Iter behind = tokens.behind();
  if (behind < knobs.integer("skip_trigger")) return 1;
  return std::max<Iter>(1, std::min({behind, Iter{knobs.integer("max_jump")}, self.end() - 1 - k}));
}

void hop(Node& self, const KnobValues& knobs) {
  const bool parallel = knobs.text("form") == "parallel";
  const int backup = knobs.integer("backup");
  Tokens tokens(self, max_ig(knobs));
  Updates updates(self, knobs.integer("staleness"));
  Vec x = self.initial();
  Optimizer optimizer = self.optimizer(x.size());

  Iter stride = 1;
  for (Iter k = 0; self.running(k); k += stride) {
    if (k > 0) tokens.spend(stride);
    self.enter(k);
    if (k > 0) tokens.grant(stride, k);  // only now: granting first allows a lead of max_ig + 1 (H1)

    if (stride > 1) {  // own update absent: nobody sends the last one's result any more (H8)
      auto terms = updates.receive(k - 1, backup - 1);
      if (knobs.flag("skip_keep_self")) {
        terms.push_back(updates.own(k - 1, k - stride + 1, x));
      } else if (parallel) {
        self.lost(k - stride, "jumped before it was sent");
      }
      if (!terms.empty()) x = average(self, k, std::move(terms));
    }

    Gradient g;
    if (!parallel) {
      g = self.gradient(x, k);
      optimizer.step(x, share(g.values), k);
    }
    for (int peer : self.graph().out(self.rank)) self.send(peer, kParams, k, share(x));
    if (parallel) g = self.gradient(x, k);  // while the parameters travel

    auto terms = updates.receive(k, backup);
    terms.push_back(updates.own(k, k, x));
    x = average(self, k, std::move(terms));
    if (parallel) optimizer.step(x, share(g.values), k);
    self.applied(self.rank, k);
    self.report(k + 1, x);
    stride = stride_after(k, self, tokens, knobs);
  }
}

std::string refuse(const Setting& setting) {
  const int backup = setting.knobs.integer("backup"), staleness = setting.knobs.integer("staleness");
  const int max_jump = setting.knobs.integer("max_jump");
  if (!setting.graph.strongly_connected())
    return "topology '" + setting.graph.name() +
           "' is not strongly connected: some worker never hears of another's work";
  if (backup > 0 && staleness > 0)
    return "backup and staleness together: the paper gives no rule: set one of them to 0";
  for (int r = 0; r < setting.workers; ++r) {
    const int senders = int(setting.graph.in(r).size());
    if (backup > 0 && backup >= senders) {
      return "backup = " + std::to_string(backup) + ", but worker " + std::to_string(r) + " has " +
             std::to_string(senders) + " in-neighbours: it must wait for at least one of them";
    }
  }
  if (max_jump == 0) return "";
  if (max_jump == 1) return "max_jump = 1 is no jump: 0 switches skipping off, 2 is the shortest";
  if (max_ig(setting.knobs) == 0) return "skipping counts tokens: it needs gap_control = 'tokens'";
  if (!setting.graph.undirected())
    return "skipping needs an undirected graph: a jump there is bounded by what both sides sent";
  if (backup == 0 && staleness < max_jump)
    return "skipping needs neighbours that tolerate missing updates: set backup to 1 or more, or staleness to max_jump";
  return "";
}

int free_run(const KnobValues& knobs) { return std::max(max_ig(knobs), knobs.integer("staleness")); }

Control control(const KnobValues& knobs) {
  return knobs.integer("max_jump") > 0 ? Control::kSchedule : Control::kLockstep;
}

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
       "longest jump of a worker that is behind; 0: no skipping; jumps beyond max_ig never come about",
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
       {"tokens", "queues"},
       "queues: no tokens; the update queues alone bound the gap, with backup nothing does",
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
      .reading = "hop/H1-H14"};
  return protocol;
}

}  // namespace hopbench
