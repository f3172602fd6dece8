// Which invariants apply to a trial.
#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "tests/checkers/checkers.h"

namespace hopbench::checkers {
namespace {

void add_gossip(const CheckedRun& run, std::vector<CheckerPtr>& list) {
  const std::string control = run.text("gap_control");
  const bool stale = run.integer("staleness") > 0, backup = run.integer("backup") > 0;
  list.push_back(gap_bound(run));
  list.push_back(updates_sent(run));
  list.push_back(stepped_once(run));
  list.push_back(stale ? staleness(run) : quorum(run));
  list.push_back(reduce_weights(run));
  if (control == "notify_ack") list.push_back(one_unacknowledged(run));
  if (run.integer("max_jump") > 1) list.push_back(jump_bound(run));
  const Graph graph(run);
  const bool balanced = graph.regular() || run.text("weights") == "metropolis";  // doubly stochastic weights
  if (!stale && !backup && run.integer("max_jump") <= 1 && run.iterations > 0 && graph.undirected() && balanced) {
    list.push_back(mean_kept(run));
  }
  if (!run.virtual_time) return;
  if (run.integer("max_jump") > 1) list.push_back(heard_or_lost(run));
  if (control == "tokens") list.push_back(token_count(run));
  if (control == "tokens" || !backup) list.push_back(queue_capacity(run));
}

// Only `capped` bounds anything.
void add_dssp(const CheckedRun& run, std::vector<CheckerPtr>& list) {
  const std::int64_t most = run.integer("s_l") + run.integer("r_max");
  if (run.text("mode") == "capped") {
    list.push_back(lead_bound(run, most + 1));
    list.push_back(ssp_bound(run, most));
  }
  list.push_back(held_everywhere(run, run.integer("s_l")));
  if (run.virtual_time) list.push_back(dssp_rule(run));
}

Iter diameter(const CheckedRun& run) {
  const Graph graph(run);
  Iter most = 0;
  for (int a = 0; a < run.workers; ++a) {
    for (int b = 0; b < run.workers; ++b) most = std::max(most, graph.distance(a, b));
  }
  return most;
}

// A worker that enters k + 1 has what was pushed to it in k - overlap and before, so its source of any such iteration t
// has entered t. On a topology each edge costs overlap + 1. On the exponential graph each of its `turns` kinds of hops
// is needed at most once, in any order: from one kind to the one before it are 1, 1 + turns, 1 + 2 turns ...
// iterations.
Iter sgp_lead(const CheckedRun& run) {
  const Iter overlap = run.integer("overlap");
  if (run.text("graph") == "topology") return diameter(run) * (overlap + 1);
  Iter turns = 0;
  for (Iter hop = 1; hop < run.workers; hop *= run.integer("peers") + 1) ++turns;
  if (turns == 0) return 0;
  const Iter rounds = (overlap + turns - 1) / turns;
  return overlap + 1 + (turns - 1) * (1 + turns * rounds);
}

// The lead in DS-Sync is at most as many iterations as there are rounds from one worker to all others: two on a
// complete grid. Elsewhere a short row or column may have to be left by another one: four.
Iter ds_sync_lead(const CheckedRun& run) {
  const int n = run.workers, size = int(run.integer("group_size"));
  bool complete = size > 0 && n % size == 0;
  for (int d = 2; d < n && size == 0; ++d) complete = complete || n % d == 0;
  return complete && run.text("division") == "grid" ? 2 : 4;
}

// Averages of models within groups: in every `period`-th iteration, `late` iterations after the step.
void add_rounds(const CheckedRun& run, Iter period, Iter late, std::vector<CheckerPtr>& list) {
  list.push_back(heard(run));
  list.push_back(mean_kept(run));
  list.push_back(round_matrix(run, period - 1, period));
  list.push_back(rounds_due(run, period, late));
}

using List = std::vector<CheckerPtr>;
using Add = std::function<void(const CheckedRun& run, List& list)>;

/// One that takes nothing but the run.
Add only(CheckerPtr (*make)(const CheckedRun&)) {
  return [make](const CheckedRun& run, List& list) { list.push_back(make(run)); };
}

void add_allreduce(const CheckedRun& run, List& list) {
  list.push_back(lead_bound(run, 1));
  list.push_back(heard(run));
}

void add_ds_sync(const CheckedRun& run, List& list) {
  add_rounds(run, 1, run.text("average_at") == "before_forward" ? 1 : 0, list);
  list.push_back(rounds_connect(run));
  list.push_back(lead_bound(run, ds_sync_lead(run)));
}

void add_local_sgd(const CheckedRun& run, List& list) {
  add_rounds(run, run.integer("period"), 0, list);
  list.push_back(lead_bound(run, run.integer("period")));
}

void add_lasgd(const CheckedRun& run, List& list) {  // its rounds have nothing to do with its iterations
  list.push_back(heard(run));
  list.push_back(mean_kept(run));
  list.push_back(round_matrix(run, 0, 1));
}

void add_bsp(const CheckedRun& run, List& list) {
  list.push_back(lead_bound(run, 1));
  list.push_back(bsp_round(run));
}

void add_ssp(const CheckedRun& run, List& list) {
  list.push_back(lead_bound(run, run.integer("staleness") + 1));
  list.push_back(ssp_bound(run, run.integer("staleness")));
  list.push_back(held_everywhere(run, run.integer("staleness")));
}

void add_elastic(const CheckedRun& run, List& list) {
  list.push_back(elastic_barrier(run));
  if (run.virtual_time) list.push_back(elastic_plan(run));
}

void add_flexrr(const CheckedRun& run, List& list) {
  add_ssp(run, list);
  list.push_back(samples_once(run));
  list.push_back(slices(run));
}

void add_r2sp(const CheckedRun& run, List& list) {
  list.push_back(lead_bound(run, 2));
  list.push_back(round_robin(run));
}

void add_sgp(const CheckedRun& run, List& list) {
  list.push_back(lead_bound(run, sgp_lead(run)));
  list.push_back(push_sum(run));
}

// A worker that enters k + 1 has heard, through the last whole turn of log n iterations, of everybody's at that turn's
// start. In any log n iterations where no turn has hops of its own.
void add_gossipgrad(const CheckedRun& run, List& list) {
  Iter turn = 0;
  for (Iter hop = 1; hop < run.workers; hop *= 2) ++turn;
  list.push_back(lead_bound(run, run.flag("rotate") ? std::max<Iter>(0, 2 * turn - 1) : turn));
  list.push_back(mean_kept(run));
  list.push_back(diffusion(run));
}

void add_choco(const CheckedRun& run, List& list) {
  list.push_back(lead_bound(run, 2 * diameter(run)));  // k + 1 is entered with what neighbours sent in k - 1
  list.push_back(updates_sent(run));
  list.push_back(consensus_kept(run));
}

void add_selsync(const CheckedRun& run, List& list) {
  list.push_back(lead_bound(run, 1));
  list.push_back(sync_on_flag(run));
}

void add_balanced(const CheckedRun& run, List& list) {
  list.push_back(lead_bound(run, 1));
  list.push_back(batch_sum(run));
  if (run.text("form") == "gpu") list.push_back(pair_moves(run));
  if (run.text("form") == "gpu" && run.virtual_time) list.push_back(pair_search(run));
  if (run.servers == 0) return;
  list.push_back(bsp_round(run));
  list.push_back(batch_weights(run));
}

void add_grouped(const CheckedRun& run, List& list) {
  if (run.text("weights") != "dynamic") list.push_back(group_matrix(run));
  if (run.servers > 0) list.push_back(one_group(run));
  if (run.text("groups") == "static") list.push_back(lead_bound(run, 4));
}

void add_prague(const CheckedRun& run, List& list) {
  add_grouped(run, list);
  if (run.servers > 0) list.push_back(division(run));
}

void add_partial_reduce(const CheckedRun& run, List& list) {
  add_grouped(run, list);
  list.push_back(group_size(run));
  list.push_back(group_weights(run));
  list.push_back(model_age(run));
  if (run.flag("avoid_frozen")) list.push_back(connected_windows(run));
}

// Averages of whole models after every period, in lock step.
void add_outer(const CheckedRun& run, List& list) {
  add_rounds(run, run.integer("period"), 0, list);
  list.push_back(lead_bound(run, run.integer("period")));
}

// The mean of a round is taken in a period later, or some steps later: rounds are numbered by themselves.
void add_overlapping(const CheckedRun& run, Iter later, List& list) {
  list.push_back(heard(run));
  list.push_back(mean_kept(run));
  list.push_back(round_matrix(run, 0, 1));
  list.push_back(lead_bound(run, run.integer("period") + later));
}

void add_overlap(const CheckedRun& run, List& list) { add_overlapping(run, run.integer("period"), list); }
void add_streaming(const CheckedRun& run, List& list) { add_overlapping(run, run.integer("delay"), list); }

/// Gossip with all neighbours in every iteration, by doubly stochastic weights.
void add_mixing(const CheckedRun& run, List& list) {
  list.push_back(lead_bound(run, diameter(run)));
  list.push_back(updates_sent(run));
  list.push_back(mean_kept(run));
}

void add_gossip_pga(const CheckedRun& run, List& list) {
  list.push_back(lead_bound(run, diameter(run)));
  list.push_back(mean_kept(run));
}

void add_one_peer(const CheckedRun& run, List& list) {
  Iter turn = 0;
  for (Iter hop = 1; hop < run.workers; hop *= 2) ++turn;
  list.push_back(lead_bound(run, turn));
  list.push_back(mean_kept(run));
  list.push_back(diffusion(run));
}

void add_consensus_control(const CheckedRun& run, List& list) { list.push_back(lead_bound(run, 1)); }

void add_dropcompute(const CheckedRun& run, List& list) {
  list.push_back(lead_bound(run, 1));
  list.push_back(heard(run));
  list.push_back(front_parts(run));
}

void add_abs_sgd(const CheckedRun& run, List& list) {
  list.push_back(lead_bound(run, 2));
  list.push_back(front_parts(run));
}

/// One for a protocol whose first server decides for all.
Add decided(CheckerPtr (*make)(const CheckedRun&)) {
  return [make](const CheckedRun& run, List& list) {
    list.push_back(make(run));
    list.push_back(servers_agree(run));
  };
}

const std::map<std::string, Add>& of_protocols() {
  static const std::map<std::string, Add> all = {
      {"allreduce", add_allreduce},
      {"dpsgd", add_gossip},
      {"hop", add_gossip},
      {"ds_sync", add_ds_sync},
      {"local_sgd", add_local_sgd},
      {"lasgd", add_lasgd},
      {"adpsgd", only(pair_sum)},
      {"sgp", add_sgp},
      {"gossipgrad", add_gossipgrad},
      {"choco", add_choco},
      {"prague", add_prague},
      {"partial_reduce", add_partial_reduce},
      {"selsync", add_selsync},
      {"lb_bsp", add_balanced},
      {"dynamic_batching", add_balanced},
      {"ps_bsp", add_bsp},
      {"ps_ssp", add_ssp},
      {"dssp", add_dssp},
      {"ps_backup", decided(backup_round)},
      {"rennala", decided(fresh_batch)},
      {"ringmaster", decided(delay_limit)},
      {"delay_adaptive", decided(delay_scale)},
      {"gba", decided(global_batch)},
      {"k_async", decided(k_gradients)},
      {"k_batch_async", decided(k_gradients)},
      {"specsync", only(fresh_start)},
      {"diloco", add_outer},
      {"slowmo", add_outer},
      {"overlap_local_sgd", add_overlap},
      {"co2", add_overlap},
      {"streaming_diloco", add_streaming},
      {"noloco", only(pairs_of_all)},
      {"hivemind", only(target_batch)},
      {"exact_diffusion", add_mixing},
      {"d2", add_mixing},
      {"gradient_tracking", add_mixing},
      {"qg_dsgdm", add_mixing},
      {"gossip_pga", add_gossip_pga},
      {"consensus_control", add_consensus_control},
      {"one_peer", add_one_peer},
      {"matcha", only(matchings)},
      {"dsgd_aau", only(active_rounds)},
      {"netmax", only(pulls)},
      {"decoupled_diloco", only(quorum_merges)},
      {"dropcompute", add_dropcompute},
      {"abs_sgd", add_abs_sgd},
      {"powersgd", add_allreduce},
      {"error_feedback", add_allreduce},
      {"flexrr", add_flexrr},
      {"r2sp", add_r2sp},
      {"elastic_bsp", add_elastic},
      {"sync_switch", only(one_switch)},
      {"dbw", only(backup_update)},
  };
  return all;
}

/// Servers that apply every gradient that is pushed.
bool applies_all(const CheckedRun& run) {
  static const std::set<std::string> others = {
      "ds_sync", "ps_backup",     "dbw",      "prague",   "partial_reduce", "rennala", "ringmaster",       "gba",
      "k_async", "k_batch_async", "hivemind", "dsgd_aau", "dybw",           "netmax",  "decoupled_diloco", "halos"};
  return run.servers > 0 && others.count(run.protocol) == 0;
}

/// Protocols whose sums are no averages: of push-sum, of differences, or without what is too old (gba).
bool averages(const CheckedRun& run) {
  static const std::set<std::string> others = {"sgp", "choco", "r_fast", "gradient_tracking", "exact_diffusion",
                                               "d2",  "gba"};
  return others.count(run.protocol) == 0;
}

}  // namespace

std::vector<CheckerPtr> make_checkers(const CheckedRun& run) {
  List list;
  list.push_back(delivery(run));
  list.push_back(enter_order(run));
  list.push_back(gradient_counts(run));
  if (averages(run)) list.push_back(weights_sum(run));
  if (run.absences) list.push_back(absence(run));
  if (applies_all(run)) list.push_back(push_applied(run));
  const auto of_protocol = of_protocols().find(run.protocol);
  if (of_protocol != of_protocols().end()) of_protocol->second(run, list);
  return list;
}

}  // namespace hopbench::checkers
