#include "protocols/topology.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "backends/base/error.h"

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

TEST(Topology, NamedOnesAreUndirectedAndConnected) {
  for (const auto& [name, summary] : topologies()) {
    for (int n : {1, 4, 8, 16}) {
      const Topology graph = make_topology(name, n);
      EXPECT_EQ(graph.size(), n);
      EXPECT_TRUE(graph.undirected()) << name << " " << n;
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

TEST(Topology, ErrorsSayWhatToDo) {
  const std::string unknown = error_of("ring_base", 8);
  EXPECT_NE(unknown.find("Did you mean 'ring_based'?"), std::string::npos) << unknown;
  EXPECT_NE(unknown.find("double_ring"), std::string::npos) << unknown;
  EXPECT_NE(error_of("ring_based", 7).find("an even number"), std::string::npos);
  EXPECT_NE(error_of("double_ring", 6).find("a multiple of 4"), std::string::npos);
}

}  // namespace
}  // namespace hopbench
