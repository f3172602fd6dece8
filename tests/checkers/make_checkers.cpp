// Which invariants apply to a trial.
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
  if (run.servers > 0 && run.protocol != "ds_sync") list.push_back(push_applied(run));
  if (run.protocol == "ps_bsp") {
    list.push_back(lead_bound(run, 1));
    list.push_back(bsp_round(run));
  }
  if (run.protocol == "ps_ssp") {
    list.push_back(lead_bound(run, run.integer("staleness") + 1));
    list.push_back(ssp_bound(run));
  }
  return list;
}

}  // namespace hopbench::checkers
