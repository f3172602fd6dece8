// The plan of a trial, derived once from its TrialSpec, for virtual time and for real processes: each rank's peers and
// host, the number of iterations, and the options of each Node.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "protocols/node/node_options.h"
#include "protocols/node/protocol.h"
#include "protocols/node/topology.h"
#include "suites/trial/trial.h"

namespace hopbench {

struct Plan {
  explicit Plan(Topology workers_graph) : graph(std::move(workers_graph)) {}

  const Protocol* protocol = nullptr;
  Topology graph;  // of the workers
  int workers = 0, servers = 0;
  std::vector<std::vector<int>> peers;  // rank -> the ranks it is connected with, ascending
  std::vector<int> host_of;             // rank -> host
  Iter warmup_iterations = 0;  // iterations a rank before those that `iterations` asks for: its warm-up at full speed
  Iter iterations = 0;         // a rank; 0: credits decide
  std::int64_t credits = 0;
  bool goes_on = false;  // the protocol does when a worker is lost
  BatchBounds batches;   // that a worker may be given

  int ranks() const { return workers + servers; }
};

/// The iterations that each rank of a rate runs before those that are measured.
struct WarmUp {
  Iter iterations = 0;   // 0 for a convergence
  bool by_time = false;  // so many gradients fit into run.warmup_time; else run.warmup or the protocol asks for them
};
WarmUp warm_up_of(const TrialSpec& spec);
inline constexpr Iter kLongestWarmUp = 1'000'000;  // longer ones are refused

/// Returns the host of each worker that trains: by the suite, or each on its own.
std::vector<int> hosts_of_workers(const TrialSpec& spec);

/// Up to the last one that has a worker or a server.
int host_count(const Protocol& protocol, const Setting& setting, bool servers_apart);

/// Returns the graph of the workers that train.
Topology graph_of(const TrialSpec& spec);

/// Error(kUsage) for what the suite should have refused.
Plan make_plan(const TrialSpec& spec);

/// Returns the iterations by which a worker may be ahead of another, by the protocol; -1: it promises no bound.
std::int64_t gap_bound_of(const TrialSpec& spec, const Plan& plan);

/// The network with everybody in their places, and with what the scenario does to it.
NetworkSpec network_of(const TrialSpec& spec, const Plan& plan);

/// `graph` and `host_of` of the result refer to the plan, which must outlive the node.
NodeOptions node_options(const TrialSpec& spec, const Plan& plan, int rank, Credits* credits);

}  // namespace hopbench
