// A recording as trace and cluster file.
#include "suites/advice/recording.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "protocols/node/protocol.h"
#include "tests/suites/advice/cluster_samples.h"

namespace hopbench {
namespace {

using testing::HasSubstr;
using testing::Not;

IterationMark mark_at(Iter iter, int samples, int milliseconds) {
  IterationMark mark;
  mark.iter = iter;
  mark.samples = samples;
  mark.compute = std::chrono::milliseconds(milliseconds);
  return mark;
}

Recording two_machines() {
  Recording recording;
  TrialSpec& spec = recording.spec;
  spec.protocol = "hop";
  spec.label = "hop staleness";
  spec.knobs = KnobValues(find_protocol("hop").knobs);
  spec.knobs.set(find_protocol("hop").knobs, "staleness", std::int64_t{4});
  spec.transport = "gloo";
  spec.workload = {.model = "mlp", .dataset = "synthetic", .batch = 8};
  spec.workload.workers = 2;
  recording.record.ranks.resize(3);
  for (int rank = 0; rank < 3; ++rank) {
    recording.record.ranks[std::size_t(rank)].rank = rank;
    for (Iter k = 0; k < 60; ++k) recording.record.ranks[std::size_t(rank)].marks.push_back(mark_at(k, 8, 10 + rank));
  }
  recording.record.ranks[0].marks[1] = mark_at(1, 4, 10);  // half a batch
  recording.record.ranks[0].marks[2] = mark_at(2, 0, 0);   // jumped
  recording.record.ranks[2].server = true;
  recording.costs.vector_bytes_per_s = 12e9;
  recording.network = {.latency = std::chrono::microseconds(150), .bandwidth = 11.95e6};
  recording.network.links = {{.a = 1, .b = -1, .bandwidth = 2e6, .one_way = true}};
  recording.machine_of = {0, 1};
  recording.pairs = 2;
  recording.model_bytes = 1e6;
  return recording;
}

TEST(Recording, HasTheSecondsOfWholeBatches) {
  const TraceRows rows = steps_of(two_machines());
  ASSERT_EQ(rows.size(), 119u) << "two workers, without the jumped iteration";
  EXPECT_DOUBLE_EQ(rows[0].seconds, 0.010);
  EXPECT_DOUBLE_EQ(rows[1].seconds, 0.020) << "half a batch counts double";
  EXPECT_EQ(rows[2].step, 3);
  EXPECT_EQ(rows.back().rank, 1);
}

TEST(Recording, BecomesAClusterFileThatCanBeRead) {
  const Recording recording = two_machines();
  Imported imported;
  imported.rows = steps_of(recording);
  finish_rows(imported, "test");
  std::ostringstream trace;
  write_trace(imported.rows, "test", trace);
  const Decomposition steps = decompose(imported.rows);
  const std::string text = cluster_toml(recording, steps, "steps.csv", "recorded by a test");
  Folder folder;
  folder.write("steps.csv", trace.str());
  folder.write("cluster.toml", text);
  const ClusterFile cluster = read_cluster(folder / "cluster.toml", {});
  EXPECT_EQ(cluster.present, "hop staleness");
  const TrialSpec& spec = cluster.suite.trials.front();
  EXPECT_EQ(spec.workload.model, "mlp");
  EXPECT_EQ(spec.workload.batch, 8);
  EXPECT_EQ(spec.network.host_of, (std::vector<int>{0, 1}));
  EXPECT_FALSE(spec.network.servers_apart);
  EXPECT_EQ(spec.network.queue, NetworkSpec::Queue::kFifo) << "a small model";
  EXPECT_NEAR(spec.network.bandwidth * spec.network.goodput, 11.95e6, 1e4);
  ASSERT_EQ(spec.network.links.size(), 1u);
  EXPECT_TRUE(spec.network.links[0].one_way);
  EXPECT_DOUBLE_EQ(spec.costs.vector_bytes_per_s, 12e9);
  EXPECT_EQ(spec.knobs.integer("staleness"), 4);
  EXPECT_NEAR(facts_of(spec).recorded_steps, 59, 0.1);
  EXPECT_THAT(text, HasSubstr("# - whether a worker or its machine is slow"));
}

TEST(Recording, OfALargeModelSharesLinksFairly) {
  Recording recording = two_machines();
  recording.model_bytes = 1e8;
  Decomposition steps;
  steps.steps = 60, steps.median = 0.01, steps.ranks = 2;
  const std::string text = cluster_toml(recording, steps, "steps.csv", "");
  EXPECT_THAT(text, Not(HasSubstr("fifo")));
  EXPECT_THAT(text, HasSubstr("bandwidth = \"11.95MB/s\""));
}

}  // namespace
}  // namespace hopbench
