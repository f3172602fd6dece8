#include "tests/protocols/draw_knobs.h"

#include <algorithm>
#include <functional>
#include <map>

namespace hopbench {
namespace {

std::int64_t between(Random& random, std::int64_t low, std::int64_t high) {
  return low + std::int64_t(random.below(std::uint64_t(high - low + 1)));
}

// Every configuration of the gap table; with skipping where it has a rule.
Knobs draw_hop(Random& random, const Cluster& cluster) {
  const Topology graph = cluster.graph();
  std::size_t fewest = 1000;
  for (int i = 0; i < graph.size(); ++i) fewest = std::min(fewest, graph.in(i).size());
  Knobs knobs = {{"form", std::string(random.chance(0.5) ? "parallel" : "serial")}};
  if (random.chance(0.15)) {
    knobs["gap_control"] = std::string("notify_ack");
    return knobs;
  }
  const bool tokens = random.chance(0.8);
  knobs["gap_control"] = std::string(tokens ? "tokens" : "queues");
  knobs["max_ig"] = between(random, 1, 6);
  std::int64_t longest = 0;  // jump
  if (random.chance(0.4)) {
    longest = between(random, 1, 5);
    knobs["staleness"] = longest;
  } else if (fewest > 1 && random.chance(0.6)) {
    longest = 10;  // longer than it can come about
    knobs["backup"] = between(random, 1, std::int64_t(std::min<std::size_t>(fewest - 1, 3)));
  }
  if (tokens && longest > 0 && random.chance(0.7)) {
    const std::int64_t max_jump = between(random, 1, longest);
    knobs["max_jump"] = max_jump;
    knobs["skip_trigger"] = between(random, 1, 3);
    const bool keeps_self = random.chance(0.5), drops = random.chance(0.5);
    if (max_jump > 1) {
      knobs["skip_keep_self"] = keeps_self;
      knobs["jump_momentum"] = std::string(drops ? "drop" : "keep");
    }
  }
  if (tokens) knobs["check_receiver"] = random.chance(0.3);
  if (knobs.count("staleness") > 0) knobs["reuse"] = random.chance(0.6);
  return knobs;
}

Knobs draw_sgp(Random& random) {
  return {{"peers", between(random, 1, 4)},
          {"overlap", random.chance(0.5) ? 0 : between(random, 1, 4)},
          {"graph", std::string(random.chance(0.5) ? "exponential" : "topology")}};
}

Knobs draw_choco(Random& random) {
  const std::vector<std::string> methods = {"sign", "top_k", "random_k", "qsgd", "none"};
  return {{"compressor", methods[random.below(methods.size())]}, {"gamma", 0.05 + 0.9 * random.uniform()}};
}

// Hosts of any sizes, two at least, with several workers on some of them; enough entries for servers.
void draw_hosts(Random& random, Cluster& cluster) {
  const int hosts = 2 + int(random.below(std::uint64_t(cluster.nodes - 2)));
  for (int r = 0; r < 2 * cluster.nodes; ++r) {
    cluster.network.host_of.push_back(r < hosts ? r : int(random.below(std::uint64_t(hosts))));
  }
}

Knobs draw_ds_sync(Random& random, Cluster& cluster) {
  Knobs knobs = {{"inner", std::string(random.chance(0.5) ? "allreduce" : "ps")},
                 {"average_at", std::string(random.chance(0.5) ? "after_step" : "before_forward")}};
  if (random.chance(0.3)) {
    knobs["division"] = std::string("hosts");
    draw_hosts(random, cluster);
  } else if (random.chance(0.5)) {
    const std::int64_t n = cluster.nodes, some = between(random, 1, n);
    knobs["group_size"] = n % some == 0 ? some : n;
  }
  return knobs;
}

Knobs draw_allreduce(Random& random, Cluster& cluster) {
  const std::vector<std::string> algorithms = {"ring", "halving_doubling", "hierarchical"};
  if (random.chance(0.7)) draw_hosts(random, cluster);
  return {{"algorithm", algorithms[random.below(3)]},
          {"overlap", random.chance(0.5)},
          {"bucket_bytes", between(random, 4, 16)}};
}

Knobs draw_flexrr(Random& random, Cluster& cluster) {
  const double first[] = {0.025, 0.2, 1};
  cluster.workload.batch = int(between(random, 1, 24));
  return {{"staleness", between(random, 0, 3)},
          {"parts", between(random, 1, 12)},
          {"helpers", between(random, 0, 5)},
          {"trigger", 0.05 + 1.5 * random.uniform()},
          {"first_slice", first[random.below(3)]}};
}

Knobs draw_selsync(Random& random) {
  const double deltas[] = {0, 0.05, 0.3, 1e9};
  return {{"window", between(random, 1, 6)}, {"delta", deltas[random.below(4)]}};
}

Knobs draw_sync_switch(Random& random) {
  const double fractions[] = {0, 0.2, random.uniform(), 1};
  return {{"fraction", fractions[random.below(4)]},
          {"online", std::string(random.chance(0.5) ? "greedy" : "off")},
          {"patience", between(random, 1, 4)},
          {"momentum", std::string(random.chance(0.5) ? "keep" : "reset")}};
}

std::string one_of(Random& random, const std::vector<std::string>& names) { return names[random.below(names.size())]; }

// Draws the knobs that lb_bsp and dynamic_batching have in common.
Knobs draw_balanced(Random& random, Cluster& cluster) {
  cluster.workload.batch = int(between(random, 1, 12));
  cluster.costs.saturation = int(between(random, 0, 8));
  return {{"aggregation", one_of(random, {"allreduce", "servers"})},
          {"servers", between(random, 0, 3)},
          {"algorithm", one_of(random, {"ring", "halving_doubling", "hierarchical"})},
          {"overlap", random.chance(0.5)},
          {"bucket_bytes", between(random, 4, 32)},
          {"warmup_steps", between(random, 0, 6)}};
}

// Draws last, so that the draws before stay as they are.
void draw_multiple(Random& random, Cluster& cluster, Knobs& knobs) {
  if (!random.chance(0.4)) return;
  const std::int64_t multiple = between(random, 2, 8);
  knobs["multiple"] = multiple;
  cluster.workload.batch *= int(multiple);
}

Knobs draw_lb_bsp(Random& random, Cluster& cluster) {
  Knobs knobs = draw_balanced(random, cluster);
  knobs["form"] = one_of(random, {"cpu", "gpu"});
  knobs["predictor"] = one_of(random, {"last", "ema", "narx"});
  knobs["window"] = between(random, 1, 5);
  knobs["step"] = 0.01 + 0.5 * random.uniform();
  knobs["halve_on_rise"] = random.chance(0.5);
  knobs["reopen"] = random.chance(0.5) ? 0.0 : 0.5 * random.uniform();
  knobs["memory_limit"] = 1 + 3 * random.uniform();
  draw_multiple(random, cluster, knobs);
  return knobs;
}

Knobs draw_dynamic_batching(Random& random, Cluster& cluster) {
  Knobs knobs = draw_balanced(random, cluster);
  knobs["dead_band"] = random.chance(0.5) ? 0.05 : 0.3;
  knobs["min_batch"] = random.uniform();
  knobs["max_batch"] = 1 + 3 * random.uniform();
  draw_multiple(random, cluster, knobs);
  return knobs;
}

Knobs draw_prague(Random& random, Cluster& cluster) {
  std::vector<int>& hosts = cluster.network.host_of;
  if (cluster.nodes % 4 == 0 && random.chance(0.5)) {
    for (int w = 0; w < cluster.nodes; ++w) hosts.push_back(w / 4);
    return {{"groups", std::string("static")}};
  }
  for (int r = 0; r <= cluster.nodes && (r > 0 || random.chance(0.5)); ++r) hosts.push_back(int(random.below(3)));
  return {{"group_size", between(random, 2, std::clamp(cluster.nodes, 3, 5))},
          {"inter_intra", random.chance(0.7)},
          {"slow_threshold", between(random, 0, 5)}};
}

Knobs draw_partial_reduce(Random& random, const Cluster& cluster) {
  const std::int64_t size = between(random, 2, 4), fewest = (cluster.nodes - 1 + size - 2) / (size - 1);
  Knobs knobs = {{"group_size", size}, {"avoid_frozen", random.chance(0.9)}};
  if (random.chance(0.5)) knobs["window"] = between(random, fewest, 2 * fewest);
  if (random.chance(0.5)) knobs["weights"] = std::string("dynamic");
  knobs["decay"] = 0.1 + 0.9 * random.uniform();
  return knobs;
}

std::string either(Random& random, const char* a, const char* b) { return random.chance(0.5) ? a : b; }

using Drawn = std::function<Knobs(Random&, Cluster&)>;

const std::map<std::string, Drawn>& draws() {
  static const std::map<std::string, Drawn> all = {
      {"allreduce", draw_allreduce},
      {"dpsgd",
       [](Random& r, Cluster&) {
         return Knobs{{"form", either(r, "parallel", "serial")}, {"weights", either(r, "metropolis", "uniform")}};
       }},
      {"hop", draw_hop},
      {"ds_sync", draw_ds_sync},
      {"local_sgd",
       [](Random& r, Cluster&) {
         return Knobs{{"period", between(r, 1, 6)}};
       }},
      {"adpsgd",
       [](Random& r, Cluster&) {
         return Knobs{{"form", either(r, "parallel", "serial")}};
       }},
      {"sgp", [](Random& r, Cluster&) { return draw_sgp(r); }},
      {"choco", [](Random& r, Cluster&) { return draw_choco(r); }},
      {"gossipgrad",
       [](Random& r, Cluster&) {
         return Knobs{{"rotate", r.chance(0.7)}, {"shuffle", r.chance(0.5)}};
       }},
      {"selsync", [](Random& r, Cluster&) { return draw_selsync(r); }},
      {"ps_ssp",
       [](Random& r, Cluster&) {
         return Knobs{{"staleness", between(r, 0, 4)}};
       }},
      {"flexrr", draw_flexrr},
      {"dssp",
       [](Random& r, Cluster&) {
         return Knobs{
             {"s_l", between(r, 0, 3)}, {"r_max", between(r, 0, 6)}, {"mode", either(r, "faithful", "capped")}};
       }},
      {"ps_backup",
       [](Random& r, Cluster&) {
         return Knobs{{"backup", between(r, 0, 3)}};
       }},
      {"rennala",
       [](Random& r, Cluster& cluster) {
         return Knobs{{"batch", between(r, 0, 2 * cluster.nodes)}};
       }},
      {"ringmaster",
       [](Random& r, Cluster& cluster) {
         return Knobs{{"delay", between(r, 0, 2 * cluster.nodes)}};
       }},
      {"delay_adaptive",
       [](Random& r, Cluster&) {
         return Knobs{{"rule", either(r, "concurrency", "inverse")}};
       }},
      {"dc_asgd",
       [](Random& r, Cluster&) {
         return Knobs{{"lambda", r.uniform()}, {"variant", either(r, "constant", "adaptive")}};
       }},
      {"gba",
       [](Random& r, Cluster& cluster) {
         return Knobs{{"batches", between(r, 0, 2 * cluster.nodes)}, {"tolerance", between(r, 0, 3)}};
       }},
      {"k_async",
       [](Random& r, Cluster& cluster) {
         return Knobs{{"k", between(r, 0, cluster.nodes)}};
       }},
      {"k_batch_async",
       [](Random& r, Cluster& cluster) {
         return Knobs{{"k", between(r, 0, 2 * cluster.nodes)}};
       }},
      {"specsync",
       [](Random& r, Cluster& cluster) {
         cluster.workload.batch = int(between(r, 1, 12));
         return Knobs{{"window", 0.01 + r.uniform()}, {"rate", 0.01 + r.uniform()}, {"parts", between(r, 1, 8)}};
       }},
      {"diloco",
       [](Random& r, Cluster&) {
         const std::string state = std::vector<std::string>{"keep", "reset", "average"}[r.below(3)];
         return Knobs{{"period", between(r, 1, 9)}, {"inner_state", state}};
       }},
      {"slowmo",
       [](Random& r, Cluster&) {
         return Knobs{{"period", between(r, 1, 9)}, {"beta", 0.9 * r.uniform()}};
       }},
      {"overlap_local_sgd",
       [](Random& r, Cluster&) {
         return Knobs{{"period", between(r, 1, 9)}, {"alpha", r.uniform()}};
       }},
      {"co2",
       [](Random& r, Cluster&) {
         return Knobs{{"period", between(r, 1, 9)}, {"clip", r.uniform()}};
       }},
      {"hivemind",
       [](Random& r, Cluster&) {
         return Knobs{{"target", between(r, 0, 60)}};
       }},
      {"streaming_diloco",
       [](Random& r, Cluster&) {
         const std::int64_t fragments = between(r, 1, 4), each = between(r, 1, 4);
         return Knobs{{"period", fragments * each + between(r, 0, fragments - 1)},
                      {"fragments", fragments},
                      {"delay", between(r, 0, each - 1)},
                      {"alpha", r.uniform()}};
       }},
      {"noloco",
       [](Random& r, Cluster&) {
         return Knobs{{"period", between(r, 1, 9)}};
       }},
      {"easgd",
       [](Random& r, Cluster&) {
         return Knobs{{"period", between(r, 1, 9)}, {"beta", r.uniform()}};
       }},
      {"async_diloco",
       [](Random& r, Cluster&) {
         return Knobs{{"period", between(r, 1, 9)}, {"dylu", r.chance(0.5)}, {"every", between(r, 0, 6)}};
       }},
      {"qg_dsgdm",
       [](Random& r, Cluster&) {
         return Knobs{{"mu", 0.95 * r.uniform()}};
       }},
      {"gossip_pga",
       [](Random& r, Cluster&) {
         return Knobs{{"period", between(r, 1, 9)}};
       }},
      {"consensus_control",
       [](Random& r, Cluster&) {
         return Knobs{{"ratio", r.uniform()}, {"most", between(r, 1, 5)}};
       }},
      {"matcha",
       [](Random& r, Cluster&) {
         return Knobs{{"budget", 0.1 + 0.9 * r.uniform()}};
       }},
      {"dropcompute",
       [](Random& r, Cluster& cluster) {
         cluster.workload.batch = int(between(r, 1, 12));
         return Knobs{{"measured", between(r, 1, 9)}, {"parts", between(r, 1, 8)}};
       }},
      {"powersgd",
       [](Random& r, Cluster& cluster) {
         cluster.workload.size = std::size_t(between(r, 1, 64));
         return Knobs{{"rank", between(r, 1, 4)}};
       }},
      {"error_feedback",
       [](Random& r, Cluster&) {
         const std::string compressor = std::vector<std::string>{"top_k", "sign", "random_k", "qsgd"}[r.below(4)];
         return Knobs{{"compressor", compressor}, {"share", 0.05 + 0.5 * r.uniform()}};
       }},
      {"abs_sgd",
       [](Random& r, Cluster& cluster) {
         cluster.workload.batch = int(between(r, 1, 12));
         return Knobs{{"parts", between(r, 1, 8)}};
       }},
      {"dybw",
       [](Random& r, Cluster& cluster) {
         cluster.workload.batch = int(between(r, 1, 12));
         return Knobs{{"parts", between(r, 1, 8)}};
       }},
      {"a_edit",
       [](Random& r, Cluster&) {
         return Knobs{{"period", between(r, 1, 6)}, {"limit", 3 * r.uniform()}, {"clip", 0.01 + r.uniform()}};
       }},
      {"daso",
       [](Random& r, Cluster&) {
         const std::int64_t skip = between(r, 1, 6);
         return Knobs{{"skip", skip}, {"wait", between(r, 0, skip - 1)}, {"warm_up", between(r, 0, 4)}};
       }},
      {"halos",
       [](Random& r, Cluster&) {
         return Knobs{{"period", between(r, 1, 6)}, {"accumulate", between(r, 0, 4)}, {"alpha", r.uniform()}};
       }},
      {"decoupled_diloco",
       [](Random& r, Cluster& cluster) {
         const std::int64_t fragments = between(r, 1, 4);
         return Knobs{{"period", between(r, fragments, 8)},
                      {"fragments", fragments},
                      {"quorum", between(r, 0, cluster.nodes)},
                      {"grace", 2 * r.uniform()}};
       }},
      {"netmax",
       [](Random& r, Cluster&) {
         return Knobs{{"every", between(r, 1, 10)}};
       }},
      {"moshpit",
       [](Random& r, Cluster& cluster) {
         const std::int64_t most = cluster.nodes <= 2 ? 1 : cluster.nodes <= 4 ? 2 : 3;
         return Knobs{{"dimensions", between(r, 1, most)}, {"period", between(r, 1, 3)}};
       }},
      {"r2sp",
       [](Random& r, Cluster&) {
         return Knobs{{"r", r.uniform()}};
       }},
      {"elastic_bsp",
       [](Random& r, Cluster&) {
         return Knobs{{"r", between(r, 1, 6)}};
       }},
      {"sync_switch", [](Random& r, Cluster&) { return draw_sync_switch(r); }},
      {"prague", draw_prague},
      {"partial_reduce", draw_partial_reduce},
      {"lb_bsp", draw_lb_bsp},
      {"dynamic_batching", draw_dynamic_batching},
      {"dbw",
       [](Random& r, Cluster&) {
         return Knobs{{"window", between(r, 1, 5)}};
       }},
  };
  return all;
}

}  // namespace

Knobs draw_knobs(const std::string& protocol, Random& random, Cluster& cluster) {
  const auto found = draws().find(protocol);
  Knobs knobs = found == draws().end() ? Knobs{} : found->second(random, cluster);
  for (const Knob& knob : find_protocol(protocol).knobs) {
    if (std::string("servers") == knob.name) knobs.try_emplace("servers", between(random, 1, 3));
  }
  return knobs;
}

}  // namespace hopbench
