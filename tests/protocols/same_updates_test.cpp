// Protocols whose updates are those of all-reduce up to rounding (Changes::kRounding), with unequal workers.
#include <gtest/gtest.h>

#include "tests/cluster.h"

namespace hopbench {
namespace {

constexpr int kWorkers = 8;

/// Returns a cluster on the quadratic whose worker 3 is slow.
Cluster learning(const OptimizerSpec& optimizer) {
  Cluster cluster{.nodes = kWorkers, .slow = {{3, 2.5}}};
  cluster.workload.batch = 16;
  cluster.network.host_of = {0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1, 1};  // of servers, too
  cluster.optimizer = optimizer;
  return cluster;
}

/// Returns every protocol as it is by default, and settings by which others become one of class 1.
std::vector<std::pair<std::string, Knobs>> variants() {
  std::vector<std::pair<std::string, Knobs>> all;
  for (const Protocol* protocol : protocols()) all.push_back({std::string(protocol->name), {}});
  all.push_back({"allreduce", {{"algorithm", "halving_doubling"}}});
  all.push_back({"allreduce", {{"algorithm", "hierarchical"}}});
  all.push_back({"allreduce", {{"overlap", false}}});
  all.push_back({"lb_bsp", {{"aggregation", "servers"}}});
  all.push_back({"ps_bsp", {{"servers", std::int64_t{1}}}});
  all.push_back({"ps_backup", {{"backup", std::int64_t{0}}}});
  all.push_back({"k_async", {{"k", std::int64_t{kWorkers}}}});
  all.push_back({"sync_switch", {{"fraction", 1.0}}});
  return all;
}

TEST(SameUpdates, AreOfClassOneAndEndWhereAllReduceEnds) {
  for (const float momentum : {0.0F, 0.9F}) {
    OptimizerSpec optimizer;
    optimizer.momentum = momentum;
    Cluster reference = learning(optimizer);
    reference.run("allreduce");
    int compared = 0;
    for (const auto& [name, knobs] : variants()) {
      KnobValues values(find_protocol(name).knobs);
      for (const auto& [knob, value] : knobs) values.set(find_protocol(name).knobs, knob, value);
      const Topology graph = reference.graph();
      if (class_of_changes(find_protocol(name), {values, graph, kWorkers, {0, 0, 0, 0, 1, 1, 1, 1}}) != 1) continue;
      Cluster cluster = learning(optimizer);
      cluster.run(name, knobs);
      for (int rank = 0; rank < kWorkers; ++rank) {
        for (std::size_t i = 0; i < reference.params(rank).size(); ++i)
          ASSERT_NEAR(cluster.params(rank).data()[i], reference.params(rank).data()[i], 1e-5)
              << name << ", rank " << rank;
      }
      ++compared;
    }
    EXPECT_EQ(compared, 12);
  }
}

}  // namespace
}  // namespace hopbench
