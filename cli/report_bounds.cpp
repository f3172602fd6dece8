#include "cli/report_bounds.h"

#include <algorithm>
#include <set>

namespace hopbench {
namespace {

/// Of D-PSGD and Hop: the largest over all pairs of workers of what their row in docs/protocols.md allows.
ReportBound gossip_bound(const KnobValues& knobs, const Topology& graph) {
  const auto integer = [&](const char* name) { return knobs.all().contains(name) ? knobs.integer(name) : 0; };
  const std::string control = knobs.all().contains("gap_control") ? knobs.text("gap_control") : "";
  const int backup = integer("backup"), staleness = integer("staleness");
  const bool jumps = integer("max_jump") > 1;
  const bool by_updates = backup == 0 && (!jumps || graph.undirected());
  const int out = control == "tokens" ? integer("max_ig") : control == "notify_ack" ? 2 : 0;
  ReportBound bound;
  // What is averaged is of the iteration itself, or as old as `staleness` says; a jump averages the one before.
  if (!jumps) bound.staleness = staleness;
  int most = 0;
  for (const int i : graph.ranks()) {
    for (const int j : graph.ranks()) {
      if (i == j) continue;
      const int back = (staleness + 1) * graph.distance(j, i), there = out * graph.distance(i, j);
      if (!by_updates && out == 0) return bound;
      most = std::max(most, !by_updates ? there : out == 0 ? back : std::min(back, there));
    }
  }
  bound.gap = most;
  return bound;
}

}  // namespace

ReportBound bound_of(const TrialSpec& spec) {
  static const std::set<std::string> lock_step{"allreduce", "ps_bsp", "selsync", "lb_bsp", "dynamic_batching"};
  const std::string& name = spec.protocol;
  const KnobValues& knobs = spec.knobs;
  ReportBound bound;
  if (name == "dpsgd" || name == "hop" || name == "choco") {
    const Topology graph = spec.topology == "edges" ? Topology("edges", spec.workers(), spec.edges)
                                                    : make_topology(spec.topology, spec.workers());
    if (graph.diameter() < 0) return bound;
    if (name != "choco") return gossip_bound(knobs, graph);
    bound.gap = 2 * graph.diameter();
  }
  if (lock_step.contains(name)) bound.gap = 1;
  if (name == "ps_ssp" || name == "flexrr") bound.gap = knobs.integer("staleness") + 1;
  if (name == "dssp" && knobs.text("mode") == "capped") bound.gap = knobs.integer("s_l") + knobs.integer("r_max") + 1;
  if (name == "r2sp") bound.gap = 2;
  if (name == "local_sgd") bound.gap = knobs.integer("period");
  return bound;
}

}  // namespace hopbench
