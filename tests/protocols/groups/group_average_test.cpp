// The average within a group, by workers of a cluster.
#include "protocols/groups/group_average.h"

#include <gtest/gtest.h>

#include "tests/cluster.h"

namespace hopbench::groups {
namespace {

TEST(GroupWords, ComeBackAsTheyWent) {
  for (const std::vector<int>& members :
       {std::vector<int>{}, {0}, {63}, {64}, {0, 1, 62, 63, 64, 127, 128}, {kMostGrouped - 1}}) {
    EXPECT_EQ(members_in(words_of(members)), members);
  }
}

// Worker w starts at w everywhere; 0, 2 and 3 are one group, 1 and 4 another, 5 is alone.
const std::vector<std::vector<int>> kGroups = {{0, 2, 3}, {1, 4}, {5}};

void average_once(Node& self, double decay) {
  Vec x = Vec::uninitialised(self.initial().size());
  x.fill(float(self.rank));
  for (Iter k = 0; self.running(k); ++k) {
    self.enter(k);
    self.gradient(x, k);
    for (const std::vector<int>& members : kGroups) {
      if (std::find(members.begin(), members.end(), self.rank) == members.end()) continue;
      const Iter newest = average_in_group(self, {k, members}, self.rank, x, decay);
      EXPECT_EQ(newest, members.back());
    }
    self.report(k + 1, x);
  }
}

Protocol averaging(void (*body)(Node&, const KnobValues&)) {
  return {.name = "averaging", .summary = "", .paper = "", .knobs = {}, .body = body, .reading = ""};
}

Cluster six_of_a_group() { return {.nodes = 6, .slow = {{3, 2.0}}, .topology = "complete", .iterations = 1}; }

void expect_all(const Payload& x, double value) {
  for (float each : Vec::copy_of(x).to_host()) EXPECT_NEAR(each, value, 1e-6);
}

TEST(GroupAverage, IsTheMeanOfEachGroupWithTheSameBits) {
  for (std::size_t size : {1, 2, 8, 1001}) {  // also fewer numbers than members
    Cluster cluster = six_of_a_group();
    cluster.workload.size = size;
    cluster.run(averaging([](Node& self, const KnobValues&) { average_once(self, 1.0); }));
    EXPECT_EQ(cluster.broken(), "");
    for (int w : {0, 2, 3}) expect_all(cluster.params(w), 5.0 / 3);
    for (int w : {1, 4}) expect_all(cluster.params(w), 2.5);
    expect_all(cluster.params(5), 5);
    for (int w : {2, 3}) EXPECT_EQ(hash_bits(cluster.params(w)), hash_bits(cluster.params(0)));
  }
}

TEST(GroupAverage, WeighsByAge) {
  Cluster cluster = six_of_a_group();
  cluster.run(averaging([](Node& self, const KnobValues&) { average_once(self, 0.5); }));
  const double weights[] = {0.125, 0.5, 1.0};  // tags 0, 2, 3
  for (int w : {0, 2, 3}) expect_all(cluster.params(w), (2 * weights[1] + 3 * weights[2]) / (0.125 + 0.5 + 1.0));
  for (int w : {1, 4}) expect_all(cluster.params(w), (1 * 0.125 + 4 * 1.0) / 1.125);
}

TEST(GroupAverage, SendsTwiceTheVectorButForTheOwnSlice) {
  Cluster cluster = six_of_a_group();
  cluster.workload.size = 300;
  cluster.run(averaging([](Node& self, const KnobValues&) { average_once(self, 1.0); }));
  const auto bytes = [&](int w) { return cluster.records[std::size_t(w)].bytes_sent; };
  EXPECT_EQ(bytes(0), 4 * (100 * 4 + kHeaderBytes));
  EXPECT_EQ(bytes(1), 2 * (150 * 4 + kHeaderBytes));
  EXPECT_EQ(bytes(5), 0);
}

}  // namespace
}  // namespace hopbench::groups
