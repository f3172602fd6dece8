#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "protocols/gossip/hops.h"
#include "tests/cluster.h"

namespace hopbench::gossip {
namespace {

using Ranks = std::vector<int>;

// Strongly connected, and nobody pushes to as many as it hears from.
const std::vector<Edge> kUneven = {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 0}, {0, 2}, {0, 3}, {1, 3}};

std::vector<float> model_of(const Cluster& cluster, int worker) {
  return Vec::copy_of(cluster.params(worker)).to_host();
}

// The weights that were sent beside x, of all workers and iterations.
std::vector<double> weights_sent(const Cluster& cluster) {
  std::vector<double> weights;
  for (const Event& event : cluster.events) {
    if (event.what == EventKind::kSend && event.kind == std::uint16_t(kParams))
      weights.push_back(std::bit_cast<double>(event.count));
  }
  return weights;
}

// The initial model moved by the mean of all gradients of iterations before k, each at its worker's model.
std::vector<float> mean_after(Cluster& cluster, Iter k) {
  Vec mean = cluster.work->initial();
  for (int w = 0; w < cluster.nodes; ++w) {
    for (Iter i = 0; i < k; ++i) {
      const Payload z =
          i == 0 ? cluster.work->initial().share() : cluster.reports[std::size_t(w)][std::size_t(i - 1)].x;
      Vec g = Vec::uninitialised(cluster.work->size());
      const int batch = cluster.workload.batch;
      cluster.work->gradient(z, w, std::uint64_t(i * batch), batch, g, [](int) {});
      mean.axpy(-cluster.optimizer.lr / float(cluster.nodes), share(g));
    }
  }
  return mean.to_host();
}

TEST(Hops, GoRoundThePowers) {
  const Hops one(8, 1);
  EXPECT_EQ(one.turns(), 3);
  EXPECT_EQ(one.to(6, 0), (Ranks{7}));
  EXPECT_EQ(one.to(6, 1), (Ranks{0}));
  EXPECT_EQ(one.to(6, 2), (Ranks{2}));
  EXPECT_EQ(one.to(6, 3), (Ranks{7}));
  EXPECT_EQ(one.from(6, 2), (Ranks{2}));
  EXPECT_EQ(Hops(9, 1).turns(), 4);
  const Hops two(8, 2);  // hops 1, 2; then 3, 6
  EXPECT_EQ(two.turns(), 2);
  EXPECT_EQ(two.to(0, 0), (Ranks{1, 2}));
  EXPECT_EQ(two.to(0, 1), (Ranks{3, 6}));
  EXPECT_EQ(two.from(0, 1), (Ranks{2, 5}));
  EXPECT_EQ(Hops(4, 2).to(0, 1), (Ranks{3})) << "6 goes further than round";
  EXPECT_EQ(Hops(1, 1).to(0, 5), Ranks{});
}

TEST(Hops, ReachEverybodyInOneRoundAndAreRegular) {
  for (int n = 1; n <= 20; ++n) {
    for (int p = 1; p <= 4; ++p) {
      const Hops hops(n, p);
      std::vector<char> heard(std::size_t(n), 0);
      heard[0] = 1;
      for (Iter k = 0; k < hops.turns(); ++k) {
        std::vector<char> next = heard;
        std::vector<int> in(std::size_t(n), 0);
        for (int r = 0; r < n; ++r) {
          for (int peer : hops.to(r, k)) {
            EXPECT_NE(peer, r);
            ++in[std::size_t(peer)];
            if (heard[std::size_t(r)]) next[std::size_t(peer)] = 1;
          }
          EXPECT_EQ(hops.from(r, k).size(), hops.to(r, k).size());
        }
        EXPECT_EQ(in, std::vector<int>(std::size_t(n), in[0]));
        heard = next;
      }
      EXPECT_EQ(heard, std::vector<char>(std::size_t(n), 1)) << n << " ranks, " << p << " peers";
    }
  }
}

TEST(Sgp, TendsToTheMeanWhateverTheGraphAndTheDelay) {
  for (const Iter overlap : {0, 1, 3}) {
    for (const bool uneven : {false, true}) {
      Cluster cluster{.nodes = 5, .slow = {{2, 3.0}}, .topology = "ring", .iterations = 200};
      if (uneven) cluster.edges = kUneven;
      cluster.optimizer.steps = {{8, 0.0f}};
      cluster.run("sgp", {{"overlap", overlap}, {"graph", std::string(uneven ? "topology" : "exponential")}});
      const std::vector<float> mean = mean_after(cluster, 8);
      for (int w = 0; w < 5; ++w) {
        const std::vector<float> z = model_of(cluster, w);
        for (std::size_t d = 0; d < z.size(); ++d) {
          EXPECT_NEAR(z[d], mean[d], 1e-4) << "worker " << w << ", overlap " << overlap << ", uneven " << uneven;
        }
      }
      EXPECT_EQ(cluster.broken(), "");
    }
  }
}

TEST(Sgp, KeepsTheWeightAtOneOnARegularGraph) {
  for (const Knobs& knobs : {Knobs{}, Knobs{{"peers", 2}}, Knobs{{"graph", std::string("topology")}}}) {
    Cluster cluster{.nodes = 7, .topology = "ring", .iterations = 50};
    cluster.keep_events = true;
    cluster.run("sgp", knobs);
    for (double w : weights_sent(cluster)) EXPECT_NEAR(w, 1, 1e-5);
    EXPECT_EQ(cluster.broken(), "");
  }
}

TEST(Sgp, HasOtherWeightsElsewhereAndAllArePositive) {
  for (const Iter overlap : {0, 2}) {
    Cluster cluster{.nodes = 5, .iterations = 50};
    cluster.edges = kUneven;
    cluster.keep_events = true;
    cluster.run("sgp", {{"graph", std::string("topology")}, {"overlap", overlap}});
    double least = 1, most = 1;
    for (double w : weights_sent(cluster)) {
      least = std::min(least, w);
      most = std::max(most, w);
    }
    EXPECT_GT(least, 0);
    EXPECT_LT(least, 0.7);
    EXPECT_GT(most, overlap == 0 ? 1.3 : 0.9);
    EXPECT_EQ(cluster.broken(), "");
  }
}

TEST(Sgp, WithOverlapKeepsTheShareOfTheWeightThatIsNotOnTheWay) {
  // One peer, overlap 1: w' = (w + w of the iteration before) / 2 tends to 2/3: a third is on the way.
  Cluster cluster{.nodes = 8, .iterations = 40};
  cluster.keep_events = true;
  cluster.run("sgp", {{"overlap", 1}});
  EXPECT_NEAR(weights_sent(cluster).back(), 2.0 / 3, 1e-6);
}

TEST(Sgp, MovesTheMeanByTheMeanGradient) {
  for (const Iter overlap : {0, 2}) {
    Cluster cluster{.nodes = 6, .slow = {{1, 4.0}}, .iterations = 12};
    cluster.run("sgp", {{"overlap", overlap}});
    const std::vector<float> is = cluster.mean_model(), should = mean_after(cluster, 12);
    for (std::size_t d = 0; d < is.size(); ++d) EXPECT_NEAR(is[d], should[d], 2e-5) << "overlap " << overlap;
  }
}

TEST(Sgp, WithEverybodyAsPeersIsAllReduce) {
  Cluster push{.nodes = 5, .topology = "complete", .iterations = 30}, reference = push;
  push.run("sgp", {{"peers", 4}});
  reference.run("allreduce");
  const std::vector<float> a = push.mean_model(), b = reference.mean_model();
  for (std::size_t d = 0; d < a.size(); ++d) EXPECT_NEAR(a[d], b[d], 1e-4);
  for (int w = 1; w < 5; ++w) EXPECT_EQ(hash_bits(push.params(w)), hash_bits(push.params(0)));
}

TEST(Sgp, OnARegularTopologyIsDPsgdInSerialForm) {
  Cluster push{.nodes = 6, .topology = "ring", .iterations = 20}, gossip = push;
  push.run("sgp", {{"graph", std::string("topology")}});
  gossip.run("dpsgd", {{"form", std::string("serial")}});
  EXPECT_EQ(push.params_hash(), gossip.params_hash());
}

TEST(Sgp, AveragesExactlyInOneRoundOfAPowerOfTwo) {
  Cluster cluster{.nodes = 8, .iterations = 7};
  cluster.optimizer.steps = {{4, 0.0f}};
  cluster.run("sgp");
  const std::vector<float> mean = mean_after(cluster, 4);
  for (int w = 0; w < 8; ++w) {
    const std::vector<float> z = model_of(cluster, w);
    for (std::size_t d = 0; d < z.size(); ++d) EXPECT_NEAR(z[d], mean[d], 1e-5);
  }
}

TEST(Sgp, EndsAlikeAtAnySpeeds) {
  for (const Iter overlap : {0, 2}) {
    Cluster even{.nodes = 8, .iterations = 20}, uneven{.nodes = 8, .slow = {{0, 5.0}, {6, 2.0}}, .iterations = 20};
    uneven.network.jitter = 2.0;
    even.run("sgp", {{"overlap", overlap}});
    uneven.run("sgp", {{"overlap", overlap}});
    EXPECT_EQ(even.params_hash(), uneven.params_hash());
  }
}

TEST(Sgp, HidesTheNetworkBehindTheGradientWithOverlap) {
  Cluster waits{.nodes = 8, .iterations = 20};
  waits.network.latency = std::chrono::milliseconds(8);  // less than a gradient
  Cluster hides = waits;
  waits.run("sgp");
  hides.run("sgp", {{"overlap", 1}});
  EXPECT_EQ(hides.records[0].marks[9].end, Time{} + std::chrono::milliseconds(100));
  EXPECT_GE(waits.records[0].marks[9].end, Time{} + std::chrono::milliseconds(10 * (10 + 8)));
}

TEST(Sgp, RefusesATopologyThatIsNotStronglyConnectedOnlyWhereItUsesIt) {
  Cluster cluster{.nodes = 3, .edges = {{0, 1}, {1, 2}}, .iterations = 3};
  EXPECT_THROW(cluster.run("sgp", {{"graph", std::string("topology")}}), Error);
  EXPECT_NO_THROW(cluster.run("sgp"));
}

}  // namespace
}  // namespace hopbench::gossip
