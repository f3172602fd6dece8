// The sweep: many small clusters, each drawn from its seed (ranks, topology, scenario, knobs, network, order of
// events), with every checker that applies attached.
//
//   HB_SEEDS=2000 tests/invariants_test    a long one
//   HB_SEED=17 tests/invariants_test       one again
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/cluster.h"

namespace hopbench {
namespace {

struct Draw {
  Cluster cluster{};
  Knobs knobs{};
};

// A directed cycle and some chords: strongly connected.
std::vector<Edge> directed_edges(Random& random, int n) {
  std::vector<Edge> edges;
  for (int i = 0; i < n; ++i) edges.emplace_back(i, (i + 1) % n);
  for (int i = 0; i < n; ++i) {
    const int to = int(random.below(std::uint64_t(n)));
    if (to != i && to != (i + 1) % n) edges.emplace_back(i, to);
  }
  return edges;
}

void draw_world(Random& random, Cluster& cluster) {
  cluster.nodes = 4 + int(random.below(13));
  const int n = cluster.nodes;
  std::vector<std::string> shapes = {"ring", "complete", "star", "directed"};
  if (n % 2 == 0) shapes.push_back("ring_based");
  if (n % 4 == 0 && n >= 8) shapes.push_back("double_ring");
  cluster.topology = shapes[random.below(shapes.size())];
  if (cluster.topology == "directed") cluster.edges = directed_edges(random, n);
  cluster.iterations = 5 + Iter(random.below(20));
  const auto someone = [&] { return int(random.below(std::uint64_t(n))); };
  if (random.chance(0.5)) cluster.slow[someone()] = 1.0 + 7.0 * random.uniform();
  if (random.chance(0.2)) cluster.slow[someone()] = 30.0;  // as good as standing still
  if (random.chance(0.5)) {
    cluster.compute.push_back({.what = ComputeRule::What::kBernoulli, .factor = 6.0, .probability = 1.0 / n});
  }
  if (random.chance(0.3)) cluster.compute.push_back({.what = ComputeRule::What::kExponential, .scale = 0.5});
  cluster.network.latency = std::chrono::microseconds(1 + random.below(20000));
  cluster.network.bandwidth = random.chance(0.3) ? 2e4 : 125e6;
  cluster.network.jitter = random.chance(0.5) ? random.uniform() : 0.0;
  cluster.instant_network = random.chance(0.1);
  cluster.costs.vector_bytes_per_s = random.chance(0.5) ? 1e5 : 0.0;
  cluster.shuffle = random.chance(0.7) ? 1 + random.below(1'000'000) : 0;
}

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
  } else if (random.chance(0.6)) {
    longest = 10;  // longer than it can come about
    knobs["backup"] = between(random, 1, std::int64_t(std::min<std::size_t>(fewest, 3)));
  }
  if (tokens && longest > 0 && random.chance(0.7)) {
    knobs["max_jump"] = between(random, 1, longest);
    knobs["skip_trigger"] = between(random, 1, 3);
    knobs["skip_keep_self"] = random.chance(0.5);
  }
  return knobs;
}

Knobs draw_prague(Random& random, Cluster& cluster) {
  std::vector<int>& hosts = cluster.network.host_of;
  if (cluster.nodes % 4 == 0 && random.chance(0.5)) {
    for (int w = 0; w < cluster.nodes; ++w) hosts.push_back(w / 4);
    return {{"groups", std::string("static")}};
  }
  for (int r = 0; r <= cluster.nodes && (r > 0 || random.chance(0.5)); ++r) hosts.push_back(int(random.below(3)));
  return {{"group_size", between(random, 2, 5)},
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

Draw draw(const std::string& protocol, std::uint64_t seed) {
  Random random({.seed = seed, .purpose = Purpose::kTest});
  Draw drawn;
  drawn.cluster.seed = seed;
  drawn.cluster.workload.size = 4;
  drawn.cluster.workload.batch = 2;
  draw_world(random, drawn.cluster);
  if (protocol == "hop") drawn.knobs = draw_hop(random, drawn.cluster);
  if (protocol == "dpsgd") drawn.knobs = {{"form", std::string(random.chance(0.5) ? "parallel" : "serial")}};
  if (protocol == "prague") drawn.knobs = draw_prague(random, drawn.cluster);
  if (protocol == "partial_reduce") drawn.knobs = draw_partial_reduce(random, drawn.cluster);
  if (protocol == "ps_ssp") drawn.knobs["staleness"] = between(random, 0, 4);
  if (protocol.rfind("ps_", 0) == 0) drawn.knobs["servers"] = between(random, 1, 3);
  const Protocol& found = find_protocol(protocol);
  KnobValues values(found.knobs);
  for (const auto& [name, value] : drawn.knobs) values.set(found.knobs, name, value);
  const bool lockstep = found.control == nullptr || found.control(values) == Control::kLockstep;
  if (!lockstep && random.chance(0.4)) drawn.cluster.credits = between(random, 10, 20) * drawn.cluster.nodes;
  return drawn;
}

std::string text(const Draw& drawn) {
  std::string all = std::to_string(drawn.cluster.nodes) + " ranks, " + drawn.cluster.topology;
  for (const auto& [name, value] : drawn.knobs) all += ", " + name + " = " + to_string(value);
  return all;
}

std::uint64_t variable(const char* name, std::uint64_t fallback) {
  const char* value = std::getenv(name);
  return value == nullptr ? fallback : std::strtoull(value, nullptr, 10);
}

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const Protocol* protocol : protocols()) all.emplace_back(protocol->name);
  return all;
}

class Invariants : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Registered, Invariants, testing::ValuesIn(names()),
                         [](const auto& param) { return param.param; });

TEST_P(Invariants, HoldInEveryDrawnCluster) {
  const std::uint64_t only = variable("HB_SEED", 0);
  const std::uint64_t first = only != 0 ? only : 1, last = only != 0 ? only : variable("HB_SEEDS", 200);
  std::map<std::string, std::int64_t> looked;
  std::int64_t jumped = 0;
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    Draw drawn = draw(GetParam(), seed);
    std::string trouble;
    try {
      drawn.cluster.run(GetParam(), drawn.knobs);
      trouble = drawn.cluster.broken();
    } catch (const Error& error) {
      trouble = error.what();
    }
    if (trouble.empty()) {
      jumped += drawn.cluster.total(&RankRecord::iters_jumped);
      for (const auto& checker : drawn.cluster.checks->list()) looked[checker->name()] += checker->looked();
      continue;
    }
    FAIL() << GetParam() << " with seed " << seed << " (" << text(drawn) << "):\n"
           << trouble << "\nrepeat: HB_SEED=" << seed
           << " tests/invariants_test --gtest_filter=Registered/Invariants.HoldInEveryDrawnCluster/" << GetParam();
  }
  if (last - first < 100) return;
  // A sweep that never comes near an invariant would show nothing.
  for (const auto& [checker, times] : looked) EXPECT_GT(times, 100) << checker;
  if (GetParam() == "hop") {
    EXPECT_EQ(looked.size(), 12u);
    EXPECT_GT(jumped, 100);
  }
}

}  // namespace
}  // namespace hopbench
