#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "protocols/allreduce/gradient_change.h"
#include "tests/cluster.h"

namespace hopbench::allreduce {
namespace {

Cluster six_in_a_ring() {
  return {.nodes = 6, .slow = {{2, 3.0}}, .topology = "ring", .iterations = 20, .keep_events = true};
}

// The model of a worker after k iterations.
const Payload& at(const Cluster& cluster, int worker, Iter k) {
  return cluster.reports[std::size_t(worker)][std::size_t(k - 1)].x;
}

bool replicas_equal(const Cluster& cluster, Iter k) {
  for (int w = 1; w < cluster.nodes; ++w) {
    if (hash_bits(at(cluster, w, k)) != hash_bits(at(cluster, 0, k))) return false;
  }
  return true;
}

// Which iterations ended with an average.
std::vector<bool> synced(const Cluster& cluster) {
  std::vector<bool> all(std::size_t(cluster.iterations));
  for (const Event& event : cluster.events) {
    if (event.what == EventKind::kSend && event.kind == std::uint16_t(kReduceScatter))
      all[std::size_t(event.iter)] = true;
  }
  return all;
}

TEST(SelSync, WithoutThresholdIsBspWithParameterAveraging) {
  Cluster cluster = six_in_a_ring(), reference = six_in_a_ring();
  cluster.run("selsync", {{"delta", 0.0}, {"window", 1}});
  reference.run("allreduce");
  for (Iter k = 1; k <= cluster.iterations; ++k) EXPECT_TRUE(replicas_equal(cluster, k)) << k;
  // Each iteration: the mean of everybody's own step from the common model.
  for (Iter k = 1; k < cluster.iterations; ++k) {
    std::vector<Payload> stepped;
    std::vector<Vec> models;
    for (int w = 0; w < cluster.nodes; ++w) {
      Vec g = Vec::uninitialised(cluster.work->size());
      const int batch = cluster.workload.batch;
      cluster.work->gradient(at(cluster, w, k), w, std::uint64_t(k * batch), batch, g, [](int) {});
      models.push_back(Vec::copy_of(at(cluster, w, k)));
      models.back().axpy(-cluster.optimizer.lr, share(g));
    }
    for (const Vec& model : models) stepped.push_back(share(model));
    const std::vector<float> is = Vec::copy_of(at(cluster, 0, k + 1)).to_host(), should = mean(stepped).to_host();
    for (std::size_t d = 0; d < is.size(); ++d) EXPECT_NEAR(is[d], should[d], 1e-5) << "iteration " << k;
  }
  // Without momentum the mean of the steps is the step with the mean.
  const std::vector<float> a = cluster.mean_model(), b = reference.mean_model();
  for (std::size_t d = 0; d < a.size(); ++d) EXPECT_NEAR(a[d], b[d], 1e-4);
}

TEST(SelSync, WithAHugeThresholdIsLocalSgdAfterTheFirstWindow) {
  Cluster cluster = six_in_a_ring();
  cluster.run("selsync", {{"delta", 1e9}, {"window", 5}});
  const std::vector<bool> averaged = synced(cluster);
  for (Iter k = 0; k < cluster.iterations; ++k) EXPECT_EQ(averaged[std::size_t(k)], k < 5) << k;
  // Each worker's own steps from the last common model.
  for (int w = 0; w < cluster.nodes; ++w) {
    Vec x = Vec::copy_of(at(cluster, w, 5));
    for (Iter k = 5; k < cluster.iterations; ++k) {
      Vec g = Vec::uninitialised(cluster.work->size());
      const int batch = cluster.workload.batch;
      cluster.work->gradient(share(x), w, std::uint64_t(k * batch), batch, g, [](int) {});
      x.space().sgd(x.mutable_data(), nullptr, g.data(), {.lr = cluster.optimizer.lr}, x.size());
      EXPECT_EQ(hash_bits(share(x)), hash_bits(at(cluster, w, k + 1))) << "worker " << w << ", iteration " << k;
    }
  }
}

TEST(SelSync, SyncsSometimesAndThenAllReplicasAreEqual) {
  Cluster cluster = six_in_a_ring();
  cluster.iterations = 60;
  cluster.run("selsync", {{"delta", 0.2}, {"window", 4}});
  EXPECT_EQ(cluster.broken(), "");
  const std::vector<bool> averaged = synced(cluster);
  int syncs = 0;
  for (Iter k = 0; k < cluster.iterations; ++k) {
    syncs += averaged[std::size_t(k)] ? 1 : 0;
    EXPECT_EQ(replicas_equal(cluster, k + 1), averaged[std::size_t(k)]) << k;
  }
  EXPECT_GT(syncs, 4);  // more than the forced ones
  EXPECT_LT(syncs, cluster.iterations);
}

// One worker tells the others what the rule says that it should.
TEST(SelSync, AFlagIsOneWordToEveryOtherWorkerAndFollowsTheNorms) {
  Cluster cluster = six_in_a_ring();
  const double delta = 0.2;
  const int window = 4;
  cluster.run("selsync", {{"delta", delta}, {"window", window}, {"smoothing", 0.3}});
  std::map<std::pair<int, Iter>, std::vector<std::int64_t>> flags;
  for (const Event& event : cluster.events) {
    if (event.what == EventKind::kSend && event.kind == std::uint16_t(kRequest))
      flags[{event.rank, event.iter}].push_back(event.count);
  }
  EXPECT_EQ(flags.size(), std::size_t(cluster.nodes * cluster.iterations));
  for (int w = 0; w < cluster.nodes; ++w) {
    GradientChange change(window, 0.3);
    for (Iter k = 0; k < cluster.iterations; ++k) {
      Vec g = Vec::uninitialised(cluster.work->size());
      const Payload x = k == 0 ? cluster.work->initial().share() : at(cluster, w, k);
      cluster.work->gradient(x, w, std::uint64_t(k * cluster.workload.batch), cluster.workload.batch, g, [](int) {});
      const bool raised = change.next(squared_norm(share(g))) >= delta || k < window;
      EXPECT_EQ(flags.at({w, k}), std::vector<std::int64_t>(5, raised ? 1 : 0)) << "worker " << w << ", " << k;
    }
  }
}

TEST(SelSync, IsInLockStepAtAnySpeeds) {
  Cluster even{.nodes = 6, .topology = "ring", .iterations = 30}, uneven = six_in_a_ring();
  uneven.iterations = 30;
  uneven.network.jitter = 2.0;
  const Knobs knobs = {{"delta", 0.2}, {"window", 3}};
  even.run("selsync", knobs);
  uneven.run("selsync", knobs);
  EXPECT_EQ(even.params_hash(), uneven.params_hash());
  EXPECT_LE(uneven.lead_max(), 1);
  EXPECT_GT(uneven.end, even.end);
}

TEST(SelSync, FollowsFloatValuesButWhereItSyncsAlways) {
  const Protocol& selsync = find_protocol("selsync");
  KnobValues knobs(selsync.knobs);
  EXPECT_EQ(selsync.control(knobs), Control::kLockstepByValues);
  EXPECT_TRUE(in_lockstep(selsync, knobs));
  knobs.set(selsync.knobs, "delta", 0.0);
  EXPECT_EQ(selsync.control(knobs), Control::kLockstep);
}

// --- The measure

TEST(GradientChange, WeighsTheLastNormsByAge) {
  GradientChange change(3, 0.5);
  EXPECT_EQ(change.next(8), 0);  // nothing to compare with
  EXPECT_EQ(change.smoothed(), 8);
  EXPECT_NEAR(change.next(2), 0.5, 1e-12);  // (2 + 8/2) / 1.5 = 4
  EXPECT_NEAR(change.smoothed(), 4, 1e-12);
  change.next(1);
  EXPECT_NEAR(change.smoothed(), (1 + 1 + 2) / 1.75, 1e-12);
  change.next(3);  // the 8 is out of the window
  EXPECT_NEAR(change.smoothed(), (3 + 0.5 + 0.5) / 1.75, 1e-12);
}

TEST(GradientChange, OfAFactorOfOneSeesTheNewestNormOnly) {
  GradientChange change(25, 1.0);
  change.next(4);
  EXPECT_NEAR(change.next(5), 0.25, 1e-12);
  EXPECT_NEAR(change.next(1), 0.8, 1e-12);
}

TEST(GradientChange, OfNothingIsNoChange) {
  GradientChange change(5, 0.1);
  EXPECT_EQ(change.next(0), 0);
  EXPECT_EQ(change.next(0), 0);
  EXPECT_EQ(change.next(1), std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(change.next(std::nan(""))));
}

}  // namespace
}  // namespace hopbench::allreduce
