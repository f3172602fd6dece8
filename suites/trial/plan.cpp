#include "suites/trial/plan.h"

#include <algorithm>
#include <set>
#include <utility>

#include "backends/base/error.h"

namespace hopbench {
namespace {

std::vector<std::vector<int>> peers_of(const Plan& plan, const Setting& setting) {
  std::vector<std::set<int>> sets(static_cast<std::size_t>(plan.ranks()));
  const auto connect = [&](int a, int b) {
    HB_ASSERT(a >= 0 && b >= 0 && a < plan.ranks() && b < plan.ranks());
    if (a == b) return;
    sets[std::size_t(a)].insert(b);
    sets[std::size_t(b)].insert(a);
  };
  if (plan.protocol->links != nullptr) {
    for (const auto& [a, b] : plan.protocol->links(setting)) connect(a, b);
  } else {
    for (int a = 0; a < plan.workers; ++a) {
      for (const int b : plan.graph.out(a)) connect(a, b);
    }
  }
  std::vector<std::vector<int>> peers;
  for (const std::set<int>& set : sets) peers.emplace_back(set.begin(), set.end());
  return peers;
}

// One server a worker sits beside its worker; fewer (or more) have hosts of their own, or are with worker 0. Some
// protocols say where theirs are.
std::vector<int> hosts_of(const Protocol& protocol, const Setting& setting, int servers, bool apart) {
  const int workers = setting.workers;
  std::vector<int> host_of = setting.host_of;
  if (host_of.empty()) {
    for (int r = 0; r < workers; ++r) host_of.push_back(r);
  }
  host_of.resize(std::size_t(workers), 0);
  if (protocol.extra_hosts != nullptr) {
    const std::vector<int> given = protocol.extra_hosts(setting);
    host_of.insert(host_of.end(), given.begin(), given.end());
    return host_of;
  }
  const int first_free = *std::max_element(host_of.begin(), host_of.end()) + 1;
  for (int s = 0; s < servers; ++s) {
    const int alone = apart ? first_free + s : host_of.front();
    host_of.push_back(servers == workers ? host_of[std::size_t(s)] : alone);
  }
  return host_of;
}

std::int64_t divided_up(std::int64_t amount, std::int64_t by) { return (amount + by - 1) / by; }

/// Puts hosts of servers alone into the racks in turn, whatever numbers they have.
void place_servers(const Plan& plan, std::vector<int>& rack_of) {
  if (rack_of.empty()) return;
  const int racks = *std::max_element(rack_of.begin(), rack_of.end()) + 1;
  const auto first_server = plan.host_of.begin() + plan.workers;
  for (auto host = first_server; host != plan.host_of.end(); ++host) {
    if (std::find(plan.host_of.begin(), first_server, *host) != first_server) continue;
    rack_of.resize(std::max(rack_of.size(), std::size_t(*host) + 1));
    rack_of[std::size_t(*host)] = int(host - first_server) % racks;
  }
}

}  // namespace

// The warm-up rule (fairness section 5) asks for iterations and for time; a rank that is never slowed needs most
// iterations.
WarmUp warm_up_of(const TrialSpec& spec) {
  if (spec.what != MeasureKind::kRate) return {};
  const auto cost = spec.costs.gradient.count();
  const Iter in_time = cost > 0 ? divided_up(spec.warmup_time.count(), cost) : 0;
  return {std::max(spec.warmup, in_time), in_time > spec.warmup};
}

std::vector<int> hosts_of_workers(const TrialSpec& spec) {
  std::vector<int> hosts;
  for (int r = 0; r < spec.workers(); ++r) {
    const int number = spec.workload.number_of(r);
    hosts.push_back(spec.network.host_of.empty() ? number : spec.network.host_of[std::size_t(number)]);
  }
  return hosts;
}

int host_count(const Protocol& protocol, const Setting& setting, bool servers_apart) {
  const int servers = protocol.extra_ranks != nullptr ? protocol.extra_ranks(setting) : 0;
  const std::vector<int> host_of = hosts_of(protocol, setting, servers, servers_apart);
  return *std::max_element(host_of.begin(), host_of.end()) + 1;
}

Topology graph_of(const TrialSpec& spec) {
  const int everybody = spec.workload.everybody();
  const bool asked = uses_topology(find_protocol(spec.protocol), spec.knobs);
  const bool listed = !asked || spec.topology == "edges";
  Topology graph = listed ? Topology(spec.topology, everybody, asked ? spec.edges : std::vector<Edge>{})
                          : make_topology(spec.topology, everybody);
  return spec.workload.without.empty() ? graph : graph.without(spec.workload.without);
}

Plan make_plan(const TrialSpec& spec) {
  Plan plan(graph_of(spec));
  plan.protocol = &find_protocol(spec.protocol);
  plan.goes_on = continues(*plan.protocol, spec.knobs);
  plan.workers = spec.workers();
  const Setting setting{spec.knobs, plan.graph, plan.workers, hosts_of_workers(spec), 0, spec.workload.batch};
  if (plan.protocol->refuse != nullptr) {
    if (const std::string why = plan.protocol->refuse(setting); !why.empty())
      throw usage_error(spec.label + ": " + why);
  }
  if (plan.protocol->extra_ranks != nullptr) plan.servers = plan.protocol->extra_ranks(setting);
  plan.peers = peers_of(plan, setting);
  plan.host_of = hosts_of(*plan.protocol, setting, plan.servers, spec.network.servers_apart);
  plan.warmup_iterations = warm_up_of(spec).iterations;
  const int batch = spec.workload.batch;
  plan.batches = plan.protocol->batches != nullptr ? plan.protocol->batches(setting) : BatchBounds{batch, batch, 1};
  if (spec.stop.kind == StopSpec::Kind::kIterations) {
    plan.iterations = plan.warmup_iterations + spec.stop.amount;
  } else if (in_lockstep(*plan.protocol, spec.knobs)) {
    plan.iterations = divided_up(spec.stop.amount, std::int64_t{batch} * plan.workers);
  } else {
    plan.credits = divided_up(spec.stop.amount, batch);
  }
  return plan;
}

std::int64_t gap_bound_of(const TrialSpec& spec, const Plan& plan) {
  if (plan.protocol->gap_bound == nullptr) return -1;
  const Setting setting{spec.knobs, plan.graph, plan.workers, plan.host_of, 0, spec.workload.batch};
  return plan.protocol->gap_bound(setting).value_or(-1);
}

NetworkSpec network_of(const TrialSpec& spec, const Plan& plan) {
  NetworkSpec network = spec.network;
  network.host_of = plan.host_of;
  place_servers(plan, network.rack_of);
  network.links.insert(network.links.end(), spec.scenario.links.begin(), spec.scenario.links.end());
  for (const Fault& fault : spec.scenario.faults) {
    if (fault.what != FaultKind::kCut) continue;
    network.links.push_back(
        {.a = fault.a, .b = fault.b, .from = fault.at, .until = fault.at + fault.lasts, .cut = true});
  }
  return network;
}

NodeOptions node_options(const TrialSpec& spec, const Plan& plan, int rank, Credits* credits) {
  return {.rank = rank,
          .workers = plan.workers,
          .servers = plan.servers,
          .graph = &plan.graph,
          .protocol = plan.protocol,
          .knobs = spec.knobs,
          .optimizer = spec.optimizer,
          .stop = {.iterations = plan.iterations, .credits = plan.iterations > 0 ? nullptr : credits},
          .costs = spec.costs,
          .scenario = spec.scenario,
          .monitor = spec.monitor,
          .host_of = &plan.host_of,
          .peers = &plan.peers[std::size_t(rank)],
          .seed = spec.seed,
          .repeat = spec.repeat,
          .snapshot = {},
          .final_model = {},
          .noise = spec.noise,
          .loss = spec.loss};
}

}  // namespace hopbench
