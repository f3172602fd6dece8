// Groups and the average within a group (protocols/groups/groups.h, protocols/groups/group_average.h), with no protocol
// around them.
#include "protocols/groups/group_average.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/cluster.h"

namespace hopbench::groups {
namespace {

std::set<std::set<int>> sets(const Division& groups) {
  std::set<std::set<int>> all;
  for (const Group& group : groups) all.insert({group.begin(), group.end()});
  return all;
}

Division by_host_of(std::vector<int> hosts) {
  const KnobValues none{};
  const Topology graph = make_topology("ring", int(hosts.size()));
  return by_host(Setting{none, graph, int(hosts.size()), hosts});
}

TEST(Groups, AreTheAuthorsForFourWorkers) {
  const Division rows = grid_rows(4, 2);
  EXPECT_EQ(sets(rows), (std::set<std::set<int>>{{0, 1}, {2, 3}}));
  EXPECT_EQ(sets(columns_of(rows)), (std::set<std::set<int>>{{0, 3}, {1, 2}}));
}

TEST(Groups, HaveEveryWorkerOnceInAnyGrid) {
  for (int n = 1; n <= 40; ++n) {
    for (int size = 1; size <= n; ++size) {
      const Division rows = grid_rows(n, size), columns = columns_of(rows);
      for (const Division* groups : {&rows, &columns}) {
        std::vector<int> members;
        for (const Group& group : *groups) members.insert(members.end(), group.begin(), group.end());
        std::sort(members.begin(), members.end());
        ASSERT_EQ(int(members.size()), n);
        for (int rank = 0; rank < n; ++rank) ASSERT_EQ(members[std::size_t(rank)], rank);
      }
      std::size_t shortest = std::size_t(n);
      for (const Group& row : rows) shortest = std::min(shortest, row.size());
      ASSERT_EQ(int(rows.size()), (n + size - 1) / size);
      ASSERT_LE(columns.size(), shortest + 1) << "rows differ by at most one";
      ASSERT_EQ(columns.front().size(), rows.size()) << "the first column meets every row";
      if (n % size == 0) {
        ASSERT_EQ(columns.back().size(), rows.size());
      }
    }
  }
}

TEST(Groups, OfHostsAreItsWorkers) {
  const Division hosts = by_host_of({7, 2, 7, 2, 5});
  EXPECT_EQ(hosts, (Division{{0, 2}, {1, 3}, {4}}));
  EXPECT_EQ(columns_of(hosts), (Division{{0, 1, 4}, {2, 3}}));
  EXPECT_EQ(group_of(hosts, 3), 1u);
  EXPECT_EQ(by_host_of({0, 0, 0}).size(), 1u);
}

// A protocol of rounds only: worker i starts with the i-th unit vector, or with numbers of its own, and averages in
// rows and columns in turn. With unit vectors the models after the first round are the rows of that round's matrix.
void averages_only(Node& self, const KnobValues& knobs) {
  const Division rows = grid_rows(self.worker_count(), knobs.integer("group_size")), columns = columns_of(rows);
  const auto groups_in = [&](Iter k) -> const Division& { return (k % 2 == 0) == knobs.flag("rows") ? rows : columns; };
  if (self.is_server()) {
    const std::size_t own = std::size_t(self.rank - self.worker_count());
    for (Iter k = 0;; ++k) {
      if (own < groups_in(k).size() && !serve_group_mean(self, groups_in(k)[own], k)) return;
    }
  }
  std::vector<float> start(std::size_t(self.worker_count()), 0.0f);
  start[std::size_t(self.rank)] = 1.0f;
  for (float& value : start) value = knobs.flag("unit") ? value : 1.0f / float(3 + self.rank) + value;
  Vec x = Vec::from_host(start);
  for (Iter k = 0; self.running(k); ++k) {
    self.enter(k);
    const std::size_t own = group_of(groups_in(k), self.rank);
    x = knobs.flag("server") ? group_mean_at(self, self.servers()[own], groups_in(k)[own], k, x, "the mean")
                             : group_mean(self, groups_in(k)[own], k, x, "the others");
    self.report(k + 1, x);
  }
}

int servers(const Setting& setting) {
  const Division rows = grid_rows(setting.workers, setting.knobs.integer("group_size"));
  return setting.knobs.flag("server") ? int(std::max(rows.size(), columns_of(rows).size())) : 0;
}

std::vector<Edge> everybody_with_everybody(const Setting& setting) {
  std::vector<Edge> edges;
  for (int a = 0; a < setting.workers + servers(setting); ++a) {
    for (int b = 0; b < a; ++b) edges.emplace_back(a, b);
  }
  return edges;
}

const Protocol& averages() {
  static const Protocol protocol{.name = "averages_only",
                                 .summary = "",
                                 .paper = "",
                                 .knobs = {{.name = "group_size", .fallback = std::int64_t{2}},
                                           {.name = "server", .fallback = false},
                                           {.name = "unit", .fallback = true},
                                           {.name = "rows", .fallback = true}},
                                 .body = averages_only,
                                 .extra_ranks = servers,
                                 .links = everybody_with_everybody,
                                 .reading = ""};
  return protocol;
}

Cluster workers(int n, Iter rounds) {
  Cluster cluster{.nodes = n, .slow = {{1, 3.0}}, .topology = "complete", .iterations = rounds};
  cluster.workload.size = std::size_t(n);
  cluster.network.jitter = 0.5;
  return cluster;
}

using Matrix = std::vector<std::vector<float>>;

// Row i: what worker i's model is made of after so many rounds.
Matrix matrix(const Cluster& cluster, std::size_t rounds) {
  Matrix w;
  for (const auto& reports : cluster.reports) w.push_back(Vec::copy_of(reports[rounds - 1].x).to_host());
  return w;
}

struct Grid {
  int n, size;
  bool server;
};
void PrintTo(const Grid& grid, std::ostream* out) { *out << grid.n << " workers, rows of " << grid.size; }

class GroupMeans : public testing::TestWithParam<Grid> {};
class CompleteGroupMeans : public GroupMeans {};
const auto kComplete = testing::Values(Grid{4, 2, false}, Grid{4, 2, true}, Grid{9, 3, false}, Grid{9, 3, true},
                                       Grid{12, 4, false}, Grid{16, 4, false}, Grid{6, 6, false}, Grid{6, 1, true});
INSTANTIATE_TEST_SUITE_P(Grids, GroupMeans, kComplete);
INSTANTIATE_TEST_SUITE_P(Grids, CompleteGroupMeans, kComplete);
INSTANTIATE_TEST_SUITE_P(GridsWithShorterColumns, GroupMeans,
                         testing::Values(Grid{7, 3, false}, Grid{7, 3, true}, Grid{5, 2, false}));

TEST_P(GroupMeans, HaveASymmetricDoublyStochasticIdempotentMatrix) {
  const auto [n, size, server] = GetParam();
  for (const bool rows : {true, false}) {
    Cluster cluster = workers(n, 1);
    cluster.run(averages(), {{"group_size", size}, {"server", server}, {"rows", rows}});
    EXPECT_EQ(cluster.broken(), "");
    const Matrix w = matrix(cluster, 1);
    for (std::size_t i = 0; i < w.size(); ++i) {
      float row = 0, column = 0;
      for (std::size_t j = 0; j < w.size(); ++j) {
        EXPECT_EQ(w[i][j], w[j][i]);
        row += w[i][j];
        column += w[j][i];
        float squared = 0;
        for (std::size_t m = 0; m < w.size(); ++m) squared += w[i][m] * w[m][j];
        EXPECT_NEAR(squared, w[i][j], 1e-6);
      }
      EXPECT_NEAR(row, 1, 1e-6);
      EXPECT_NEAR(column, 1, 1e-6);
    }
  }
}

TEST_P(GroupMeans, GiveAllMembersTheSameBits) {
  const auto [n, size, server] = GetParam();
  Cluster cluster = workers(n, 1);
  cluster.run(averages(), {{"group_size", size}, {"server", server}, {"unit", false}});
  for (const Group& group : grid_rows(n, size)) {
    for (const int rank : group) EXPECT_EQ(hash_bits(cluster.params(rank)), hash_bits(cluster.params(group.front())));
  }
}

TEST_P(CompleteGroupMeans, AreTheGlobalMeanAfterBothRounds) {
  const auto [n, size, server] = GetParam();
  for (const bool rows : {true, false}) {
    Cluster cluster = workers(n, 2);
    cluster.run(averages(), {{"group_size", size}, {"server", server}, {"rows", rows}});
    const bool exact = n == 4 || n == 16;  // all weights are powers of two
    for (const auto& row : matrix(cluster, 2)) {
      for (const float weight : row) {
        EXPECT_NEAR(weight, 1.0f / float(n), exact ? 0.0 : 1e-6);
      }
    }
  }
}

TEST_P(GroupMeans, KeepTheMeanOfAllModels) {
  const auto [n, size, server] = GetParam();
  Cluster cluster = workers(n, 5);
  cluster.run(averages(), {{"group_size", size}, {"server", server}});
  for (const float sum : cluster.mean_model()) EXPECT_NEAR(sum, 1.0f / float(n), 1e-6);
}

TEST(GroupMean, HasOneSetOfBitsForAllAfterBothRoundsOfACompleteGrid) {
  // Members stand in the same order in every row, and in every column: so all sums are in the same order.
  for (const Grid& grid : {Grid{9, 3, false}, Grid{12, 4, false}, Grid{15, 5, false}}) {
    for (const bool rows : {true, false}) {
      Cluster cluster = workers(grid.n, 2);
      cluster.run(averages(), {{"group_size", grid.size}, {"unit", false}, {"rows", rows}});
      for (int w = 1; w < grid.n; ++w) EXPECT_EQ(hash_bits(cluster.params(w)), hash_bits(cluster.params(0)));
    }
  }
}

}  // namespace
}  // namespace hopbench::groups
