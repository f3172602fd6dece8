#include "protocols/node/topology.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <functional>
#include <string>

#include "backends/base/error.h"
#include "backends/base/random.h"

namespace hopbench {
namespace {

using Ranks = std::vector<int>;

std::string error_of(const std::string& name, int n) {
  try {
    make_topology(name, n);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kUsage);
    return error.what();
  }
  return "";
}

TEST(Topology, RingJoinsEachWorkerWithTheTwoBesideIt) {
  const Topology ring = make_topology("ring", 5);
  EXPECT_EQ(ring.in(0), (Ranks{1, 4}));
  EXPECT_EQ(ring.out(3), (Ranks{2, 4}));
  EXPECT_EQ(make_topology("ring", 2).in(0), (Ranks{1}));
}

TEST(Topology, RingBasedAddsTheOppositeWorker) {
  const Topology graph = make_topology("ring_based", 8);
  EXPECT_EQ(graph.in(0), (Ranks{1, 4, 7}));
  EXPECT_EQ(graph.in(6), (Ranks{2, 5, 7}));
}

TEST(Topology, DoubleRingJoinsTwoRingBasedGraphsWorkerToWorker) {
  const Topology graph = make_topology("double_ring", 16);
  EXPECT_EQ(graph.in(0), (Ranks{1, 4, 7, 8}));
  EXPECT_EQ(graph.in(13), (Ranks{5, 9, 12, 14}));
}

TEST(Topology, CompleteAndStar) {
  EXPECT_EQ(make_topology("complete", 4).in(2), (Ranks{0, 1, 3}));
  EXPECT_EQ(make_topology("star", 4).in(0), (Ranks{1, 2, 3}));
  EXPECT_EQ(make_topology("star", 4).in(2), (Ranks{0}));
}

TEST(Topology, NamedOnesAreConnectedAndAllButOneUndirected) {
  for (const auto& [name, summary] : topologies()) {
    for (int n : {1, 4, 8, 16}) {
      if (!error_of(name, n).empty()) continue;  // a torus of 4 or 8
      const Topology graph = make_topology(name, n);
      EXPECT_EQ(graph.size(), n);
      EXPECT_EQ(graph.undirected(), n == 1 || std::string(name) != "exponential") << name << " " << n;
      EXPECT_TRUE(graph.strongly_connected()) << name << " " << n;
    }
  }
}

// The published gaps of uniform weights with self loops, to four digits.
TEST(Topology, SpectralGapsAreThePublishedOnes) {
  EXPECT_NEAR(make_topology("ring", 8).spectral_gap(), 0.1953, 5e-5);
  EXPECT_NEAR(make_topology("ring_based", 8).spectral_gap(), 0.5000, 5e-5);
  EXPECT_NEAR(make_topology("double_ring", 8).spectral_gap(), 0.4000, 5e-5);
  EXPECT_NEAR(make_topology("ring", 16).spectral_gap(), 0.0507, 5e-5);
  EXPECT_NEAR(make_topology("ring_based", 16).spectral_gap(), 0.1464, 5e-5);
  EXPECT_NEAR(make_topology("double_ring", 16).spectral_gap(), 0.4000, 5e-5);
}

TEST(Topology, SpectralGapOfACirculantAndOfTheExtremes) {
  std::vector<Edge> edges;
  for (int i = 0; i < 8; ++i) {
    for (int hop : {1, 2, 4}) {
      edges.emplace_back(i, (i + hop) % 8);
      edges.emplace_back((i + hop) % 8, i);
    }
  }
  EXPECT_NEAR(Topology("C8(1,2,4)", 8, edges).spectral_gap(), 2.0 / 3, 1e-12);
  EXPECT_NEAR(make_topology("complete", 6).spectral_gap(), 1.0, 1e-12);
  EXPECT_NEAR(Topology("two islands", 4, {{0, 1}, {1, 0}, {2, 3}, {3, 2}}).spectral_gap(), 0.0, 1e-12);
}

TEST(Topology, SpectralGapOfAGraphWithoutEqualDegrees) {
  // A star of 3: rows (1,1,1)/3, (1,1,0)/2, (1,0,1)/2 have the eigenvalues 1, 1/2, -1/6.
  EXPECT_NEAR(make_topology("star", 3).spectral_gap(), 0.5, 1e-12);
}

TEST(Topology, WeightsAreUniformOverInNeighboursAndSelf) {
  const auto w = Topology("path", 3, {{0, 1}, {1, 0}, {2, 1}, {1, 2}}).weights();
  EXPECT_EQ(w[0], (std::vector<double>{0.5, 0.5, 0}));
  EXPECT_EQ(w[1], (std::vector<double>{1.0 / 3, 1.0 / 3, 1.0 / 3}));
}

TEST(Topology, MetropolisWeightsAreSymmetricAndLeaveSomethingForTheWorkerItself) {
  for (const char* name : {"star", "ring", "complete"}) {
    const Topology graph = make_topology(name, 8);
    EXPECT_EQ(graph.regular(), std::string(name) != "star");
    for (const int i : graph.ranks()) {
      double given = 0;
      for (const int j : graph.in(i)) {
        EXPECT_EQ(metropolis_weight(graph, i, j), metropolis_weight(graph, j, i));
        given += metropolis_weight(graph, i, j);
      }
      EXPECT_GT(1 - given, 0.1) << name << " " << i;
      if (graph.regular()) {
        EXPECT_NEAR(1 - given, 1.0 / double(graph.in(i).size() + 1), 1e-12);
      }
    }
  }
  EXPECT_EQ(metropolis_weight(make_topology("star", 8), 0, 3), 1.0 / 8);
  EXPECT_TRUE(Topology("one way", 3, {{0, 1}, {1, 2}, {2, 0}}).regular());
  EXPECT_FALSE(Topology("two to one", 3, {{0, 1}, {1, 2}, {2, 0}, {0, 2}}).regular());
}

TEST(Topology, DistanceFollowsTheDirectionOfEdges) {
  const Topology one_way("one way", 4, {{0, 1}, {1, 2}, {2, 3}, {3, 0}});
  EXPECT_EQ(one_way.in(1), (Ranks{0}));
  EXPECT_EQ(one_way.out(1), (Ranks{2}));
  EXPECT_EQ(one_way.distance(0, 3), 3);
  EXPECT_EQ(one_way.distance(3, 0), 1);
  EXPECT_EQ(one_way.distance(2, 2), 0);
  EXPECT_EQ(one_way.diameter(), 3);
  EXPECT_FALSE(one_way.undirected());
  EXPECT_TRUE(one_way.strongly_connected());

  const Topology dead_end("dead end", 3, {{0, 1}, {1, 0}, {1, 2}});
  EXPECT_EQ(dead_end.distance(0, 2), 2);
  EXPECT_EQ(dead_end.distance(2, 0), -1);
  EXPECT_EQ(dead_end.diameter(), -1);
  EXPECT_FALSE(dead_end.strongly_connected());
}

TEST(Topology, DiametersOfTheNamedOnes) {
  EXPECT_EQ(make_topology("ring", 8).diameter(), 4);
  EXPECT_EQ(make_topology("ring_based", 8).diameter(), 2);
  EXPECT_EQ(make_topology("star", 8).diameter(), 2);
}

// --- The largest distance and lead, against their definitions: every pair of ranks, one after the other.

int diameter_by_definition(const Topology& graph) {
  int largest = 0;
  for (const int i : graph.ranks()) {
    for (const int j : graph.ranks()) {
      if (graph.distance(i, j) < 0) return -1;
      largest = std::max(largest, graph.distance(i, j));
    }
  }
  return largest;
}

std::int64_t lead_by_definition(const Topology& graph, std::int64_t there, std::int64_t back) {
  if (there == 0 && back == 0) return -1;
  std::int64_t largest = 0;
  for (const int i : graph.ranks()) {
    for (const int j : graph.ranks()) {
      const std::int64_t to = graph.distance(i, j), from = graph.distance(j, i);
      if (to < 0 || from < 0) return -1;
      std::vector<std::int64_t> limits;
      if (there > 0) limits.push_back(there * to);
      if (back > 0) limits.push_back(back * from);
      largest = std::max(largest, *std::min_element(limits.begin(), limits.end()));
    }
  }
  return largest;
}

void expect_definitions(const Topology& graph, const std::string& what) {
  EXPECT_EQ(graph.diameter(), diameter_by_definition(graph)) << what;
  for (const auto& [there, back] : {std::pair{0, 0}, {0, 3}, {5, 0}, {5, 1}, {1, 5}, {2, 3}}) {
    EXPECT_EQ(graph.largest_lead(there, back), lead_by_definition(graph, there, back))
        << what << ", " << there << " there, " << back << " back";
  }
}

TEST(Topology, LargestDistancesOfTheNamedOnesAreTheirDefinitions) {
  for (const auto& [name, summary] : topologies()) {
    for (const int n : {1, 2, 3, 4, 5, 6, 8, 12, 16, 20}) {
      if (error_of(name, n).empty()) expect_definitions(make_topology(name, n), std::string(name) + std::to_string(n));
    }
  }
}

/// Each possible edge with the same probability, over a cycle in three graphs of four: so most are strongly connected.
Topology drawn_digraph(int seed) {
  Random random({.rank = 0, .iteration = seed});
  const int n = 2 + int(random.below(9));
  const std::uint64_t one_in = 2 + random.below(8);
  std::vector<Edge> edges;
  for (int i = 0; i < n; ++i) {
    if (seed % 4 != 0) edges.emplace_back(i, (i + 1) % n);
    for (int j = 0; j < n; ++j) {
      if (i != j && random.below(one_in) == 0) edges.emplace_back(i, j);
    }
  }
  return Topology("edges", n, edges);
}

TEST(Topology, LargestDistancesOfDigraphsAreTheirDefinitions) {
  int connected = 0;
  for (int seed = 0; seed < 200; ++seed) {
    const Topology graph = drawn_digraph(seed);
    expect_definitions(graph, "digraph " + std::to_string(seed));
    connected += graph.strongly_connected() ? 1 : 0;
  }
  EXPECT_GT(connected, 100);
  EXPECT_LT(connected, 200);
}

// A name is no proof: a path may be called a ring, and from its middle the ends are near.
TEST(Topology, AGraphWithEdgesOfItsOwnIsMeasuredFromEveryRankWhateverItsName) {
  const Topology path("ring", 5, {{2, 0}, {0, 2}, {0, 1}, {1, 0}, {2, 3}, {3, 2}, {3, 4}, {4, 3}, {0, 3}, {3, 0}});
  expect_definitions(path, "path");
  EXPECT_EQ(path.starts().size(), 5U);
}

double cpu_seconds(const std::function<void()>& work) {
  const std::clock_t begin = std::clock();
  work();
  return double(std::clock() - begin) / CLOCKS_PER_SEC;
}

// A search per pair would be 2 n^2 searches: 400 times as many as the n + n of this ratio's denominator.
TEST(Topology, TheLargestLeadTakesASearchPerRankNotPerPair) {
  std::vector<Edge> edges;
  for (int i = 0; i < 400; ++i) {
    edges.emplace_back(i, (i + 1) % 400);
    edges.emplace_back(i, (i + 7) % 400);
  }
  const Topology graph("edges", 400, edges);
  const double searches = cpu_seconds([&] {
    for (const int rank : graph.ranks()) EXPECT_EQ(graph.distances_from(rank).size(), graph.distances_to(rank).size());
  });
  EXPECT_LT(cpu_seconds([&] { EXPECT_GT(graph.largest_lead(5, 1), 0); }), 20 * searches + 0.01);
}

TEST(Topology, DistancesOfNamedOnesAreMeasuredFromOneRankOfEachKind) {
  for (const auto& [name, summary] : topologies()) {
    const bool star = std::string(name) == "star";
    EXPECT_EQ(make_topology(name, 16).starts(), star ? (Ranks{0, 1}) : (Ranks{0})) << name;
  }
  EXPECT_EQ(make_topology("ring_based", 10'000).largest_lead(5, 1), 2500);
}

TEST(Topology, DropsDuplicateEdgesAndSortsNeighbours) {
  const Topology graph("edges", 3, {{2, 0}, {1, 0}, {2, 0}});
  EXPECT_EQ(graph.in(0), (Ranks{1, 2}));
  EXPECT_EQ(graph.out(2), (Ranks{0}));
}

TEST(Topology, RefusesEdgesToNobodyAndLoops) {
  EXPECT_THROW(Topology("edges", 3, {{0, 3}}), Error);
  EXPECT_THROW(Topology("edges", 3, {{-1, 0}}), Error);
  EXPECT_THROW(Topology("edges", 3, {{1, 1}}), Error);
  EXPECT_THROW(Topology("edges", 0, {}), Error);
}

TEST(Topology, OfATorusIsAGridThatClosesOnItself) {
  const Topology twelve = make_topology("torus", 12);  // 3 x 4
  EXPECT_EQ(twelve.in(0), (Ranks{1, 3, 4, 8}));
  EXPECT_EQ(twelve.in(6), (Ranks{2, 5, 7, 10}));
  EXPECT_TRUE(twelve.undirected() && twelve.regular());
  EXPECT_EQ(make_topology("torus", 16).diameter(), 4);
  EXPECT_NE(error_of("torus", 8).find("two numbers that are 3 or more"), std::string::npos);
  EXPECT_NE(error_of("torus", 13), "");
}

TEST(Topology, OfAStaticExponentialGraphReachesAllInLogNSteps) {
  const Topology graph = make_topology("exponential", 16);
  EXPECT_EQ(graph.out(3), (Ranks{4, 5, 7, 11}));
  EXPECT_EQ(graph.diameter(), 4);
  EXPECT_FALSE(graph.undirected());
  EXPECT_EQ(make_topology("exponential", 5).out(4), (Ranks{0, 1, 3}));
}

TEST(Topology, SmallestMixingEigenvaluesAreTheirClosedForms) {
  EXPECT_NEAR(smallest_mixing_eigenvalue(make_topology("ring", 8)), -1.0 / 3, 1e-12);
  EXPECT_NEAR(smallest_mixing_eigenvalue(make_topology("ring", 5)), (1 + 2 * std::cos(0.8 * std::acos(-1.0))) / 3,
              1e-12);
  EXPECT_NEAR(smallest_mixing_eigenvalue(make_topology("complete", 6)), 0, 1e-12);
  EXPECT_NEAR(smallest_mixing_eigenvalue(make_topology("ring_based", 10)), -0.5, 1e-12);
}

// The eigenvector of a bipartite graph has one sign on each side, wherever the sides' ranks are.
TEST(Topology, SmallestMixingEigenvaluesDoNotDependOnTheNumbering) {
  std::vector<Edge> edges;
  for (const int a : {0, 3, 5, 6}) {
    for (const int b : {1, 2, 4, 7}) edges.insert(edges.end(), {{a, b}, {b, a}});
  }
  EXPECT_NEAR(smallest_mixing_eigenvalue(Topology("two sides", 8, edges)), -0.6, 1e-12);
  EXPECT_NEAR(smallest_mixing_eigenvalue(
                  Topology("cycle", 4, {{0, 1}, {1, 0}, {1, 3}, {3, 1}, {3, 2}, {2, 3}, {2, 0}, {0, 2}})),
              -1.0 / 3, 1e-12);
}

TEST(Topology, ErrorsSayWhatToDo) {
  const std::string unknown = error_of("ring_base", 8);
  EXPECT_NE(unknown.find("Did you mean 'ring_based'?"), std::string::npos) << unknown;
  EXPECT_NE(unknown.find("double_ring"), std::string::npos) << unknown;
  EXPECT_NE(error_of("ring_based", 7).find("an even number"), std::string::npos);
  EXPECT_NE(error_of("double_ring", 6).find("a multiple of 4"), std::string::npos);
}

}  // namespace
}  // namespace hopbench
