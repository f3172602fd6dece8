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

bool averages_in_groups(const CheckedRun& run) { return run.protocol == "prague" || run.protocol == "partial_reduce"; }

void add_groups(const CheckedRun& run, std::vector<CheckerPtr>& list) {
  if (run.text("weights") != "dynamic") list.push_back(group_matrix(run));
  if (run.servers > 0) list.push_back(one_group(run));
  if (run.text("groups") == "static") list.push_back(lead_bound(run, 4));
  if (run.protocol != "partial_reduce") return;
  list.push_back(group_size(run));
  list.push_back(group_weights(run));
  if (run.flag("avoid_frozen")) list.push_back(connected_windows(run));
}

}  // namespace

std::vector<CheckerPtr> make_checkers(const CheckedRun& run) {
  std::vector<CheckerPtr> list;
  list.push_back(delivery(run));
  list.push_back(enter_order(run));
  if (run.protocol == "hop" || run.protocol == "dpsgd") add_gossip(run, list);
  if (run.protocol == "allreduce") list.push_back(lead_bound(run, 1));
  if (averages_in_groups(run)) add_groups(run, list);
  if (run.servers > 0 && !averages_in_groups(run)) list.push_back(push_applied(run));
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
