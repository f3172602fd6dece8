#include <gtest/gtest.h>

#include <algorithm>

#include "protocols/server/zipline.h"
#include "tests/cluster.h"

namespace hopbench::server {
namespace {

using Times = std::vector<std::vector<Time>>;

Duration spread(const Times& pushes, const std::vector<std::size_t>& places) {
  Time first = kNever, last = Time::min();
  for (std::size_t i = 0; i < pushes.size(); ++i) {
    first = std::min(first, pushes[i][places[i]]);
    last = std::max(last, pushes[i][places[i]]);
  }
  return last - first;
}

// FullGridScan: every choice of one push of each worker.
Duration least_spread(const Times& pushes) {
  std::vector<std::size_t> places(pushes.size(), 0);
  Duration least = Duration::max();
  for (;;) {
    least = std::min(least, spread(pushes, places));
    std::size_t digit = 0;
    while (digit < places.size() && ++places[digit] == pushes[digit].size()) places[digit++] = 0;
    if (digit == places.size()) return least;
  }
}

Times every(std::initializer_list<int> intervals, int r) {
  Times pushes;
  for (const int interval : intervals) {
    pushes.emplace_back();
    for (int j = 1; j <= r; ++j) pushes.back().push_back(Time{Duration{j * interval}});
  }
  return pushes;
}

TEST(ZipLine, FindsWhereWorkersMeet) {
  using Places = std::vector<std::size_t>;
  EXPECT_EQ(zipline(every({10, 20}, 5)), (Places{1, 0}));           // at 20
  EXPECT_EQ(zipline(every({10, 15, 30}, 5)), (Places{2, 1, 0}));    // at 30
  EXPECT_EQ(zipline(every({10, 37}, 3)), (Places{2, 0}));           // 30 and 37
  EXPECT_EQ(zipline(every({10, 10, 10}, 9)), (Places{0, 0, 0}));    // at once
  EXPECT_EQ(zipline(every({7}, 3)), (Places{0}));                   // alone
  EXPECT_EQ(zipline(every({10, 24, 1000}, 2)), (Places{1, 1, 0}));  // one is far behind
}

TEST(ZipLine, EqualsTheSearchOfTheWholeGrid) {
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    Random random({.seed = seed, .purpose = Purpose::kTest});
    Times pushes(1 + random.below(4));
    const std::uint64_t r = 1 + random.below(7);
    for (auto& row : pushes) {
      Time when{Duration{std::int64_t(random.below(30))}};
      for (std::uint64_t j = 0; j < r; ++j) row.push_back(when += Duration{std::int64_t(random.below(50))});
    }
    EXPECT_EQ(spread(pushes, zipline(pushes)), least_spread(pushes)) << "seed " << seed;
  }
}

TEST(ElasticBsp, WithEqualWorkersOrOnePredictionIsInLockStep) {
  Cluster equal{.nodes = 5, .topology = "complete", .iterations = 20, .instant_network = true};
  equal.run("elastic_bsp");
  EXPECT_LE(equal.lead_max(), 1);
  Cluster one{.nodes = 5, .slow = {{1, 3.0}}, .topology = "complete", .iterations = 20};
  one.run("elastic_bsp", {{"r", 1}});
  EXPECT_LE(one.lead_max(), 1);
  EXPECT_EQ(equal.broken() + one.broken(), "");
}

TEST(ElasticBsp, PutsBarriersWhereWorkersMeetByThemselves) {
  // 10 ms and 20 ms: after the first barrier, at 20 ms, the fast one does two iterations to each of the slow one's and
  // never waits again.
  Cluster cluster{.nodes = 2, .slow = {{1, 2.0}}, .topology = "complete", .credits = 100, .instant_network = true};
  cluster.run("elastic_bsp", {{"servers", 1}});
  EXPECT_EQ(cluster.broken(), "");
  const auto& reports = cluster.reports[0];
  ASSERT_GT(reports.size(), 60u);
  for (std::size_t k = 1; k < reports.size(); ++k) {
    EXPECT_EQ(reports[k].when, Time{} + std::chrono::milliseconds(20 + 10 * std::int64_t(k)));
  }
}

TEST(ElasticBsp, GivesAllWorkersTheSameWeightsAtABarrier) {
  Cluster cluster{.nodes = 4, .slow = {{1, 2.3}, {3, 1.4}}, .topology = "complete", .iterations = 20};
  cluster.instant_network = true;
  cluster.run("elastic_bsp", {{"servers", 2}, {"r", 4}});
  EXPECT_EQ(cluster.broken(), "");
  // The first barrier comes after one iteration of each.
  for (int w = 1; w < 4; ++w) {
    EXPECT_EQ(cluster.reports[std::size_t(w)][0].when, cluster.reports[0][0].when);
    EXPECT_EQ(hash_bits(cluster.reports[std::size_t(w)][0].x), hash_bits(cluster.reports[0][0].x));
  }
}

}  // namespace
}  // namespace hopbench::server
