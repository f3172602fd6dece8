// Which invariants apply to a trial.
#include <algorithm>

#include "tests/checkers/checkers.h"

namespace hopbench::checkers {
namespace {

void add_gossip(const CheckedRun& run, std::vector<CheckerPtr>& list) {
  const std::string control = run.text("gap_control");
  const bool stale = run.integer("staleness") > 0, backup = run.integer("backup") > 0;
  list.push_back(gap_bound(run));
  list.push_back(updates_sent(run));
  list.push_back(stale ? staleness(run) : quorum(run));
  list.push_back(reduce_weights(run));
  if (control == "notify_ack") list.push_back(one_unacknowledged(run));
  if (run.integer("max_jump") > 1) list.push_back(jump_bound(run));
  const Graph graph(run);
  if (!stale && !backup && run.integer("max_jump") <= 1 && run.iterations > 0 && graph.undirected() &&
      graph.regular()) {
    list.push_back(mean_kept(run));
  }
  if (!run.virtual_time) return;
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

// Who enters k + 1 has what was pushed to it in k - overlap and before, so its source of any such iteration t has
// entered t. On a topology each edge costs overlap + 1. On the exponential graph each of its `turns` kinds of hops is
// needed at most once, in any order: from one kind to the one before it are 1, 1 + turns, 1 + 2 turns ... iterations.
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

}  // namespace

std::vector<CheckerPtr> make_checkers(const CheckedRun& run) {
  std::vector<CheckerPtr> list;
  list.push_back(delivery(run));
  list.push_back(enter_order(run));
  if (run.protocol == "hop" || run.protocol == "dpsgd") add_gossip(run, list);
  if (run.protocol == "allreduce") {
    list.push_back(lead_bound(run, 1));
    list.push_back(heard(run));
  }
  if (run.protocol == "ds_sync") {
    add_rounds(run, 1, run.text("average_at") == "before_forward" ? 1 : 0, list);
    list.push_back(rounds_connect(run));
    list.push_back(lead_bound(run, ds_sync_lead(run)));
  }
  if (run.protocol == "local_sgd") {
    add_rounds(run, run.integer("period"), 0, list);
    list.push_back(lead_bound(run, run.integer("period")));
  }
  if (run.protocol == "lasgd") {  // its rounds have nothing to do with its iterations
    list.push_back(heard(run));
    list.push_back(mean_kept(run));
    list.push_back(round_matrix(run, 0, 1));
  }
  if (run.servers > 0 && run.protocol != "ds_sync" && run.protocol != "ps_backup") list.push_back(push_applied(run));
  if (run.protocol == "ps_bsp") {
    list.push_back(lead_bound(run, 1));
    list.push_back(bsp_round(run));
  }
  if (run.protocol == "ps_ssp") {
    list.push_back(lead_bound(run, run.integer("staleness") + 1));
    list.push_back(ssp_bound(run, run.integer("staleness")));
  }
  if (run.protocol == "dssp") add_dssp(run, list);
  if (run.protocol == "ps_backup") list.push_back(backup_round(run));
  if (run.protocol == "r2sp") {
    list.push_back(lead_bound(run, 2));
    list.push_back(round_robin(run));
  }
  if (run.protocol == "elastic_bsp") list.push_back(elastic_barrier(run));
  if (run.protocol == "adpsgd") list.push_back(pair_sum(run));
  if (run.protocol == "sgp") {
    list.push_back(lead_bound(run, sgp_lead(run)));
    list.push_back(push_sum(run));
  }
  if (run.protocol == "choco") {
    list.push_back(lead_bound(run, 2 * diameter(run)));  // k + 1 is entered with what neighbours sent in k - 1
    list.push_back(updates_sent(run));
    list.push_back(consensus_kept(run));
  }
  return list;
}

}  // namespace hopbench::checkers
