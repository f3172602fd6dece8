#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "tests/cluster.h"

namespace hopbench {
namespace {

double largest_difference(const Payload& a, const Payload& b) {
  const std::vector<float> left = Vec::copy_of(a).to_host(), right = Vec::copy_of(b).to_host();
  double most = 0;
  for (std::size_t d = 0; d < left.size(); ++d) most = std::max(most, std::abs(double(left[d]) - right[d]));
  return most;
}

// One gradient each at the start, and none afterwards: log2 n averages give everybody the mean of all.
TEST(GossipGrad, AgreesAfterLogNStepsWithoutGradients) {
  for (int n : {2, 4, 8, 16}) {
    const int turn = int(std::lround(std::log2(n)));
    for (int turns : {1, 2}) {
      Cluster cluster{.nodes = n, .topology = "complete", .iterations = turns * turn};
      cluster.optimizer.steps = {{double((turns - 1) * turn + 1), 0.0f}};  // the last gradient: as the last turn begins
      cluster.run("gossipgrad");
      EXPECT_EQ(cluster.broken(), "");
      for (int w = 1; w < n; ++w) EXPECT_LT(largest_difference(cluster.params(w), cluster.params(0)), 1e-5) << n;
      if (n == 2) continue;  // a turn is one step
      cluster.iterations -= 1;
      cluster.run("gossipgrad");
      EXPECT_GT(largest_difference(cluster.params(1), cluster.params(0)), 1e-3) << n;
    }
  }
}

TEST(GossipGrad, WithoutRotationIsStochasticGradientPushToOnePeer) {
  Cluster gossip{.nodes = 8, .slow = {{3, 2.0}}, .topology = "complete", .iterations = 12}, push = gossip;
  gossip.run("gossipgrad", {{"rotate", false}});
  push.run("sgp", {{"peers", 1}});
  for (int w = 0; w < 8; ++w) EXPECT_LT(largest_difference(gossip.params(w), push.params(w)), 1e-5);
}

std::set<std::pair<int, int>> pairs(const Cluster& cluster) {
  std::set<std::pair<int, int>> all;
  for (const Event& event : cluster.events) {
    if (event.what == EventKind::kSend) all.emplace(event.rank, event.peer);
  }
  return all;
}

TEST(GossipGrad, SendsOneMessageAnIterationWhateverTheSize) {
  for (int n : {2, 5, 12}) {
    Cluster cluster{.nodes = n, .topology = "complete", .iterations = 20};
    cluster.run("gossipgrad");
    for (const RankRecord& record : cluster.records) EXPECT_EQ(record.messages_sent, 20);
    EXPECT_EQ(cluster.broken(), "");
  }
}

TEST(GossipGrad, RotatesUntilEverybodyHasBeenEverybodysPartner) {
  Cluster cluster{.nodes = 8, .topology = "complete", .iterations = 3 * 4};  // m is 1, 3, 5, 7
  cluster.keep_events = true;
  cluster.run("gossipgrad");
  EXPECT_EQ(pairs(cluster).size(), 8u * 7u);
  cluster.run("gossipgrad", {{"rotate", false}});
  EXPECT_EQ(pairs(cluster).size(), 8u * 3u);
}

TEST(GossipGrad, ShufflesSamplesRoundTheRing) {
  Cluster cluster{.nodes = 4, .topology = "complete", .iterations = 8};
  cluster.keep_events = true;
  cluster.run("gossipgrad", {{"shuffle", true}});
  std::set<std::int64_t> batches;
  for (const Event& event : cluster.events) {
    if (event.what != EventKind::kGradient) continue;
    const std::int64_t number = event.first / cluster.workload.batch;
    EXPECT_EQ(number / 4, event.iter);
    EXPECT_EQ(number % 4, (event.rank + event.iter) % 4);
    EXPECT_TRUE(batches.insert(number).second);
  }
  EXPECT_EQ(batches.size(), 4u * 8u);
}

}  // namespace
}  // namespace hopbench
