// Every protocol over servers or rings against the numbers that its event log says (tests/replay/replay.h).
#include <gtest/gtest.h>

#include "tests/replay/replay.h"

namespace hopbench {
namespace {

struct Case {
  const char* protocol;
  Knobs knobs = {};
  std::vector<int> host_of = {};  // by rank, servers too
};

const std::vector<int> kThreeHosts = {0, 0, 1, 1, 2, 0, 1, 2, 0};

void PrintTo(const Case& c, std::ostream* out) { *out << c.protocol; }

Cluster cluster_of(std::uint64_t seed) {
  Cluster cluster{.nodes = 5, .slow = {{3, 4.0}}, .topology = "complete", .iterations = 24, .seed = seed};
  cluster.compute.push_back({.what = SlowdownKind::kBernoulli, .factor = 3.0, .probability = 0.2});
  cluster.optimizer.momentum = 0.5f;
  cluster.workload.batch = 12;
  cluster.workload.size = 24;
  cluster.network.jitter = 2.0;
  cluster.keep_events = true;
  return cluster;
}

class Replayed : public testing::TestWithParam<Case> {};

INSTANTIATE_TEST_SUITE_P(
    All, Replayed,
    testing::Values(
        Case{"ps_bsp"}, Case{"ps_bsp", {{"servers", 2}, {"overlap", true}}},
        Case{"ps_asp", {{"servers", 3}, {"overlap", true}}}, Case{"ps_ssp", {{"staleness", 1}}},
        Case{"dssp", {{"s_l", 1}}}, Case{"ps_backup", {{"backup", 2}, {"overlap", true}}}, Case{"r2sp"},
        Case{"elastic_bsp", {{"r", 4}, {"overlap", true}}}, Case{"sync_switch", {{"fraction", 0.5}}}, Case{"dbw"},
        Case{"dbw", {{"overlap", true}}}, Case{"lb_bsp", {{"aggregation", "servers"}}}, Case{"lb_bsp"},
        Case{"allreduce"}, Case{"allreduce", {{"overlap", false}}}, Case{"local_sgd", {{"period", 3}}}, Case{"ds_sync"},
        Case{"prague"}, Case{"partial_reduce"}, Case{"partial_reduce", {{"weights", "dynamic"}}}, Case{"adpsgd"},
        Case{"adpsgd", {{"form", "serial"}}}, Case{"gossipgrad"}, Case{"rennala"},
        Case{"rennala", {{"batch", 7}, {"servers", 2}}}, Case{"ringmaster"}, Case{"delay_adaptive"},
        Case{"dc_asgd", {{"lambda", 0.5}}}, Case{"dc_asgd", {{"variant", "adaptive"}, {"lambda", 0.5}}},
        Case{"dc_asgd", {{"variant", "adaptive"}}}, Case{"gba", {{"tolerance", 0}}},
        Case{"gba", {{"batches", 1}, {"tolerance", 2}}},
        Case{"gba", {{"batches", 2}, {"tolerance", 0}, {"servers", 2}}}, Case{"k_async"},
        Case{"k_batch_async", {{"k", 4}}}, Case{"specsync", {{"window", 0.5}, {"rate", 0.3}}}, Case{"diloco"},
        Case{"diloco", {{"period", 3}, {"inner_state", "average"}}},
        Case{"diloco", {{"inner_state", "reset"}, {"outer", "momentum"}}}, Case{"streaming_diloco"},
        Case{"streaming_diloco", {{"period", 6}, {"fragments", 4}, {"delay", 0}}}, Case{"slowmo", {{"period", 5}}},
        Case{"overlap_local_sgd", {{"period", 4}}}, Case{"hivemind"}, Case{"hivemind", {{"target", 100}}}, Case{"co2"},
        Case{"co2", {{"period", 3}, {"clip", 0.5}}}, Case{"noloco", {{"period", 4}}}, Case{"easgd", {{"servers", 1}}},
        Case{"async_diloco", {{"servers", 1}, {"period", 4}, {"every", 3}}}, Case{"lasgd"}, Case{"exact_diffusion"},
        Case{"d2"}, Case{"gradient_tracking"}, Case{"qg_dsgdm"}, Case{"qg_dsgdm", {{"mu", 0.5}}},
        Case{"gossip_pga", {{"period", 4}}}, Case{"consensus_control", {{"ratio", 0.2}, {"most", 4}}}, Case{"r_fast"},
        Case{"one_peer"}, Case{"matcha", {{"budget", 0.4}}}, Case{"dsgd_aau"}, Case{"moshpit"},
        Case{"moshpit", {{"dimensions", 3}, {"period", 2}}}, Case{"dropcompute", {{"measured", 5}, {"parts", 4}}},
        Case{"abs_sgd", {{"parts", 6}}}, Case{"a_edit", {{"clip", 0.5}}}, Case{"dybw", {{"parts", 3}}},
        Case{"netmax", {{"every", 4}}}, Case{"decoupled_diloco"},
        Case{"decoupled_diloco", {{"fragments", 3}, {"period", 5}, {"quorum", 4}, {"alpha", 0.2}}}, Case{"halos"},
        Case{"halos", {{"period", 2}}, kThreeHosts}, Case{"daso"},
        Case{"daso", {{"skip", 3}, {"wait", 2}, {"warm_up", 5}}, kThreeHosts}, Case{"powersgd"},
        Case{"powersgd", {{"rank", 1}}}, Case{"error_feedback", {{"share", 0.3}}},
        Case{"error_feedback", {{"compressor", "sign"}}}, Case{"selsync", {{"window", 3}, {"delta", 0.1}}}));

TEST_P(Replayed, ModelsAreThoseOfTheEventLog) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    Cluster cluster = cluster_of(seed);
    cluster.network.host_of = GetParam().host_of;
    cluster.run(GetParam().protocol, GetParam().knobs);
    ASSERT_EQ(replayed_as(GetParam().protocol, cluster, GetParam().knobs), "") << "seed " << seed;
  }
}

// A replay that accepts everything would pass the test above.
TEST_P(Replayed, RejectsAnotherModel) {
  Cluster cluster = cluster_of(1);
  cluster.network.host_of = GetParam().host_of;
  cluster.run(GetParam().protocol, GetParam().knobs);
  Snapshot& report = cluster.reports.at(2).at(7);
  std::vector<float> other = Vec::copy_of(report.x).to_host();
  for (float& each : other) each = 1.01f * each + 0.01f;
  report.x = Vec::from_host(other).share();
  EXPECT_NE(replayed_as(GetParam().protocol, cluster, GetParam().knobs), "");
}

TEST(ReplayedChoices, AreThoseThatGainMost) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    Cluster cluster = cluster_of(seed);
    cluster.optimizer.momentum = 0;
    cluster.iterations = 60;
    cluster.run("dbw", {{"window", 4}});
    EXPECT_EQ(replayed_choices(cluster, 4), "") << "seed " << seed;
    EXPECT_NE(replayed_choices(cluster, 12), "") << "what another window estimates";
  }
}

}  // namespace
}  // namespace hopbench
