// Pushes to parameter servers that leave while the backward pass goes on.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "tests/cluster.h"

namespace hopbench {
namespace {

using std::chrono::milliseconds;

// The gradient of 16 kB takes 10 ms, a third of it forward; a push of it to one server takes 8 ms of a link.
Cluster on_slow_links(int workers = 2) {
  Cluster cluster{.nodes = workers, .topology = "complete", .iterations = 12};
  cluster.workload.size = 4000;
  cluster.network.latency = std::chrono::microseconds(10);
  cluster.network.bandwidth = 2e6;
  cluster.keep_events = true;
  return cluster;
}

/// Returns true if the event is a message of that kind, sent by worker 0.
bool is_sent(const Event& event, Kind kind) {
  return event.what == EventKind::kSend && event.rank == 0 && event.kind == std::uint16_t(kind);
}

TEST(Pushes, TakeTheBitsOfPushesAfterwards) {
  for (const char* protocol :
       {"ps_bsp", "ps_asp", "r2sp", "ps_ssp", "dssp", "elastic_bsp", "dbw", "ps_backup", "sync_switch", "rennala",
        "ringmaster", "delay_adaptive", "dc_asgd", "gba", "k_async", "k_batch_async"}) {
    for (const int servers : {1, 3}) {
      Knobs knobs = {{"overlap", false}};
      if (std::string(protocol) != "dbw") knobs["servers"] = servers;
      if (std::string(protocol) == "sync_switch") knobs["fraction"] = 1.0;
      Cluster early{.nodes = 3, .topology = "complete", .instant_network = true}, late = early;
      early.compute = late.compute = {{.what = SlowdownKind::kLogNormal, .shape = 0.1}};
      late.run(protocol, knobs);
      knobs["overlap"] = true;
      early.run(protocol, knobs);
      EXPECT_EQ(early.params_hash(), late.params_hash()) << protocol << ", " << servers << " servers";
      EXPECT_EQ(early.broken(), "") << protocol;
    }
  }
}

TEST(Pushes, LeaveLayerByLayerTheLastOneFirst) {
  Cluster cluster = on_slow_links();
  cluster.run("ps_bsp", {{"servers", 1}});
  const auto buckets = std::int64_t(cluster.work->buckets().size());
  ASSERT_GE(buckets, 4);
  std::vector<Time> left;
  for (const Event& event : cluster.events) {
    if (is_sent(event, kPart) && event.iter == 0) left.push_back(event.time);
  }
  ASSERT_EQ(std::int64_t(left.size()), buckets - 1) << "the last one is in the push";
  for (std::size_t b = 0; b < left.size(); ++b) {  // buckets are listed in the order in which they are complete
    const double done_at = cluster.work->buckets()[b].done_at;
    EXPECT_EQ(left[b], Time{} + scaled(milliseconds(10), done_at)) << "bucket " << b;
    EXPECT_LT(done_at, 1.0);
  }
  EXPECT_GT(cluster.work->buckets()[0].offset, cluster.work->buckets()[1].offset) << "the last layer first";
}

TEST(Pushes, SaveWhatTheyTakeOfTheLinkWhileTheBackwardPassGoesOn) {
  Cluster early = on_slow_links(1), late = on_slow_links(1);
  early.run("ps_bsp", {{"servers", 1}});
  late.run("ps_bsp", {{"servers", 1}, {"overlap", false}});
  const double saved = to_seconds(late.end - early.end) / 12;  // an iteration: 26 ms, of which 8 + 8 on the link
  // Seven of 8 buckets leave in the 6.7 ms of the backward pass, and the last one afterwards.
  EXPECT_GT(saved, 0.0045);
  EXPECT_LT(saved, 0.0067);
}

TEST(Pushes, AreWholeOnServersThatKeepNothingOfTheLastLayer) {
  Cluster one = on_slow_links(), many = on_slow_links();
  one.workload.size = many.workload.size = 60;  // eight layers of 7 or 8 numbers
  one.run("ps_bsp", {{"servers", 1}});
  many.run("ps_bsp", {{"servers", 50}});
  EXPECT_EQ(one.params_hash(), many.params_hash());
}

// Each layer goes to all servers, so that all of their links are in use.
TEST(Pushes, ReachAllServersWithEachLayer) {
  Cluster cluster = on_slow_links(4);
  cluster.run("ps_bsp", {{"servers", 4}});
  const std::size_t layers = cluster.work->buckets().size();
  std::map<std::uint64_t, std::set<int>> servers;  // by the instant at which a layer leaves
  for (const Event& event : cluster.events) {
    if (is_sent(event, kPart) && event.iter == 0)
      servers[std::uint64_t(event.time.time_since_epoch().count())].insert(event.peer);
  }
  ASSERT_EQ(servers.size(), layers - 1);
  for (const auto& [when, reached] : servers) EXPECT_EQ(reached.size(), 4U) << "at " << when << " ns";
}

// Dropped pushes must not stay in the mailbox.
TEST(Pushes, OfNoUseLeaveNothingBehind) {
  for (const char* protocol : {"ps_backup", "dbw", "rennala", "ringmaster"}) {
    Knobs knobs;
    if (std::string(protocol) == "dbw") knobs["window"] = 3;
    Cluster cluster{.nodes = 6, .slow = {{2, 8.0}}, .topology = "complete", .iterations = 60};
    cluster.workload.size = 64;  // eight layers of 8 numbers: each server has one or two of each
    cluster.run(protocol, knobs);
    EXPECT_GT(cluster.records[2].gradients_lost, 1) << protocol;
    const auto parts = std::int64_t(cluster.work->buckets().size());
    for (std::size_t r = 6; r < cluster.records.size(); ++r)
      EXPECT_LE(cluster.records[r].queue_max, 6 * (parts + 2)) << protocol << ", server " << r;
    Cluster longer = cluster;
    longer.iterations = 120;
    longer.run(protocol, knobs);
    for (std::size_t r = 6; r < cluster.records.size(); ++r)
      EXPECT_LE(longer.records[r].queue_max, cluster.records[r].queue_max + 2) << protocol << ", server " << r;
  }
}

// Gradients are added up while the last worker computes: after it, one more is to be added, and the step.
TEST(PsBsp, AddsUpGradientsAsTheyCome) {
  Cluster cluster{.nodes = 8, .slow = {{7, 20.0}}, .topology = "complete", .iterations = 3, .instant_network = true};
  cluster.workload.size = 4000;
  cluster.costs.vector_bytes_per_s = 4e6;  // 12 ms to add one, which reads two vectors and writes one
  cluster.keep_events = true;
  cluster.run("ps_bsp", {{"servers", 1}});
  Time came{}, answered{};
  for (const Event& event : cluster.events) {
    if (event.what == EventKind::kDeliver && event.peer == 7 && event.kind == std::uint16_t(kPush) && event.iter == 0)
      came = event.time;
    if (event.what == EventKind::kSend && event.rank == 8 && event.iter == 0 && answered == Time{})
      answered = event.time;
  }
  ASSERT_GT(came, Time{});
  EXPECT_EQ(answered - came, milliseconds(24)) << "an addition and a step of 12 ms each; with the sum of all eight 48";
}

// A server that waits for a slow first worker adds up all gradients in one pass.
TEST(PsBsp, AddsInOnePassWhatCameBehindASlowFirstWorker) {
  Cluster cluster{.nodes = 8, .slow = {{0, 20.0}}, .topology = "complete", .iterations = 3, .instant_network = true};
  cluster.workload.size = 4000;
  cluster.costs.vector_bytes_per_s = 4e6;  // 4 ms to read or write a vector
  cluster.keep_events = true;
  cluster.run("ps_bsp", {{"servers", 1}});
  Time came{}, answered{};
  for (const Event& event : cluster.events) {
    if (event.what == EventKind::kDeliver && event.peer == 0 && event.kind == std::uint16_t(kPush) && event.iter == 0)
      came = event.time;
    if (event.what == EventKind::kSend && event.rank == 8 && event.iter == 0 && answered == Time{})
      answered = event.time;
  }
  EXPECT_EQ(answered - came, milliseconds(4 * 9 + 12)) << "eight read, one written, and a step";
}

TEST(PsBsp, IsTheMeanOfThoseThatAreLeft) {
  Cluster cluster{.nodes = 4, .topology = "complete", .iterations = 20, .leaves = {{1, 8}}};
  cluster.keep_events = true;
  cluster.run("ps_bsp", {{"servers", 1}});
  int means = 0;
  for (const Event& event : cluster.events) {
    if (event.what != EventKind::kReduced || event.rank != 4) continue;
    ++means;
    const std::size_t left = event.iter < 8 ? 4 : 3;
    ASSERT_EQ(event.weights.size(), left);
    for (const float weight : event.weights) EXPECT_FLOAT_EQ(weight, 1.0f / float(left)) << event.iter;
  }
  EXPECT_EQ(means, 20);
}

}  // namespace
}  // namespace hopbench
