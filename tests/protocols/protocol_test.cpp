// Promises that every protocol keeps, registered or built in from elsewhere. A new one is picked up by itself.
#include <gtest/gtest.h>

#include <algorithm>

#include "protocols/node/extra.h"
#include "tests/cluster.h"

namespace hopbench {
namespace {

struct Variant {
  std::string name, protocol;
  Knobs knobs{};
};

void PrintTo(const Variant& variant, std::ostream* out) { *out << variant.name; }

// Every registered protocol as it comes, and those whose knobs make another protocol of it.
std::vector<Variant> variants() {
  std::vector<Variant> all;
#ifdef HB_OWN_PROTOCOLS_ONLY
  for (const Protocol* protocol : extra_protocols())
    all.push_back({std::string(protocol->name), std::string(protocol->name)});
#else
  for (const Protocol* protocol : protocols())
    all.push_back({std::string(protocol->name), std::string(protocol->name)});
  all.push_back({"hop_backup", "hop", {{"backup", 1}, {"max_ig", 3}}});
  all.push_back({"hop_staleness", "hop", {{"staleness", 2}}});
  all.push_back({"hop_skipping", "hop", {{"backup", 1}, {"max_ig", 4}, {"max_jump", 4}}});
  all.push_back({"hop_notify_ack", "hop", {{"gap_control", "notify_ack"}, {"form", "serial"}}});
  all.push_back({"lb_bsp_search", "lb_bsp", {{"form", "gpu"}, {"window", 3}}});
  all.push_back({"lb_bsp_narx_servers", "lb_bsp", {{"predictor", "narx"}, {"aggregation", "servers"}}});
  all.push_back({"dynamic_batching_one_server", "dynamic_batching", {{"aggregation", "servers"}, {"servers", 1}}});
  all.push_back({"partial_reduce_dynamic", "partial_reduce", {{"weights", "dynamic"}, {"group_size", 2}}});
  all.push_back({"ps_ssp_one_server", "ps_ssp", {{"staleness", 1}, {"servers", 1}}});
  all.push_back({"flexrr_one_server", "flexrr", {{"staleness", 1}, {"servers", 1}, {"parts", 2}}});
  all.push_back({"dssp_capped", "dssp", {{"mode", "capped"}, {"s_l", 1}, {"r_max", 3}, {"servers", 2}}});
  all.push_back({"adpsgd_serial", "adpsgd", {{"form", "serial"}}});
  all.push_back({"sgp_overlap", "sgp", {{"peers", 2}, {"overlap", 2}}});
  all.push_back({"sgp_topology", "sgp", {{"graph", "topology"}}});
  all.push_back({"gossipgrad_shuffle", "gossipgrad", {{"rotate", false}, {"shuffle", true}}});
  all.push_back({"choco_top_k", "choco", {{"compressor", "top_k"}, {"share", 0.25}, {"gamma", 0.2}}});
  all.push_back({"allreduce_halving_doubling", "allreduce", {{"algorithm", "halving_doubling"}}});
  all.push_back({"allreduce_hierarchical", "allreduce", {{"algorithm", "hierarchical"}}});
  all.push_back({"ds_sync_servers", "ds_sync", {{"inner", "ps"}, {"average_at", "before_forward"}}});
  all.push_back({"local_sgd_every_step", "local_sgd", {{"period", 1}}});
  all.push_back({"selsync_short_window", "selsync", {{"window", 3}, {"delta", 0.2}}});
  all.push_back({"sync_switch_half", "sync_switch", {{"fraction", 0.5}, {"servers", 2}}});
  all.push_back({"sync_switch_online", "sync_switch", {{"fraction", 1.0}, {"online", "greedy"}, {"servers", 2}}});
  all.push_back({"rennala_large_batch", "rennala", {{"batch", 9}, {"servers", 2}}});
  all.push_back({"ringmaster_short_delay", "ringmaster", {{"delay", 3}, {"servers", 2}}});
  all.push_back({"dc_asgd_adaptive", "dc_asgd", {{"variant", "adaptive"}, {"lambda", 0.5}}});
  all.push_back({"gba_strict", "gba", {{"tolerance", 0}, {"servers", 2}}});
  all.push_back({"specsync_eager", "specsync", {{"window", 0.5}, {"rate", 0.3}, {"servers", 2}}});
  all.push_back({"diloco_average", "diloco", {{"period", 3}, {"inner_state", "average"}}});
  all.push_back({"streaming_diloco_pieces", "streaming_diloco", {{"period", 5}, {"fragments", 4}, {"delay", 0}}});
  all.push_back({"async_diloco_alike", "async_diloco", {{"period", 2}, {"dylu", false}, {"servers", 2}}});
  all.push_back({"gossip_pga_short_period", "gossip_pga", {{"period", 2}}});
  all.push_back({"consensus_control_close", "consensus_control", {{"ratio", 0.1}, {"most", 3}}});
  all.push_back({"matcha_all_links", "matcha", {{"budget", 1.0}}});
  all.push_back({"dropcompute_soon", "dropcompute", {{"measured", 2}, {"parts", 3}}});
  all.push_back({"powersgd_rank_1", "powersgd", {{"rank", 1}}});
  all.push_back({"error_feedback_sign", "error_feedback", {{"compressor", "sign"}}});
  all.push_back({"decoupled_diloco_all", "decoupled_diloco", {{"period", 3}, {"fragments", 3}, {"quorum", 1}}});
  all.push_back({"daso_blocking", "daso", {{"skip", 1}, {"wait", 0}}});
  all.push_back({"netmax_often", "netmax", {{"every", 1}}});
  all.push_back({"moshpit_line", "moshpit", {{"dimensions", 1}, {"period", 2}}});
  all.push_back({"dbw_short_window", "dbw", {{"window", 1}}});
#endif
  return all;
}

KnobValues values_of(const Variant& variant) {
  const Protocol& protocol = find_protocol(variant.protocol);
  KnobValues values(protocol.knobs);
  for (const auto& [name, value] : variant.knobs) values.set(protocol.knobs, name, value);
  return values;
}

bool lockstep(const Variant& variant) { return in_lockstep(find_protocol(variant.protocol), values_of(variant)); }

bool in_parts(const Protocol& protocol) {
  return std::any_of(protocol.knobs.begin(), protocol.knobs.end(),
                     [](const Knob& knob) { return std::string("parts") == knob.name; });
}

// Returns the variants whose ranks may do different amounts of work.
std::vector<Variant> free_variants() {
  std::vector<Variant> all = variants();
  std::erase_if(all, lockstep);
  return all;
}

class EveryProtocol : public testing::TestWithParam<Variant> {
 protected:
  const Protocol& protocol() const { return find_protocol(GetParam().protocol); }
  void run(Cluster& cluster) const { cluster.run(GetParam().protocol, GetParam().knobs); }
};
class EveryFreeProtocol : public EveryProtocol {};

std::string name_of(const testing::TestParamInfo<Variant>& param) { return param.param.name; }
INSTANTIATE_TEST_SUITE_P(Registered, EveryProtocol, testing::ValuesIn(variants()), name_of);
INSTANTIATE_TEST_SUITE_P(Registered, EveryFreeProtocol, testing::ValuesIn(free_variants()), name_of);

// Slow ranks, random slowdowns, jitter: a schedule in which things happen.
Cluster busy() {
  Cluster cluster{.nodes = 6, .slow = {{2, 3.0}}, .topology = "ring", .iterations = 15};
  cluster.compute.push_back({.what = SlowdownKind::kBernoulli, .factor = 6.0, .probability = 0.15});
  cluster.network.jitter = 0.5;
  cluster.costs.vector_bytes_per_s = 1e6;
  return cluster;
}

TEST_P(EveryProtocol, SaysWhatItIs) {
  EXPECT_FALSE(protocol().summary.empty());
  EXPECT_FALSE(protocol().paper.empty());
  EXPECT_FALSE(protocol().reading.empty());
  for (const Knob& knob : protocol().knobs) {
    EXPECT_STRNE(knob.meaning, "") << knob.name;
    EXPECT_STRNE(knob.source, "") << knob.name;
  }
}

TEST_P(EveryProtocol, KeepsItsInvariantsAndLosesNoMessage) {
  Cluster cluster = busy();
  cluster.keep_events = true;
  run(cluster);
  EXPECT_EQ(cluster.broken(), "");
  const bool averages = std::any_of(cluster.events.begin(), cluster.events.end(),
                                    [](const Event& event) { return event.what == EventKind::kReduced; });
  for (const checkers::CheckerPtr& checker : cluster.checks->list()) {
    if (checker->name() == "weights_sum" && !averages) continue;
    EXPECT_GT(checker->looked(), 0) << checker->name() << " never looked";
  }
}

TEST_P(EveryProtocol, EndsWithEveryIterationDone) {
  Cluster cluster = busy();
  cluster.keep_events = true;
  run(cluster);
  for (int w = 0; w < cluster.nodes; ++w) {
    EXPECT_EQ(cluster.reports[std::size_t(w)].back().k, cluster.iterations);
    const RankRecord& record = cluster.records[std::size_t(w)];
    EXPECT_EQ(record.iters + record.iters_jumped, cluster.iterations);
    // A gradient an iteration, or several where one is computed in parts.
    EXPECT_EQ(in_parts(protocol()) ? record.iters : record.gradients, record.iters);
    EXPECT_LE(record.finished, cluster.end);
    const auto finished = [&](const Event& e) { return e.what == EventKind::kFinished && e.rank == w; };
    EXPECT_EQ(std::count_if(cluster.events.begin(), cluster.events.end(), finished), 1);
  }
}

TEST_P(EveryProtocol, RepeatsEventForEvent) {
  Cluster one = busy(), two = busy();
  run(one);
  run(two);
  EXPECT_EQ(one.events_seen, two.events_seen);
  EXPECT_EQ(one.events_hash, two.events_hash);
  EXPECT_EQ(one.params_hash(), two.params_hash());
}

TEST_P(EveryProtocol, HasTheSameParametersWhoeverIsSlowIfItSaysSo) {
  Cluster one = busy();
  one.iterations = 40;     // enough for estimates to be there and to be followed
  one.workload.size = 64;  // enough numbers for samples that are divided otherwise to be rounded otherwise
  one.workload.batch = 20;
  Cluster two = one;
  two.slow = {{4, 5.0}};
  two.shuffle = 3;
  run(one);
  run(two);
  EXPECT_EQ(one.params_hash() == two.params_hash(), same_everywhere(protocol(), values_of(GetParam())));
}

TEST_P(EveryProtocol, FollowsItsSeed) {
  Cluster one = busy(), two = busy();
  two.seed = 2;
  run(one);
  run(two);
  EXPECT_NE(one.params_hash(), two.params_hash());
  EXPECT_NE(one.events_hash, two.events_hash);
}

TEST_P(EveryProtocol, IsTheSameOnThreadsAsOnFibers) {
  if (!strand_kind_available(StrandKind::kFibers))
    GTEST_SKIP() << "no fibers in this build: Boost.Context is missing or TSan is on";
  Cluster fibers = busy(), threads = busy();
  threads.strands = StrandKind::kThreads;
  run(fibers);
  run(threads);
  EXPECT_EQ(fibers.events_hash, threads.events_hash);
  EXPECT_EQ(fibers.params_hash(), threads.params_hash());
}

TEST_P(EveryProtocol, IsTheSameHoweverManyThreadsCompute) {
  Cluster one = busy(), many = busy();
  many.threads = 3;
  run(one);
  run(many);
  EXPECT_EQ(one.events_hash, many.events_hash);
  EXPECT_EQ(one.params_hash(), many.params_hash());
}

TEST_P(EveryProtocol, TakesSparseGradientsAsItTakesDenseOnes) {
  Cluster sparse{.nodes = 4, .slow = {{2, 1.5}}, .topology = "ring", .iterations = 9, .instant_network = true};
  sparse.workload = {.model = "logistic_regression", .dataset = "synthetic_sparse", .batch = 4, .backend = "reference"};
  sparse.optimizer.lr = 0.5f;
  Cluster dense = sparse;
  dense.dense_form = true;
  run(sparse);
  run(dense);
  EXPECT_EQ(sparse.params_hash(), dense.params_hash()) << "the same sums, in another form";
  EXPECT_EQ(sparse.broken(), "");

  sparse.optimizer.momentum = dense.optimizer.momentum = 0.9f;
  sparse.optimizer.weight_decay = dense.optimizer.weight_decay = 0.01f;
  run(sparse);
  run(dense);
  for (int w = 0; w < sparse.nodes; ++w) {
    Vec off = Vec::copy_of(sparse.params(w));
    const double length = off.norm();
    off.axpy(-1.0f, dense.params(w));
    EXPECT_LT(off.norm(), 1e-5 * length) << "lazy steps are rounded otherwise, no more";
  }
}

TEST_P(EveryProtocol, ConvergesOnTheQuadratic) {
  Cluster cluster{.nodes = 6, .slow = {{1, 2.0}}, .topology = "ring", .iterations = 300};
  run(cluster);
  Cluster reference{.nodes = 6, .topology = "ring", .iterations = 300};
  reference.run("allreduce");
  const double initial = cluster.initial_loss(), there = reference.loss();
  ASSERT_LT(there, 0.5 * initial);
  EXPECT_LT(cluster.loss() - there, 0.02 * (initial - there));
  for (int w = 0; w < cluster.nodes; ++w) {
    EXPECT_LT(cluster.loss(cluster.params(w)) - there, 0.1 * (initial - there)) << "worker " << w;
  }
}

TEST_P(EveryFreeProtocol, DoesAsManyIterationsAsThereAreCredits) {
  Cluster cluster = busy();
  cluster.credits = 77;
  run(cluster);
  EXPECT_EQ(cluster.broken(), "");
  EXPECT_EQ(cluster.total(&RankRecord::iters), 77);
  EXPECT_EQ(cluster.total(&RankRecord::samples), 77 * cluster.workload.batch);
  // Rank 2 is slow. Whether the others wait for it may depend on values.
  const bool by_values = protocol().control(values_of(GetParam())) == Control::kValues;
  const int batch = cluster.workload.batch;
  EXPECT_LT(cluster.records[2].samples, cluster.records[0].samples + (by_values ? batch : 0));
}

TEST_P(EveryProtocol, KeepsItsInvariantsInAnyOrderOfEvents) {
  for (std::uint64_t shuffle = 1; shuffle <= 5; ++shuffle) {
    Cluster cluster = busy();
    cluster.shuffle = shuffle;
    run(cluster);
    EXPECT_EQ(cluster.broken(), "") << "shuffle " << shuffle;
  }
}

TEST_P(EveryProtocol, RunsWithoutACommunicationCost) {
  Cluster cluster = busy();
  cluster.instant_network = true;
  run(cluster);
  EXPECT_EQ(cluster.broken(), "");
}

TEST_P(EveryProtocol, RunsInTheSmallestCluster) {
  const bool backup = GetParam().knobs.count("backup") != 0;  // waits for a neighbour and does without another
  Cluster cluster{.nodes = backup ? 3 : 2, .topology = "complete", .iterations = 5};
  run(cluster);
  EXPECT_EQ(cluster.broken(), "");
}

TEST_P(EveryProtocol, GoesOnOrNamesTheRankThatDied) {
  Cluster cluster = busy();
  cluster.killed[3] = Time{} + std::chrono::milliseconds(45);
  try {
    run(cluster);
    EXPECT_TRUE(continues(protocol(), values_of(GetParam()))) << "ended as if nothing had happened";
    EXPECT_EQ(cluster.broken(), "");
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("rank 3 died"), std::string::npos) << error.what();
  }
}

TEST_P(EveryProtocol, RefusesAKnobItDoesNotHave) {
  Cluster cluster;
  EXPECT_THROW(cluster.run(GetParam().protocol, {{"no_such_knob", 1}}), Error);
}

}  // namespace
}  // namespace hopbench
