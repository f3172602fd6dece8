// Methods with outer steps: the limits at which they are others, and who waits for whom.
#include <gtest/gtest.h>

#include <algorithm>

#include "protocols/groups/background_mean.h"
#include "tests/cluster.h"

namespace hopbench {
namespace {

Cluster five_unequal() {
  Cluster cluster{.nodes = 5, .slow = {{2, 3.0}}, .topology = "ring", .iterations = 32};
  cluster.optimizer.momentum = 0.5f;
  cluster.keep_events = true;
  return cluster;
}

const Knobs kPlain = {{"outer", "momentum"}, {"outer_lr", 1.0}, {"outer_momentum", 0.0}};

Knobs with_knobs(Knobs knobs, const Knobs& more) {
  knobs.insert(more.begin(), more.end());
  return knobs;
}

// A process that serves ends once the workers that it is connected with are done.
TEST(Servers, AreConnectedWithTheWorkersWhoseEndTheyWaitFor) {
  const Topology graph = make_topology("complete", 4);
  for (const Protocol* protocol : protocols()) {
    const Setting setting{KnobValues(protocol->knobs), graph, 4, {0, 0, 1, 1}, 0, 4};
    const int extra = protocol->extra_ranks == nullptr ? 0 : protocol->extra_ranks(setting);
    std::set<int> served;
    for (const auto& [a, b] : extra == 0 ? std::vector<Edge>{} : protocol->links(setting)) {
      if (std::min(a, b) < 4) served.insert(std::max(a, b));
    }
    for (int server = 4; server < 4 + extra; ++server) EXPECT_EQ(served.count(server), 1u) << protocol->name << server;
  }
}

std::int64_t kept_by_a_mean = 0;  // floats

// A model is contributed, and goes on changing: the mean keeps what it was until it is over.
void contribute(Node& self, const KnobValues&) {
  Vec x = self.initial();
  BackgroundMean mean(self);
  x.fill(1);
  const std::int64_t before = Storage::floats_held();
  mean.begin(share(x));
  x.fill(2);
  mean.wait("the mean");
  kept_by_a_mean = Storage::floats_held() - before;
  EXPECT_EQ(mean.taken().values.data()[0], 1);
}

TEST(BackgroundMean, KeepsNoModelOfAMeanThatIsOver) {
  const Protocol protocol{.name = "contributes",
                          .summary = "one mean",
                          .paper = "none",
                          .knobs = {},
                          .body = contribute,
                          .reading = "none"};
  Cluster cluster{.nodes = 1, .topology = "complete", .iterations = 1};
  cluster.run(protocol);
  EXPECT_EQ(kept_by_a_mean, 8) << "the mean, and not also what it is of";
}

TEST(Diloco, WithAPlainOuterStepIsLocalSgd) {
  for (const int period : {1, 4}) {
    Cluster diloco = five_unequal(), local = five_unequal();
    diloco.run("diloco", with_knobs(kPlain, {{"period", period}}));
    local.run("local_sgd", {{"period", period}});
    EXPECT_LT(distance(diloco.mean_model(), local.mean_model()), 1e-6) << period;
    EXPECT_EQ(diloco.broken(), "");
  }
}

TEST(Diloco, HandsOverTheOuterParameters) {
  Cluster cluster = five_unequal();
  cluster.run("diloco", {{"period", 8}});
  for (int w = 1; w < 5; ++w) EXPECT_EQ(hash_bits(cluster.params(w)), hash_bits(cluster.params(0)));
  const auto& reports = cluster.reports[0];
  EXPECT_EQ(hash_bits(reports[7].x), hash_bits(reports[14].x)) << "between two outer steps nothing changes";
  EXPECT_NE(hash_bits(reports[14].x), hash_bits(reports[15].x));
}

TEST(Diloco, SendsAModelInAPeriod) {
  Cluster few = five_unequal(), many = five_unequal();
  few.run("diloco", {{"period", 16}});
  many.run("diloco", {{"period", 2}});
  EXPECT_EQ(8 * few.total(&RankRecord::bytes_sent), many.total(&RankRecord::bytes_sent));
}

TEST(Diloco, RenewsTheInnerStateAsAsked) {
  std::set<std::uint64_t> hashes;
  for (const char* rule : {"keep", "reset", "average"}) {
    Cluster cluster = five_unequal();
    cluster.run("diloco", {{"inner_state", std::string(rule)}});
    EXPECT_EQ(cluster.broken(), "") << rule;
    hashes.insert(cluster.params_hash());
  }
  EXPECT_EQ(hashes.size(), 3u);
}

TEST(StreamingDiloco, OfOneFragmentWithoutDelayAndMixingIsDiloco) {
  Cluster streaming = five_unequal(), diloco = five_unequal();
  streaming.run("streaming_diloco", {{"fragments", 1}, {"delay", 0}, {"alpha", 0.0}});
  diloco.run("diloco");
  EXPECT_EQ(streaming.params_hash(), diloco.params_hash());
  EXPECT_EQ(streaming.broken(), "");
}

// A fragment travels while local steps go on: a network that takes up to `delay` steps costs nothing.
TEST(StreamingDiloco, HidesASlowNetwork) {
  Cluster hidden{.nodes = 4, .topology = "ring", .iterations = 32};
  hidden.network.latency = std::chrono::milliseconds(3);  // six hops of a ring: 18 ms of 10 ms a step
  Cluster seen = hidden;
  hidden.run("streaming_diloco", {{"period", 8}, {"delay", 3}});
  seen.run("streaming_diloco", {{"period", 8}, {"delay", 0}});
  const auto steps = std::chrono::milliseconds(320);
  EXPECT_LT(hidden.end - Time{}, steps + std::chrono::milliseconds(25)) << "but the last fragment";
  EXPECT_GT(seen.end - Time{}, steps + 7 * std::chrono::milliseconds(18)) << "seven fragments are awaited";
}

TEST(StreamingDiloco, SendsAsMuchAsDilocoInSmallerPieces) {
  Cluster streaming = five_unequal(), diloco = five_unequal();
  streaming.workload.size = diloco.workload.size = 4000;
  streaming.run("streaming_diloco", {{"period", 8}, {"fragments", 4}});
  diloco.run("diloco", {{"period", 8}});
  EXPECT_LT(double(streaming.total(&RankRecord::bytes_sent)), 1.05 * double(diloco.total(&RankRecord::bytes_sent)));
}

TEST(StreamingDiloco, RefusesWhatCannotBe) {
  Cluster cluster = five_unequal();
  EXPECT_THROW(cluster.run("streaming_diloco", {{"period", 8}, {"fragments", 9}}), Error);
  EXPECT_THROW(cluster.run("streaming_diloco", {{"period", 8}, {"fragments", 4}, {"delay", 2}}), Error);
  cluster.run("streaming_diloco", {{"period", 8}, {"fragments", 4}, {"delay", 1}});
  EXPECT_EQ(cluster.broken(), "");
}

TEST(SlowMo, WithoutSlowMomentumIsLocalSgd) {
  Cluster slow = five_unequal(), local = five_unequal();
  slow.run("slowmo", {{"beta", 0.0}, {"alpha", 1.0}, {"period", 4}});
  local.run("local_sgd", {{"period", 4}});
  EXPECT_LT(distance(slow.mean_model(), local.mean_model()), 1e-6);
}

TEST(OverlapLocalSgd, DoesNotWaitForTheMeanOfItsOwnRound) {
  Cluster overlapping{.nodes = 4, .topology = "ring", .iterations = 32};
  overlapping.network.latency = std::chrono::milliseconds(3);
  Cluster waiting = overlapping;
  overlapping.run("overlap_local_sgd", {{"period", 4}});
  waiting.run("local_sgd", {{"period", 4}});
  EXPECT_LT(overlapping.end - Time{}, std::chrono::milliseconds(320 + 25)) << "but the last mean";
  EXPECT_GT(waiting.end - Time{}, std::chrono::milliseconds(320 + 7 * 18));
}

TEST(Easgd, NeverWaitsForASlowWorker) {
  Cluster cluster{.nodes = 4, .slow = {{2, 50.0}}, .topology = "ring", .iterations = 24, .instant_network = true};
  cluster.run("easgd", {{"servers", 1}});
  EXPECT_EQ(cluster.records[0].finished, Time{} + std::chrono::milliseconds(240));
  EXPECT_EQ(cluster.broken(), "");
}

TEST(AsyncDiloco, OfOneWorkerIsDilocoWithDelayedMomentumEachTime) {
  Cluster async{.nodes = 1, .topology = "complete", .iterations = 32};
  Cluster diloco = async;
  async.run("async_diloco");
  diloco.run("diloco");
  EXPECT_LT(distance(async.mean_model(), diloco.mean_model()), 1e-6);
}

TEST(AsyncDiloco, GivesSlowWorkersFewerSteps) {
  Cluster cluster{.nodes = 3, .slow = {{1, 4.0}}, .topology = "ring", .iterations = 64, .instant_network = true};
  cluster.keep_events = true;
  cluster.run("async_diloco", {{"servers", 1}, {"period", 8}});
  EXPECT_EQ(cluster.broken(), "");
  const auto pushes_of = [&](int worker) {
    std::vector<Iter> at;
    for (const Event& event : cluster.events) {
      if (event.what == EventKind::kSend && event.rank == worker && event.kind == std::uint16_t(kPush))
        at.push_back(event.iter);
    }
    return at;
  };
  const std::vector<Iter> slow = pushes_of(1), fast = pushes_of(0);
  EXPECT_EQ(fast[3] - fast[2], 8);
  EXPECT_EQ(slow[3] - slow[2], 2) << "a quarter";
}

TEST(NoLoCo, OfTwoWorkersIsDilocoWithOtherMomentumWhereTheyAgree) {
  Cluster pair{.nodes = 2, .topology = "ring", .iterations = 32};
  Cluster diloco = pair;
  pair.run("noloco", {{"alpha", 0.0}});
  diloco.run("diloco", {{"outer", "momentum"}, {"outer_momentum", 0.0}, {"outer_lr", 0.7}});
  EXPECT_LT(distance(pair.mean_model(), diloco.mean_model()), 1e-5);
}

TEST(NoLoCo, LeavesOneOfAnOddNumberAlone) {
  Cluster cluster = five_unequal();
  cluster.run("noloco");
  EXPECT_EQ(cluster.broken(), "");
  EXPECT_EQ(cluster.checker("pairs_of_all")->looked(), 8 * 4) << "eight rounds, four of five workers in pairs";
}

TEST(DecoupledDiloco, NeverWaitsForASlowLearner) {
  Cluster cluster{.nodes = 4, .slow = {{2, 50.0}}, .topology = "ring", .iterations = 24, .instant_network = true};
  cluster.run("decoupled_diloco");
  EXPECT_EQ(cluster.records[0].finished, Time{} + std::chrono::milliseconds(240));
  EXPECT_EQ(cluster.broken(), "");
}

// A window as long as this would not end within the run.
TEST(DecoupledDiloco, MergesAtOnceWhatAllHaveSent) {
  Cluster cluster{.nodes = 3, .slow = {{2, 3.0}}, .topology = "ring", .iterations = 48};
  cluster.keep_events = true;
  cluster.run("decoupled_diloco", {{"period", 2}, {"fragments", 1}, {"quorum", 2}, {"grace", 1000.0}});
  EXPECT_EQ(cluster.broken(), "");
  const auto merged = std::count_if(cluster.events.begin(), cluster.events.end(), [](const Event& event) {
    return event.what == EventKind::kApplied && event.rank == 3 && event.peer == 2;
  });
  EXPECT_GT(merged, 20) << "of the 24 fragments of the slow learner";
}

int merged_from(const Cluster& cluster, int learner) {
  return static_cast<int>(std::count_if(cluster.events.begin(), cluster.events.end(), [&](const Event& event) {
    return event.what == EventKind::kApplied && event.rank == cluster.nodes && event.peer == learner;
  }));
}

// The window is measured by how long a quorum takes, not by how long the merge took that it is part of.
TEST(DecoupledDiloco, DoesNotComeToWaitForTheSlow) {
  Cluster cluster{.nodes = 4, .slow = {{1, 1.3}, {2, 1.7}, {3, 12.0}}, .topology = "ring", .iterations = 240};
  cluster.keep_events = true;
  cluster.run("decoupled_diloco", {{"period", 2}, {"fragments", 1}, {"quorum", 2}});
  EXPECT_EQ(cluster.broken(), "");
  EXPECT_GT(merged_from(cluster, 0), 85) << "of 120 fragments, while the second fastest sends 92";
}

TEST(DecoupledDiloco, GoesOnWithoutADeadLearner) {
  Cluster cluster{.nodes = 4, .topology = "ring", .iterations = 48};
  cluster.killed[1] = Time{} + std::chrono::milliseconds(133);
  cluster.run("decoupled_diloco", {{"quorum", 3}});
  EXPECT_EQ(cluster.broken(), "");
  EXPECT_LT(cluster.loss(), 0.5 * cluster.initial_loss());
}

TEST(DecoupledDiloco, RefusesAQuorumOfMoreThanThereAre) {
  Cluster cluster{.nodes = 4, .topology = "ring", .iterations = 8};
  EXPECT_THROW(cluster.run("decoupled_diloco", {{"quorum", 5}}), Error);
  EXPECT_THROW(cluster.run("decoupled_diloco", {{"period", 3}, {"fragments", 4}}), Error);
}

// Without momentum a step that is slow to be heard of is as long as any other.
TEST(Halos, LosesNothingOfWhatIsPushedBeforeAnAnswer) {
  const auto loss = [](std::chrono::milliseconds latency) {
    Cluster cluster{
        .nodes = 6, .slow = {{1, 1.1}, {2, 1.3}, {4, 1.7}, {5, 1.9}}, .topology = "ring", .iterations = 192};
    cluster.network.host_of = {0, 0, 0, 1, 1, 1, 0, 1, 0};
    cluster.network.latency = latency;
    cluster.optimizer.lr = 0.002f;
    cluster.run("halos", {{"accumulate", 12}, {"local_momentum", 0.0}, {"global_momentum", 0.0}});
    EXPECT_EQ(cluster.broken(), "");
    return cluster.loss() / cluster.initial_loss();
  };
  const double near = loss(std::chrono::milliseconds(0)), far = loss(std::chrono::milliseconds(60));
  EXPECT_GT((1 - far) / (1 - near), 0.95) << "the way made over the slow links: " << far << ", " << near;
}

TEST(Hivemind, HasOneModelWhereTheLearningRateFalls) {
  Cluster cluster{.nodes = 4, .slow = {{3, 4.0}}, .topology = "ring", .iterations = 40};
  cluster.optimizer.cosine = 60;
  cluster.run("hivemind");
  EXPECT_EQ(cluster.broken(), "");
  const std::vector<float> first = Vec::copy_of(cluster.params(0)).to_host();
  for (const int worker : {1, 2, 3})
    EXPECT_EQ(Vec::copy_of(cluster.params(worker)).to_host(), first) << "worker " << worker;
}

TEST(Halos, SendsLittleBetweenRegions) {
  Cluster cluster{.nodes = 6, .slow = {{2, 3.0}}, .topology = "ring", .iterations = 24};
  cluster.network.host_of = {0, 0, 0, 1, 1, 1, 0, 1, 0};  // two regions of three, their servers, and the global one
  cluster.keep_events = true;
  cluster.run("halos");
  EXPECT_EQ(cluster.broken(), "");
  int between = 0, pushes = 0;
  for (const Event& event : cluster.events) {
    if (event.what != EventKind::kSend) continue;
    pushes += event.kind == std::uint16_t(kPush) ? 1 : 0;
    if (cluster.network.host_of[std::size_t(event.rank)] == cluster.network.host_of[std::size_t(event.peer)]) continue;
    ++between;
    EXPECT_GE(event.rank, 6) << "only servers talk to other regions";
  }
  EXPECT_EQ(pushes, 36) << "a worker's steps in fours";
  EXPECT_LE(between, 2 * 6) << "the region without the global server: a message and its answer for three pushes";
}

TEST(Halos, HearsTheWorkersOfEveryRegion) {
  Cluster cluster{.nodes = 6, .iterations = 24};
  cluster.network.host_of = {0, 0, 0, 1, 1, 1, 0, 1, 0};  // then the servers of both regions, and the global one
  cluster.run("halos");
  ASSERT_EQ(cluster.servers, 3);
  for (const int region : {0, 1}) {
    std::vector<int> heard;
    for (const auto& [worker, iter] : cluster.records[std::size_t(6 + region)].heard) heard.push_back(worker);
    EXPECT_EQ(heard, (std::vector<int>{3 * region, 3 * region + 1, 3 * region + 2}));
  }
}

}  // namespace
}  // namespace hopbench
