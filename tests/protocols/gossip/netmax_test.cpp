// NetMax: its policies on 200 random networks, against what linear programmes find (netmax_optima.py), and how it
// pulls.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <numeric>
#include <sstream>

#include "protocols/gossip/netmax_policy.h"
#include "protocols/node/eigenvalues.h"
#include "tests/cluster_models.h"
#include "tests/paths.h"

namespace hopbench::gossip {
namespace {

struct RandomNetwork {
  Topology graph;
  PullTimes times;  // in milliseconds
  double optimum;   // the best rate that linear programmes find
};

std::vector<RandomNetwork> random_networks() {
  std::ifstream table(source_dir() + "/tests/protocols/gossip/netmax_optima.csv");
  std::vector<RandomNetwork> all;
  for (std::string line; std::getline(table, line);) {
    std::replace(line.begin(), line.end(), ',', ' ');
    std::istringstream numbers(line);
    std::size_t n = 0;
    double optimum = 0;
    numbers >> n >> optimum;
    std::vector<std::vector<double>> times(n, std::vector<double>(n));
    std::vector<double> alone(n);
    std::vector<Edge> edges;
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t m = 0; m < n; ++m) {
        numbers >> times[i][m];
        if (m == i) alone[i] = times[i][m];
        if (m != i && times[i][m] > 0) edges.emplace_back(int(i), int(m));
      }
    }
    EXPECT_TRUE(numbers) << line;
    all.push_back({Topology("random", int(n), edges), {.pulling = times, .alone = alone}, optimum});
  }
  return all;
}

/// The rate by its definition: the mean W'W of W = 1 - w e_i (e_i - e_m)', entry by entry.
double rate(const RandomNetwork& network, const PullPolicy& policy) {
  const auto n = std::size_t(network.graph.size());
  std::vector<std::vector<double>> square(n, std::vector<double>(n, 0.0));
  double seconds = 0;
  for (std::size_t i = 0; i < n; ++i) {
    square[i][i] += 1;
    seconds += policy.chances[i][i] * network.times.alone[i];
    for (const int neighbour : network.graph.in(int(i))) {
      const auto m = std::size_t(neighbour);
      const double chance = policy.chances[i][m], w = policy.pull / chance;
      seconds += chance * network.times.pulling[i][m];
      square[i][i] += chance / double(n) * (w * w - 2 * w);
      square[m][m] += chance / double(n) * w * w;
      square[i][m] += chance / double(n) * (w - w * w);
      square[m][i] += chance / double(n) * (w - w * w);
    }
  }
  return -std::log(eigenvalues(square)[n - 2]) / (seconds / double(n));
}

/// The policy for other times, as if the network had changed since.
PullPolicy old_policy(const RandomNetwork& network) {
  PullTimes old = network.times;
  for (auto& row : old.pulling) {
    for (double& time : row) time = time > 0 ? 200 + std::fmod(time * 7919, 6000) : 0;
  }
  return best_policy(network.graph, old, uniform_policy(network.graph));
}

/// Expects no pull above a half, and whole multiples of 1e-9, which it adds to a sum that stands for their bits.
void expect_valid(const Topology& graph, const PullPolicy& policy, std::uint64_t& sum) {
  const auto add = [&](double number) {
    const double units = std::round(number * 1e9);
    EXPECT_EQ(number, units / 1e9);
    sum = sum * 1099511628211U + std::uint64_t(units);
  };
  add(policy.pull);
  for (const int i : graph.ranks()) {
    const std::vector<double>& chances = policy.chances[std::size_t(i)];
    EXPECT_NEAR(std::accumulate(chances.begin(), chances.end(), 0.0), 1, 2e-8);
    for (const int m : graph.in(i)) EXPECT_GE(chances[std::size_t(m)], 2 * policy.pull);
    std::for_each(chances.begin(), chances.end(), add);
  }
}

TEST(PullPolicy, OfRandomNetworksIsNoWorseThanTheUniformOneOrTheOneInForceAndNearTheOptimum) {
  const std::vector<RandomNetwork> networks = random_networks();
  ASSERT_EQ(networks.size(), 200u);
  std::uint64_t sum = 0;
  int better = 0;
  for (std::size_t k = 0; k < networks.size(); ++k) {
    SCOPED_TRACE("line " + std::to_string(k + 1));
    const RandomNetwork& network = networks[k];
    const PullPolicy uniform = uniform_policy(network.graph), old = old_policy(network),
                     fresh = best_policy(network.graph, network.times, uniform),
                     next = best_policy(network.graph, network.times, old);
    for (const PullPolicy& each : {uniform, old, fresh, next}) expect_valid(network.graph, each, sum);
    EXPECT_GE(rate(network, fresh), rate(network, uniform) * (1 - 1e-9));
    EXPECT_GE(rate(network, next), rate(network, uniform) * (1 - 1e-9));
    EXPECT_GE(rate(network, next), rate(network, old) * (1 - 1e-9));
    EXPECT_GE(rate(network, fresh), 0.95 * network.optimum);
    EXPECT_GE(rate(network, next), 0.95 * network.optimum);
    EXPECT_NEAR(consensus_rate(network.graph, network.times, old) / rate(network, old), 1, 1e-6);
    better += rate(network, fresh) > 1.05 * rate(network, uniform);
  }
  EXPECT_GT(better, 20) << "the search finds nothing";
  EXPECT_EQ(sum, 1433321288778169074U) << "not the same bits with every compiler";
}

// With a link that is not much slower, no policy brings models together sooner than the uniform one.
TEST(PullPolicy, PullsOverAVerySlowLinkLessOften) {
  const Topology graph = make_topology("complete", 5);
  PullTimes times{.pulling = std::vector<std::vector<double>>(5, std::vector<double>(5, 1.0)),
                  .alone = std::vector<double>(5, 1.0)};
  times.pulling[0][1] = times.pulling[1][0] = 40;
  const PullPolicy policy = best_policy(graph, times, uniform_policy(graph));
  EXPECT_LT(policy.chances[0][1], 0.6 * policy.chances[0][2]);
}

TEST(PullPolicy, StartsWithAllNeighboursAlike) {
  const PullPolicy ring = uniform_policy(make_topology("ring", 4)), star = uniform_policy(make_topology("star", 4));
  EXPECT_EQ(ring.chances[0][1], 0.5);
  EXPECT_EQ(ring.chances[0][2], 0.0);
  EXPECT_EQ(ring.pull, 0.25);
  EXPECT_NEAR(star.pull / star.chances[1][0], 1.0 / 6, 1e-8) << "of one neighbour, where another worker has three";
}

TEST(PullPolicy, StaysForALittleGain) {
  const Topology graph = make_topology("ring", 8);
  PullTimes times{.pulling = std::vector<std::vector<double>>(8, std::vector<double>(8, 1.0)),
                  .alone = std::vector<double>(8, 1.0)};
  for (std::size_t i = 0; i < 8; ++i) times.pulling[i][(i + 1) % 8] = 1 + 0.001 * double(i * i % 7);
  EXPECT_EQ(best_policy(graph, times, uniform_policy(graph)).chances, uniform_policy(graph).chances);
}

TEST(PullPolicy, OfOneWorkerIsToPullFromNobody) {
  const PullPolicy alone = uniform_policy(make_topology("ring", 1));
  EXPECT_EQ(best_policy(make_topology("ring", 1), {.pulling = {{0.0}}, .alone = {1.0}}, alone).chances, alone.chances);
}

// Workers 0 and 1 are far from each other: a pull between them takes forty gradients' time.
TEST(NetMax, PullsOverAVerySlowLinkLessOften) {
  Cluster cluster{.nodes = 4, .topology = "complete", .iterations = 400};
  cluster.network.links.push_back({.a = 0, .b = 1, .latency = std::chrono::milliseconds(200)});
  cluster.keep_events = true;
  cluster.run("netmax", {{"every", 10}});
  EXPECT_EQ(cluster.broken(), "");
  const auto pulls = [&](int from) {
    return std::count_if(cluster.events.begin(), cluster.events.end(), [&](const Event& event) {
      return event.what == EventKind::kSend && event.kind == std::uint16_t(kRequest) && event.rank == 0 &&
             event.peer == from && event.iter >= 100;
    });
  };
  EXPECT_LT(pulls(1), 0.75 * double(pulls(2)));
  EXPECT_GT(pulls(1), 0) << "every neighbour keeps a chance";
}

}  // namespace
}  // namespace hopbench::gossip
