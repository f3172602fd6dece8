// Methods that cut work short: what they choose, what they drop, and the limits at which they are others.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "protocols/cut/drop_times.h"
#include "tests/cluster_models.h"

namespace hopbench::cut {
namespace {

/// Four micro-batches of a second each, the last of which may take longer.
MicroBatchTimes four_parts(double last) { return {.begins = {0, 1, 2, 3}, .samples = {1, 1, 1, 1}, .end = 3 + last}; }

/// Returns the speed-up of a limit as docs/protocols/cut.md says it: the mean of time / time under the limit, times the
/// share of the samples that it keeps.
double effective_speedup(const std::vector<MeasuredIteration>& iterations, double limit) {
  double faster = 0, kept = 0, all = 0;
  for (const MeasuredIteration& iteration : iterations) {
    double whole = 0, cut = 0;
    for (const MicroBatchTimes& times : iteration.workers) {
      whole = std::max(whole, times.end);
      for (std::size_t p = 0; p < times.begins.size(); ++p) {
        all += times.samples[p];
        if (p > 0 && times.begins[p] > limit) continue;
        kept += times.samples[p];
        cut = std::max(cut, p + 1 == times.begins.size() ? times.end : times.begins[p + 1]);
      }
    }
    faster += (whole + iteration.communication) / (cut + iteration.communication) / double(iterations.size());
  }
  return faster * kept / all;
}

TEST(DropTimes, CutNothingIfAllTakeAsLong) {
  const std::vector<MeasuredIteration> alike = {{.workers = {four_parts(1), four_parts(1)}, .communication = 0.5}};
  EXPECT_EQ(best_limit(alike), std::nullopt);
}

// More micro-batches than any sample of limits, and times of which no two are alike.
TEST(DropTimes, CutAtTheBestOfAllLimits) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Random random({.seed = seed, .purpose = Purpose::kTest});
    std::vector<MeasuredIteration> iterations(2 + random.below(12));
    const std::size_t workers = 2 + random.below(7), parts = 1 + random.below(20);
    std::vector<double> begins;
    for (MeasuredIteration& iteration : iterations) {
      iteration.communication = random.uniform();
      for (std::size_t w = 0; w < workers; ++w) {
        MicroBatchTimes times;
        const double pace = random.chance(0.15) ? 6 : 0.5 + random.uniform();
        for (std::size_t p = 0; p < parts; ++p) {
          times.begins.push_back(times.end);
          times.samples.push_back(1 + int(random.below(3)));
          times.end += pace * (0.5 + random.uniform());
        }
        begins.insert(begins.end(), times.begins.begin() + 1, times.begins.end());
        iteration.workers.push_back(times);
      }
    }
    double most = 0;
    for (const double begin : begins) most = std::max(most, effective_speedup(iterations, begin));
    const auto best = best_limit(iterations);
    ASSERT_EQ(best.has_value(), most > 1.01) << seed;
    if (!best) continue;
    EXPECT_NEAR(effective_speedup(iterations, *best), most, 1e-9) << seed;
  }
}

MicroBatchTimes of_10_ms(double part) {
  const auto told = [part](int parts) { return static_cast<double>(static_cast<float>(part * parts)); };
  return {.begins = {0, told(1), told(2), told(3)}, .samples = {1, 1, 1, 1}, .end = told(4)};
}

// Times are told in single precision, in which 0.03 s is a little less. That may not cut a part that begins then.
TEST(DropTimes, KeepWhatBeginsAtTheLimit) {
  const std::vector<MeasuredIteration> alike(7, {.workers = {of_10_ms(0.01), of_10_ms(0.01)}, .communication = 0});
  EXPECT_EQ(best_limit(alike), std::nullopt) << "nothing is gained by cutting any";
  const std::vector<MeasuredIteration> slow(
      7, {.workers = {of_10_ms(0.01), of_10_ms(0.01), of_10_ms(0.01), of_10_ms(0.04)}, .communication = 0});
  EXPECT_GE(best_limit(slow).value(), 0.03) << "three whole batches";
  EXPECT_LT(best_limit(slow).value(), 0.0301) << "and a part of the slow worker's";
}

// Any limit looks a little better than none on some iterations, if only the best of them is looked for.
TEST(DropTimes, CutNothingForAGainThatIsNone) {
  std::vector<MeasuredIteration> uneven;
  for (const double last : {1.01, 1.0, 1.02, 1.0})
    uneven.push_back({.workers = {four_parts(last), four_parts(1)}, .communication = 0});
  EXPECT_EQ(best_limit(uneven), std::nullopt) << "without the last parts 0.75 times 4.02 / 3 = 1.005";
}

TEST(DropTimes, CutNothingOfASingleWorker) {
  std::vector<MeasuredIteration> alone(3, {.workers = {four_parts(1)}, .communication = 0});
  alone[1].workers[0] = four_parts(9);
  EXPECT_EQ(best_limit(alone), std::nullopt);
}

// One of four iterations has a worker whose last part takes 20 s. Without it iterations of 4 s stay, and 31 of 32
// parts.
TEST(DropTimes, CutARareLongTail) {
  std::vector<MeasuredIteration> iterations(4, {.workers = {four_parts(1), four_parts(1)}, .communication = 0});
  for (MeasuredIteration& iteration : iterations) iteration.workers[0] = four_parts(1);
  iterations[2].workers[0] = {.begins = {0, 5, 10, 15}, .samples = {1, 1, 1, 1}, .end = 20};
  const double limit = best_limit(iterations).value();
  EXPECT_GE(limit, 3) << "the last part of the others begins at 3 s";
  EXPECT_LT(limit, 5);
  // The slow iteration takes 5 s instead of 20 and keeps one part of four: 29 of 32 in all.
  EXPECT_NEAR(effective_speedup(iterations, 3), (1 + 1 + 4 + 1) / 4.0 * 29 / 32, 1e-12);
}

// The last part holds half of the samples and half of the time: to cut it gains nothing, though it is one part of
// three.
TEST(DropTimes, CountSamplesNotMicroBatches) {
  const MicroBatchTimes uneven{.begins = {0, 1, 2}, .samples = {1, 1, 2}, .end = 4};
  const std::vector<MeasuredIteration> alike = {{.workers = {uneven, uneven}, .communication = 0}};
  EXPECT_EQ(best_limit(alike), std::nullopt);
}

TEST(DropTimes, CutLessWhereTheAllReduceTakesLong) {
  const auto gain = [](double communication) {
    std::vector<MeasuredIteration> iterations(1);
    iterations[0] = {.workers = {four_parts(1), {.begins = {0, 3, 6, 9}, .samples = {1, 1, 1, 1}, .end = 12}},
                     .communication = communication};
    return effective_speedup(iterations, 3);
  };
  EXPECT_GT(gain(0), 1);
  EXPECT_LT(gain(100), 1);
}

// No measured gradient was slow, or there is nobody to wait for: the slow ones that follow are whole.
TEST(DropCompute, DropsNothingIfNoLimitGained) {
  for (const int nodes : {1, 2, 4}) {
    Cluster cluster{.nodes = nodes, .topology = "complete", .iterations = 40};
    cluster.workload.batch = 8;
    cluster.compute.push_back(
        {.what = SlowdownKind::kConstant, .factor = 6.0, .from = Time{} + std::chrono::milliseconds(200)});
    if (nodes > 1) cluster.compute[0].ranks = {1};
    cluster.run("dropcompute", {{"measured", 5}});
    EXPECT_EQ(cluster.total(&RankRecord::samples), nodes * 40 * 8) << nodes;
  }
}

TEST(DropCompute, IsAllReduceWhileNothingIsDropped) {
  Cluster cut{.nodes = 5, .slow = {{2, 2.0}}, .topology = "ring", .iterations = 15};
  cut.workload.batch = 12;
  Cluster whole = cut;
  cut.run("dropcompute", {{"measured", 100}, {"parts", 1}});
  whole.run("allreduce", {{"overlap", false}});
  EXPECT_EQ(cut.params_hash(), whole.params_hash());
  EXPECT_EQ(cut.broken(), "");
}

// Now and then a gradient takes five times as long.
TEST(DropCompute, IsFasterThanAllReduceBesideRareStragglers) {
  Cluster cut{.nodes = 8, .topology = "ring", .iterations = 200};
  cut.workload.batch = 16;
  cut.compute.push_back({.what = SlowdownKind::kBernoulli, .factor = 5.0, .probability = 0.05});
  Cluster whole = cut;
  cut.run("dropcompute");
  whole.run("allreduce");
  EXPECT_EQ(cut.broken(), "");
  const double kept = double(cut.total(&RankRecord::samples)) / double(whole.total(&RankRecord::samples));
  EXPECT_GT(kept, 0.5);
  EXPECT_LT(kept, 1.0);
  EXPECT_GT(kept * to_seconds(whole.end - Time{}) / to_seconds(cut.end - Time{}), 1.3) << "samples a second";
}

TEST(AbsSgd, DoesNotWaitForAnAllReduceThatAGradientHides) {
  Cluster hidden{.nodes = 4, .topology = "ring", .iterations = 30};
  hidden.workload.batch = 16;
  hidden.network.latency = std::chrono::milliseconds(1);
  Cluster seen = hidden;
  hidden.run("abs_sgd");
  seen.run("allreduce", {{"overlap", false}});
  EXPECT_EQ(hidden.broken(), "");
  EXPECT_LT(to_seconds(hidden.end - Time{}), 0.8 * to_seconds(seen.end - Time{}));
}

TEST(AbsSgd, ComputesMoreSamplesOnFastWorkers) {
  Cluster cluster{.nodes = 4, .slow = {{1, 6.0}}, .topology = "ring", .iterations = 60};
  cluster.workload.batch = 24;
  cluster.run("abs_sgd");
  EXPECT_EQ(cluster.broken(), "");
  EXPECT_GT(cluster.records[0].samples, 2 * cluster.records[1].samples);
}

TEST(AEdit, LetsASlowWorkerMakeFewerSteps) {
  Cluster cluster{.nodes = 4, .slow = {{1, 5.0}}, .topology = "ring", .credits = 400};
  cluster.run("a_edit", {{"period", 10}});
  EXPECT_EQ(cluster.broken(), "");
  EXPECT_GT(cluster.records[0].iters, 3 * cluster.records[1].iters);
}

// Outer gradients become longer while the learning rate rises: they are no anomalies for ever.
TEST(AEdit, LearnsThroughAWarmUp) {
  Cluster cluster{.nodes = 4, .topology = "ring", .iterations = 400};
  cluster.optimizer.warmup = 200;
  Cluster plain = cluster;
  cluster.run("a_edit");
  plain.run("allreduce");
  EXPECT_LT(cluster.loss(), plain.loss() + 0.05 * (cluster.initial_loss() - plain.loss()));
}

TEST(AEdit, EndsWithOneModel) {
  Cluster cluster{.nodes = 5, .slow = {{1, 3.0}}, .topology = "ring", .credits = 101};
  cluster.run("a_edit");
  for (int w = 1; w < 5; ++w) EXPECT_EQ(hash_bits(cluster.params(w)), hash_bits(cluster.params(0)));
}

Cluster on_three_hosts() {
  Cluster cluster{.nodes = 6, .slow = {{2, 3.0}}, .topology = "ring", .iterations = 24};
  cluster.network.host_of = {0, 0, 1, 1, 2, 2, 0, 1, 2, 0};
  return cluster;
}

TEST(Daso, KeepsOneModelOnEachHost) {
  Cluster cluster = on_three_hosts();
  cluster.run("daso");
  EXPECT_EQ(cluster.broken(), "");
  for (int host = 0; host < 3; ++host)
    EXPECT_EQ(hash_bits(cluster.params(2 * host)), hash_bits(cluster.params(2 * host + 1))) << host;
  EXPECT_EQ(different_models(cluster, 10).size(), 3u);
}

TEST(Daso, WithAnAverageInEachIterationHasOneModel) {
  Cluster cluster = on_three_hosts();
  cluster.run("daso", {{"skip", 1}, {"wait", 0}});
  EXPECT_EQ(different_models(cluster, 10).size(), 1u);
}

TEST(Daso, SendsLittleBetweenHosts) {
  const auto between = [](const Knobs& knobs) {
    Cluster cluster = on_three_hosts();
    cluster.keep_events = true;
    cluster.run("daso", knobs);
    return std::count_if(cluster.events.begin(), cluster.events.end(), [&](const Event& event) {
      return event.what == EventKind::kSend &&
             cluster.network.host_of[std::size_t(event.rank)] != cluster.network.host_of[std::size_t(event.peer)];
    });
  };
  EXPECT_EQ(between({{"skip", 1}, {"wait", 0}}), 4 * between({{"skip", 4}, {"wait", 0}}));
}

TEST(Daso, SendsByAnotherWorkerEachTime) {
  Cluster cluster = on_three_hosts();
  cluster.keep_events = true;
  cluster.run("daso", {{"skip", 2}});
  std::map<Iter, std::set<int>> by_round;
  for (const Event& event : cluster.events) {
    const bool between =
        event.what == EventKind::kSend && event.kind == std::uint16_t(kReduceScatter) &&
        cluster.network.host_of[std::size_t(event.rank)] != cluster.network.host_of[std::size_t(event.peer)];
    if (between) by_round[event.iter].insert(event.rank);
  }
  EXPECT_EQ(by_round.size(), 12u);
  for (const auto& [round, ranks] : by_round)
    EXPECT_EQ(ranks, (round % 2 == 0 ? std::set<int>{0, 2, 4} : std::set<int>{1, 3, 5})) << round;
}

TEST(Daso, RefusesAWaitThatIsTooLong) {
  Cluster cluster = on_three_hosts();
  EXPECT_THROW(cluster.run("daso", {{"skip", 3}, {"wait", 3}}), Error);
}

}  // namespace
}  // namespace hopbench::cut
