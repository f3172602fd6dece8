// Gossip over graphs that change from iteration to iteration: one-peer, MATCHA, DSGD-AAU.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "protocols/gossip/path_search.h"
#include "protocols/node/matchings.h"
#include "tests/cluster_models.h"

namespace hopbench::gossip {
namespace {

TEST(OnePeer, IsSgpWithOnePeer) {
  Cluster one{.nodes = 8, .slow = {{2, 3.0}}, .iterations = 30}, sgp = one;
  one.run("one_peer");
  sgp.run("sgp");
  EXPECT_LT(distance(one.mean_model(), sgp.mean_model()), 1e-5);
  EXPECT_EQ(one.broken(), "");
}

TEST(OnePeer, MakesAllModelsTheirMeanInLogNIterationsWithoutSteps) {
  Cluster cluster{.nodes = 8, .iterations = 13};
  cluster.optimizer.steps = {{10, 0.0f}};
  cluster.run("one_peer");
  for (int w = 1; w < 8; ++w) expect_near(cluster.params(w), cluster.params(0), 1e-6);
}

Topology barbell() {  // two triangles and a bridge, 2 - 3
  std::vector<Edge> edges;
  for (const auto& [a, b] : {Edge{0, 1}, Edge{1, 2}, Edge{0, 2}, Edge{3, 4}, Edge{4, 5}, Edge{3, 5}, Edge{2, 3}}) {
    edges.emplace_back(a, b);
    edges.emplace_back(b, a);
  }
  return Topology("barbell", 6, edges);
}

TEST(Matchings, HoldEveryEdgeOnceAndAreFew) {
  std::vector<Topology> graphs = {barbell()};
  for (const char* name : {"ring", "complete", "star"}) {
    for (const int n : {2, 3, 5, 8, 13}) graphs.push_back(make_topology(name, n));
  }
  graphs.push_back(make_topology("ring_based", 16));
  graphs.push_back(make_topology("double_ring", 16));
  for (const Topology& graph : graphs) {
    SCOPED_TRACE(graph.name() + " of " + std::to_string(graph.size()));
    std::set<Edge> seen;
    std::size_t degree = 0, links = 0;
    for (int r = 0; r < graph.size(); ++r) {
      degree = std::max(degree, graph.in(r).size());
      links += graph.in(r).size();
    }
    const auto matchings = matchings_of(graph);
    EXPECT_LE(matchings.size(), degree + 1);
    for (const auto& matching : matchings) {
      std::set<int> workers;
      for (const auto& [a, b] : matching) {
        EXPECT_LT(a, b);
        EXPECT_TRUE(seen.emplace(a, b).second);
        EXPECT_TRUE(workers.insert(a).second && workers.insert(b).second) << "a worker is in it twice";
      }
    }
    EXPECT_EQ(seen.size(), links / 2);
  }
}

TEST(Matcha, SendsTheShareThatItsBudgetAllows) {
  const auto sent = [](double budget) {
    Cluster cluster{.nodes = 8, .topology = "complete", .iterations = 400};
    cluster.run("matcha", {{"budget", budget}});
    EXPECT_EQ(cluster.broken(), "");
    return double(cluster.total(&RankRecord::bytes_sent));
  };
  EXPECT_NEAR(sent(0.3) / sent(1.0), 0.3, 0.05);
}

TEST(PathSearch, WaitsForALinkThatIsNewInItsEpoch) {
  const Topology ring = make_topology("ring", 4);
  PathSearch search(ring);
  using Group = std::vector<int>;
  search.done(0);
  EXPECT_EQ(search.next_group(), Group{});
  search.done(2);
  EXPECT_EQ(search.next_group(), Group{}) << "0 and 2 are no neighbours";
  search.done(1);
  EXPECT_EQ(search.next_group(), (Group{0, 1, 2}));
  search.done(0);
  search.done(1);
  EXPECT_EQ(search.next_group(), Group{}) << "0 - 1 is used in this epoch";
  search.done(3);
  EXPECT_EQ(search.next_group(), (Group{0, 1, 3})) << "0 - 3 is new, and connects all: a new epoch";
  search.done(0);
  search.done(1);
  EXPECT_EQ(search.next_group(), (Group{0, 1}));
}

TEST(PathSearch, LetsAllGoOnWhenNobodyElseIsLeft) {
  const Topology ring = make_topology("ring", 4);
  PathSearch search(ring);
  search.done(0);
  search.left(1);
  search.left(3);
  EXPECT_EQ(search.next_group(), std::vector<int>{});
  search.done(2);
  EXPECT_EQ(search.next_group(), (std::vector<int>{0, 2}));
}

TEST(ActiveNeighbours, WeighByTheGraphOfTheActiveOnes) {
  const Topology star = make_topology("star", 5);
  const ActiveNeighbours centre = active_neighbours(star, 0, {0, 2, 3}), outer = active_neighbours(star, 2, {0, 2, 3});
  EXPECT_EQ(centre.ranks, (std::vector<int>{2, 3}));
  EXPECT_NEAR(centre.own, 1.0 / 3, 1e-12);
  EXPECT_EQ(outer.ranks, std::vector<int>{0});
  EXPECT_NEAR(outer.weights[0], 1.0 / 3, 1e-12);
}

TEST(DsgdAau, LetsFastWorkersDoMoreThanASlowOne) {
  Cluster cluster{.nodes = 8, .slow = {{3, 8.0}}, .topology = "complete", .credits = 400};
  cluster.compute.push_back({.what = SlowdownKind::kExponential, .scale = 0.1});  // else all fast ones go on at once
  cluster.run("dsgd_aau");
  EXPECT_EQ(cluster.broken(), "");
  EXPECT_GT(cluster.records[0].iters, 2 * cluster.records[3].iters);
}

TEST(Dybw, DropsTheWorkOfASlowWorkerButNotAlways) {
  Cluster cluster{.nodes = 6, .slow = {{3, 4.0}}, .topology = "ring", .iterations = 60};
  cluster.workload.batch = 16;
  cluster.run("dybw");
  EXPECT_EQ(cluster.broken(), "");
  EXPECT_LE(cluster.records[3].samples, cluster.records[0].samples / 2);
  EXPECT_GT(cluster.records[3].samples, 0);
  for (int w = 0; w < 6; ++w) {
    const RankRecord& rank = cluster.records[std::size_t(w)];
    EXPECT_EQ(double(rank.gradients) + rank.figures.at("gradients cut"), 60) << w;
  }
  EXPECT_GE(cluster.records[3].figures.at("gradients cut"), 30) << "stopped before their end";
  EXPECT_EQ(cluster.records[3].samples, 16 * cluster.records[3].gradients) << "the computed ones are whole";
  Cluster whole = cluster;
  whole.run("dpsgd");
  EXPECT_LT(to_seconds(cluster.end - Time{}), 0.8 * to_seconds(whole.end - Time{}));
}

// All are done at one instant, whatever the order in which the controller hears of it.
TEST(ActiveRounds, AreOfAllThatAreDoneAtOneInstant) {
  for (const char* name : {"dybw", "dsgd_aau"}) {
    for (const bool instant : {true, false}) {
      Cluster cluster{.nodes = 16, .topology = "ring_based", .iterations = 20};
      cluster.workload.batch = 8;
      cluster.instant_network = instant;
      cluster.keep_events = true;
      cluster.run(name);
      EXPECT_EQ(cluster.broken(), "") << name;
      EXPECT_EQ(cluster.total(&RankRecord::gradients_lost), 0) << name;
      EXPECT_EQ(cluster.total(&RankRecord::samples), 16 * 20 * 8) << name;
      const auto averages = [](const Event& event) { return event.what == EventKind::kReduced; };
      EXPECT_EQ(std::count_if(cluster.events.begin(), cluster.events.end(), averages), 16 * 20) << name;
    }
  }
}

TEST(Moshpit, InOneDimensionIsLocalSgd) {
  Cluster grid{.nodes = 6, .slow = {{2, 3.0}}, .iterations = 20}, local = grid;
  grid.run("moshpit", {{"dimensions", 1}});
  local.run("local_sgd", {{"period", 1}});
  EXPECT_LT(distance(grid.mean_model(), local.mean_model()), 1e-5);
}

TEST(Moshpit, OnAFullGridMakesAllModelsOneInDRounds) {
  Cluster cluster{.nodes = 8, .iterations = 13};
  cluster.optimizer.steps = {{10, 0.0f}};
  cluster.run("moshpit", {{"dimensions", 3}});
  for (int w = 1; w < 8; ++w) expect_near(cluster.params(w), cluster.params(0), 1e-6);
}

TEST(Moshpit, RefusesAGridInWhichNobodyHasAPartner) {
  Cluster cluster{.nodes = 4, .iterations = 4};
  EXPECT_THROW(cluster.run("moshpit", {{"dimensions", 4}}), Error);
  EXPECT_NO_THROW(cluster.run("moshpit", {{"dimensions", 2}}));
}

}  // namespace
}  // namespace hopbench::gossip
