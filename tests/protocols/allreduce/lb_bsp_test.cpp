#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

#include "tests/cluster.h"
#include "tests/said.h"

namespace hopbench {
namespace {

using std::chrono::milliseconds;

/// LB-BSP's forms: over all-reduce, and over servers.
std::vector<Knobs> forms() {
  std::vector<Knobs> all;
  for (const char* aggregation : {"allreduce", "servers"}) {
    for (const char* predictor : {"last", "ema", "narx"})
      all.push_back({{"aggregation", aggregation}, {"predictor", predictor}});
    all.push_back({{"aggregation", aggregation}, {"form", "gpu"}, {"window", 3}});
  }
  return all;
}

bool by_servers(const Knobs& knobs) { return std::get<std::string>(knobs.at("aggregation")) == "servers"; }

Cluster uneven_batches() {
  Cluster cluster{.nodes = 5, .slow = {{1, 2.0}, {3, 3.5}}, .topology = "complete", .iterations = 40};
  cluster.workload.batch = 12;
  return cluster;
}

TEST(LbBsp, WithEqualSpeedsIsBspBitForBit) {
  for (const Knobs& knobs : forms()) {
    Cluster balanced{.nodes = 6, .topology = "complete", .iterations = 30}, bsp = balanced;
    balanced.run("lb_bsp", knobs);
    bsp.run(by_servers(knobs) ? "ps_bsp" : "allreduce");
    EXPECT_EQ(balanced.params_hash(), bsp.params_hash());
    EXPECT_NEAR(to_seconds(balanced.end), to_seconds(bsp.end), 1e-4) << "what timings and answers take on the links";
    EXPECT_EQ(balanced.broken(), "");
  }
}

TEST(LbBsp, AppliesTheGradientOfTheConcatenatedBatch) {
  for (const Knobs& knobs : forms()) {
    Cluster cluster = uneven_batches();
    cluster.run("lb_bsp", knobs);
    EXPECT_EQ(cluster.broken(), "");
    EXPECT_NE(cluster.batches(39), cluster.batches(0));
    const int all = cluster.nodes * cluster.workload.batch;
    Payload x = cluster.work->initial().share();
    for (Iter k = 0; k < cluster.iterations; ++k) {
      Vec g = Vec::uninitialised(x.size());
      cluster.work->gradient(x, Workload::kEverybody, std::uint64_t(k * all), all, g, [](int) {});
      Vec expected = Vec::copy_of(x);
      expected.axpy(-cluster.optimizer.lr, g.share());
      for (int w = 0; w < cluster.nodes; ++w) {
        const Payload& reported = cluster.reports[std::size_t(w)][std::size_t(k)].x;
        EXPECT_EQ(hash_bits(reported), hash_bits(cluster.reports[0][std::size_t(k)].x));
        const std::vector<float> is = Vec::copy_of(reported).to_host(), should = expected.to_host();
        for (std::size_t d = 0; d < is.size(); ++d) ASSERT_NEAR(is[d], should[d], 1e-5) << "iteration " << k;
      }
      x = cluster.reports[0][std::size_t(k)].x;
    }
  }
}

// So the number of updates to a loss is BSP's, whatever the speeds.
TEST(LbBsp, MakesBspsUpdatesAtAnySpeeds) {
  Cluster bsp{.nodes = 5, .topology = "complete", .iterations = 40};
  bsp.workload.batch = 12;
  bsp.run("allreduce");
  for (const Knobs& knobs : forms()) {
    Cluster cluster = uneven_batches();
    cluster.run("lb_bsp", knobs);
    const std::vector<float> a = cluster.mean_model(), b = bsp.mean_model();
    for (std::size_t d = 0; d < a.size(); ++d) EXPECT_NEAR(a[d], b[d], 1e-4);
  }
}

TEST(LbBsp, BeginsWithEqualBatches) {
  for (int warmup : {0, 5, 12}) {
    Cluster cluster = uneven_batches();
    cluster.run("lb_bsp", {{"warmup_steps", warmup}});
    for (Iter k = 0; k < std::max(1, warmup); ++k) EXPECT_EQ(cluster.batches(std::size_t(k)), std::vector<int>(5, 12));
    EXPECT_NE(cluster.batches(std::size_t(std::max(1, warmup))), std::vector<int>(5, 12));
    EXPECT_EQ(cluster.broken(), "");
  }
}

// The heterogeneity of the authors' other paper: 429, 628 and 917 samples/s, 512 samples each at first.
TEST(LbBsp, EqualisesTimesOnMeasuredSpeeds) {
  const double speeds[] = {429, 628, 917};
  Cluster bsp{.nodes = 3, .topology = "complete", .iterations = 60};
  bsp.workload.batch = 512;
  bsp.instant_network = true;
  bsp.costs.gradient = seconds_to_duration(512 / speeds[2]);
  bsp.slow = {{0, speeds[2] / speeds[0]}, {1, speeds[2] / speeds[1]}};
  Cluster balanced = bsp;
  bsp.run("allreduce");
  balanced.run("lb_bsp");
  EXPECT_EQ(balanced.broken(), "");
  EXPECT_EQ(balanced.batches(59), (std::vector<int>{334, 489, 713}));
  double least = 1e300, most = 0;
  for (const RankRecord& record : balanced.records) {
    least = std::min(least, to_seconds(record.marks[59].compute));
    most = std::max(most, to_seconds(record.marks[59].compute));
  }
  EXPECT_LE(most - least, 1 / speeds[0]) << "one sample's time";
  EXPECT_LT((most - least) / most, 0.02) << "what the fastest worker is blocked";
  const auto iteration = [](const Cluster& cluster) {
    const auto& marks = cluster.records[0].marks;
    return to_seconds(marks[59].end - marks[19].end) / 40;
  };
  const double speedup = iteration(bsp) / iteration(balanced);
  std::printf("speeds 429:628:917: %.4f s an iteration instead of %.4f, %.3f x BSP; the fastest is blocked %.2f %%\n",
              iteration(balanced), iteration(bsp), speedup, 100 * (most - least) / most);
  RecordProperty("speedup", std::to_string(speedup));
  EXPECT_NEAR(speedup, (1 / speeds[0]) * (429 + 628 + 917) / 3, 0.01);  // (B/3 / v_0) / (B / sum of v)
}

TEST(LbBsp, KeepsToTheMemoryLimit) {
  for (const char* form : {"cpu", "gpu"}) {
    Cluster cluster = uneven_batches();
    cluster.run("lb_bsp", {{"form", form}, {"memory_limit", 1.25}, {"window", 2}, {"step", 0.25}});
    EXPECT_EQ(cluster.broken(), "");
    const std::vector<int> last = cluster.batches(39);
    EXPECT_EQ(*std::max_element(last.begin(), last.end()), 15);
  }
}

TEST(LbBsp, GivesMultiplesOnly) {
  for (const char* form : {"cpu", "gpu"}) {
    Cluster cluster = uneven_batches();
    cluster.workload.batch = 24;
    cluster.run("lb_bsp", {{"form", form}, {"multiple", 8}, {"window", 2}});
    EXPECT_EQ(cluster.broken(), "");
    const std::vector<int> last = cluster.batches(39);
    EXPECT_NE(last, std::vector<int>(5, 24));
    for (const int batch : last) EXPECT_EQ(batch % 8, 0);
  }
}

TEST(LbBsp, AnnouncesTheBatchesThatItMayGive) {
  const auto of = [](const char* name, const Knobs& given, int workers) {
    const Protocol& protocol = find_protocol(name);
    KnobValues knobs(protocol.knobs);
    for (const auto& [knob, value] : given) knobs.set(protocol.knobs, knob, value);
    const Topology graph = make_topology("complete", workers);
    const BatchBounds bounds = protocol.batches({knobs, graph, workers, {}, 0, 32});
    return std::vector<int>{bounds.low, bounds.high, bounds.multiple};
  };
  EXPECT_EQ(of("lb_bsp", {}, 4), (std::vector<int>{1, 125, 1})) << "the others have a sample each";
  EXPECT_EQ(of("lb_bsp", {{"multiple", 8}}, 4), (std::vector<int>{8, 104, 8}));
  EXPECT_EQ(of("lb_bsp", {{"multiple", 8}, {"memory_limit", 1.4}}, 4), (std::vector<int>{8, 40, 8}));
  EXPECT_EQ(of("dynamic_batching", {{"min_batch", 0.3}, {"max_batch", 1.9}, {"multiple", 4}}, 9),
            (std::vector<int>{12, 60, 4}));
}

TEST(LbBsp, IsRefusedAMultipleThatDoesNotDivideTheBatch) {
  for (const char* protocol : {"lb_bsp", "dynamic_batching"}) {
    Cluster cluster = uneven_batches();
    EXPECT_EQ(said_by([&] {
                cluster.run(protocol, {{"multiple", 8}});
              }),
              "multiple = 8 does not divide model.batch = 12: take a divisor, or another batch");
  }
}

// A GPU's curve: flat up to 16 samples. The search knows nothing of it.
TEST(LbBsp, SearchesWhereTimeIsNotLinear) {
  Cluster cluster{.nodes = 4, .slow = {{0, 2.0}, {1, 1.5}}, .topology = "complete", .iterations = 400};
  cluster.workload.batch = 32;
  cluster.costs.saturation = 16;
  cluster.instant_network = true;
  Cluster bsp = cluster;
  bsp.run("allreduce");
  cluster.run("lb_bsp", {{"form", "gpu"}, {"window", 5}, {"step", 0.25}});
  EXPECT_EQ(cluster.broken(), "");
  EXPECT_EQ(bsp.records[0].marks[0].compute, Duration(milliseconds(20)));
  Duration least{kNever.time_since_epoch()}, most{};
  for (const RankRecord& record : cluster.records) {
    least = std::min(least, record.marks[399].compute);
    most = std::max(most, record.marks[399].compute);
  }
  // 1.6, 2.13, 3.2 and 3.2 samples a ms: 12.6 ms if all are done at once, and a sample of the slowest is 0.6 ms.
  EXPECT_LT(most, milliseconds(15));
  EXPECT_LT(cluster.end, bsp.end);
}

TEST(LbBsp, TakesLongerOnAGpuThatIsNotFull) {
  Cluster cluster{.nodes = 2, .topology = "complete", .iterations = 1, .instant_network = true};
  cluster.costs.saturation = 16;  // batches of 4
  cluster.run("allreduce");
  EXPECT_EQ(cluster.end, Time{} + milliseconds(10)) << "the cost is that of a batch";
}

Duration blocked(const Cluster& cluster) {
  Duration sum{};
  for (const RankRecord& record : cluster.records) {
    const auto wait = record.waits.find("its next batch size");
    if (wait != record.waits.end()) sum += wait->second;
  }
  return sum;
}

TEST(LbBsp, DecidesWhileTheGradientsAreOnTheirWay) {
  for (const char* aggregation : {"allreduce", "servers"}) {
    Cluster cluster = uneven_batches();
    cluster.run("lb_bsp", {{"aggregation", aggregation}, {"predictor", "narx"}});
    EXPECT_EQ(blocked(cluster), Duration{}) << aggregation;
    Cluster slow = uneven_batches();
    slow.costs.vector_bytes_per_s = 1e6;  // a manager that is slow at its arithmetic blocks, and that is measured
    slow.run("lb_bsp", {{"aggregation", aggregation}, {"predictor", "narx"}});
    EXPECT_GT(blocked(slow), Duration{}) << aggregation;
  }
}

double prediction_error(const Cluster& cluster) {
  double sum = 0;
  for (int w = 0; w < cluster.nodes; ++w) sum += cluster.records[std::size_t(w)].figures.at("prediction error");
  return sum / cluster.nodes;
}

TEST(LbBsp, RecordsThePredictorsErrors) {
  Cluster drift{.nodes = 4, .topology = "complete", .iterations = 400};
  drift.workload.batch = 64;
  Cluster noise = drift;
  drift.compute.push_back({.what = SlowdownKind::kLogNormal,
                           .shape = 0.5,
                           .per = ComputeRule::Per::kTime,
                           .slot = Duration(milliseconds(100))});
  noise.compute.push_back({.what = SlowdownKind::kExponential, .scale = 0.5});
  std::map<std::string, double> in_drift, in_noise;
  for (const char* predictor : {"last", "ema", "narx"}) {
    drift.run("lb_bsp", {{"predictor", predictor}});
    noise.run("lb_bsp", {{"predictor", predictor}});
    in_drift[predictor] = prediction_error(drift);
    in_noise[predictor] = prediction_error(noise);
    std::printf("%-5s mean error: load that changes every 100 ms %.3f, new in every iteration %.3f\n", predictor,
                in_drift[predictor], in_noise[predictor]);
  }
  // Independent draws: the last one's error has twice the variance, the average's 1 + w / (2 - w) = 1.11 times.
  EXPECT_LT(in_noise["ema"], in_noise["last"]);
  // Load that stays for many iterations: an average lags behind.
  EXPECT_LT(in_drift["last"], in_drift["ema"]);
}

TEST(LbBsp, NotesTheChangedDefaultOfItsSearch) {
  const Topology ring = make_topology("ring", 4);
  EXPECT_EQ(note_of("lb_bsp", ring), "");
  EXPECT_NE(note_of("lb_bsp", ring, {{"form", std::string("gpu")}}).find("reopen = 0"), std::string::npos);
  EXPECT_EQ(note_of("lb_bsp", ring, {{"form", std::string("gpu")}, {"reopen", 0.1}}), "");
}

}  // namespace
}  // namespace hopbench
