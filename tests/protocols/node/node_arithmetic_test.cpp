// Node: gradients, averages, steps and what they cost; the ring all-reduce.
#include <cmath>

#include <gtest/gtest.h>

#include <numeric>

#include "backends/runtime/virtual/simulated.h"
#include "protocols/node/collectives.h"
#include "tests/protocols/node/node_fixture.h"

namespace hopbench {
namespace {

using Floats = std::vector<float>;

TEST_F(NodeTest, GradientUsesTheSamplesOfItsIteration) {
  const Vec x = node().initial();
  const Gradient g = node().gradient(x, 3);
  EXPECT_EQ(workload.asked, (std::vector<FakeWorkload::Asked>{{0, 30, 10}}));
  EXPECT_EQ(g.values.to_host(), (Floats{31, 32, 33, 34}));
  EXPECT_EQ(g.loss, 0.5f);
  EXPECT_EQ(g.samples, 10);
  const auto events = seen.of(EventKind::kGradient);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].iter, 3);
  EXPECT_EQ(events[0].count, 10);
  EXPECT_EQ(events[0].value, 0.5);
}

TEST_F(NodeTest, GradientTakesTimeByItsSamples) {
  node().gradient(node().initial(), 0, {.first = 5, .count = 15});
  EXPECT_EQ(workload.asked, (std::vector<FakeWorkload::Asked>{{0, 5, 15}}));
  EXPECT_EQ(runtime.now(), at_ms(15));
  EXPECT_EQ(node().record().compute, Duration(milliseconds(15)));
  EXPECT_EQ(node().record().samples, 15);
}

TEST_F(NodeTest, AGradientBelowSaturationTakesAsLongAsOneThere) {
  options.costs.saturation = 20;  // the batch is 10, and costs 10 ms
  const Vec x = node().initial();
  EXPECT_EQ(node().gradient(x, 0, {.first = 0, .count = 5}).took, Duration(milliseconds(10)));
  EXPECT_EQ(node().gradient(x, 0, {.first = 0, .count = 20}).took, Duration(milliseconds(10)));
  EXPECT_EQ(node().gradient(x, 0, {.first = 0, .count = 30}).took, Duration(milliseconds(15)));
}

TEST_F(NodeTest, WhatIsOperatedBesideGivesTheTurnAway) {
  options.costs.vector_bytes_per_s = 1000;
  bool done = false;
  node().operate_beside(20, [&] { done = true; });
  EXPECT_TRUE(done);
  EXPECT_EQ(runtime.now(), at_ms(20));
  EXPECT_TRUE(runtime.works[0].yields);
  EXPECT_EQ(node().record().vector_ops, Duration{});
}

TEST_F(NodeTest, AVectorOperationIsSlowedByRulesOfAllOnly) {
  options.costs.vector_bytes_per_s = 1000;
  options.scenario.compute = {{.factor = 3.0}, {.ranks = {0}, .factor = 4.0, .of = ComputeRule::Of::kAll}};
  node().operate(20, [] {});
  EXPECT_EQ(runtime.now(), at_ms(80));
  EXPECT_EQ(node().record().vector_ops, Duration(milliseconds(80)));
  EXPECT_EQ(node().gradient(node().initial(), 0).took, Duration(milliseconds(120)));
}

TEST_F(NodeTest, AServerIsAsSlowAsTheFirstWorkerOnItsHost) {
  const std::vector<int> hosts = {0, 1, 2, 2, 3, 2};
  options.costs.vector_bytes_per_s = 1000;
  options.rank = 5;
  options.servers = 1;
  options.host_of = &hosts;
  options.scenario.compute = {{.ranks = {2}, .factor = 4.0, .of = ComputeRule::Of::kAll},
                              {.ranks = {3}, .factor = 100.0, .of = ComputeRule::Of::kAll}};
  node().operate(20, [] {});
  EXPECT_EQ(runtime.now(), at_ms(80));
}

TEST_F(NodeTest, AServerOnAHostOfItsOwnIsNotSlowed) {
  const std::vector<int> hosts = {0, 1, 2, 2, 3, 4};
  options.costs.vector_bytes_per_s = 1000;
  options.rank = 5;
  options.servers = 1;
  options.host_of = &hosts;
  options.scenario.compute = {{.factor = 4.0, .of = ComputeRule::Of::kAll}};
  node().operate(20, [] {});
  EXPECT_EQ(runtime.now(), at_ms(20));
}

TEST_F(NodeTest, SharedSamplesAreOfEverybodysOrder) {
  node().gradient(node().initial(), 0, {.first = 17, .count = 3, .shared = true});
  EXPECT_EQ(workload.asked, (std::vector<FakeWorkload::Asked>{{Workload::kEverybody, 17, 3}}));
}

TEST_F(NodeTest, LoadIsWhatOthersTakeNow) {
  options.scenario.compute.push_back({.ranks = {0}, .factor = 4.0, .until = at_ms(45)});
  node().enter(0);
  EXPECT_EQ(node().load().cpu, 0.75);
  EXPECT_EQ(node().gradient(node().initial(), 0).took, Duration(milliseconds(40)));
  EXPECT_EQ(node().load().cpu, 0.75);
  node().gradient(node().initial(), 1);
  EXPECT_EQ(node().load().cpu, 0) << "the rule is over";
  EXPECT_EQ(node().load().memory, 0);
}

TEST_F(NodeTest, ASlowdownIsInjectedDelay) {
  options.scenario.compute.push_back({.ranks = {0}, .factor = 6.0, .until = at_ms(50)});
  const Vec x = node().initial();
  node().gradient(x, 0);
  EXPECT_EQ(runtime.now(), at_ms(60));
  node().gradient(x, 1);  // the rule is over
  EXPECT_EQ(runtime.now(), at_ms(70));
  EXPECT_EQ(node().record().injected_delay, Duration(milliseconds(50)));
  EXPECT_EQ(node().record().compute, Duration(milliseconds(70)));
  EXPECT_EQ(node().record().slow_events, 1);
  EXPECT_EQ(runtime.works[0].nominal, Duration(milliseconds(10)));
  EXPECT_EQ(runtime.works[0].cost, Duration(milliseconds(60)));
}

// A gradient under noise costs more or less, and is no slow one.
TEST_F(NodeTest, NoiseIsNoSlowdown) {
  options.noise = 0.05;
  options.scenario.compute.push_back({.ranks = {0}, .factor = 6.0, .until = at_ms(1)});
  const Vec x = node().initial();
  for (Iter k = 0; k < 3; ++k) {
    const double factor = noise_factor(0.05, {.seed = options.seed, .rank = 0}, k);
    node().gradient(x, k);
    const Work& one = runtime.works.back();
    EXPECT_EQ(one.nominal, scaled(Duration(milliseconds(10)), factor)) << k;
    EXPECT_EQ(one.cost, scaled(one.nominal, k == 0 ? 6.0 : 1.0)) << k;
    EXPECT_NE(factor, 1.0);
  }
  EXPECT_EQ(node().record().slow_events, 1);
}

TEST_F(NodeTest, ASlowdownKeepsItsProportionWhereNothingIsCalibrated) {
  options.costs.gradient = Duration{};
  options.scenario.compute.push_back({.factor = 2.5});
  node().gradient(node().initial(), 0);
  EXPECT_EQ(runtime.works[0].cost, scaled(runtime.works[0].nominal, 2.5));
  EXPECT_GT(runtime.works[0].nominal, Duration{});
}

TEST_F(NodeTest, GradientIsOfXAsItWas) {
  Vec x = node().initial();
  runtime.before_job = [&] { x.fill(100); };  // another strand writes x while the gradient is computed
  EXPECT_EQ(node().gradient(x, 0).values.to_host(), (Floats{1, 2, 3, 4}));
  EXPECT_EQ(x.to_host(), (Floats{100, 100, 100, 100}));
}

TEST_F(NodeTest, BucketsAreAnnouncedLastLayerFirstAtTheirTimes) {
  const Vec x = node().initial();
  std::vector<std::pair<std::size_t, Time>> announced;
  node().gradient(x, 0, {}, [&](const Bucket& bucket, const Vec& so_far) {
    announced.emplace_back(bucket.offset, runtime.now());
    EXPECT_EQ(so_far.slice(bucket.offset, bucket.size).data()[0], x.data()[bucket.offset]);
  });
  EXPECT_EQ(announced, (std::vector<std::pair<std::size_t, Time>>{{2, at_ms(6)}, {0, at_ms(10)}}));
  EXPECT_EQ(runtime.reached, (std::vector<int>{0, 1}));
}

TEST_F(NodeTest, OverrunsAreCounted) {
  runtime.overran = true;
  node().gradient(node().initial(), 0);
  EXPECT_EQ(node().record().overruns, 1);
}

TEST_F(NodeTest, ReduceSumsInTheOrderGivenAndTellsTheCheckers) {
  const Vec a = Vec::from_host(Floats{1e8f, 1}), b = Vec::from_host(Floats{1, 2}), c = Vec::from_host(Floats{-1e8f, 3});
  const std::vector<Term> terms = {{1, 4, share(a), 1}, {0, 5, share(b), 1}, {2, 2, share(c), 1}};
  EXPECT_EQ(node().reduce(5, terms).to_host(), (Floats{0, 6})) << "(1e8 + 1) - 1e8 in float";
  const auto events = seen.of(EventKind::kReduced);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].iter, 5);
  EXPECT_EQ(events[0].senders, (std::vector<int>{1, 0, 2}));
  EXPECT_EQ(events[0].tags, (std::vector<Iter>{4, 5, 2}));
  EXPECT_EQ(events[0].weights, (Floats{1, 1, 1}));
  EXPECT_EQ(node().record().staleness_mean, 2.0) << "of the others: 1 and 3";
  EXPECT_EQ(node().record().staleness_max, 3);
}

TEST_F(NodeTest, AverageOrdersTermsAndNormalisesWeights) {
  const Vec a = Vec::from_host(Floats{3}), b = Vec::from_host(Floats{9});
  EXPECT_EQ(average(node(), 0, {{4, 0, share(b), 2}, {0, 0, share(a), 1}}).to_host(), (Floats{7}));
  const auto events = seen.of(EventKind::kReduced);
  EXPECT_EQ(events[0].senders, (std::vector<int>{0, 4}));
  EXPECT_EQ(events[0].weights, (Floats{1.0f / 3, 2.0f / 3}));
}

TEST_F(NodeTest, VectorOperationsAreChargedByTheirBytes) {
  options.costs.vector_bytes_per_s = 1000;
  options.optimizer.momentum = 0.9f;
  Vec x = node().initial();
  const Vec g = node().initial();
  node().reduce(0, std::vector<Term>{{0, 0, share(x), 0.5f}, {1, 0, share(g), 0.5f}});
  EXPECT_EQ(runtime.now(), at_ms(48)) << "two vectors read, one written, of 16 bytes";
  node().optimizer(4).step(x, share(g), 0);
  EXPECT_EQ(runtime.now(), at_ms(128)) << "x and momentum read and written, g read";
  EXPECT_EQ(node().record().vector_ops, Duration(milliseconds(128)));
  EXPECT_FALSE(runtime.works[0].yields);
  EXPECT_EQ(node().record().compute, Duration{});
}

TEST_F(NodeTest, OptimizerDoesMomentumAndWeightDecay) {
  options.optimizer = {.lr = 0.5f, .momentum = 0.5f, .weight_decay = 0.25f};
  Vec x = Vec::from_host(Floats{4});
  const Vec g = Vec::from_host(Floats{1});
  Optimizer optimizer = node().optimizer(1);
  optimizer.step(x, share(g), 0);  // m = 1 + 1 = 2
  EXPECT_EQ(x.to_host(), (Floats{3}));
  optimizer.step(x, share(g), 1, 2.0);  // m = 1 + 1.75 = 2.75, at twice the rate
  EXPECT_EQ(x.to_host(), (Floats{0.25f}));
}

TEST_F(NodeTest, OptimizerLowersTheRateAtEveryStepOfTheSchedule) {
  options.optimizer = {.lr = 1.0f, .steps = {{10, 0.5f}, {20, 0.25f}}};
  const Optimizer optimizer = node().optimizer(1);
  EXPECT_EQ(optimizer.learning_rate(9), 1.0f);
  EXPECT_EQ(optimizer.learning_rate(10), 0.5f);
  EXPECT_EQ(optimizer.learning_rate(20), 0.125f);
}

TEST_F(NodeTest, OptimizerDividesByTheWorkersWhereSingleGradientsMoveOneModel) {
  options.optimizer = {.lr = 1.0f};
  protocol.gradients_per_update = always<1>;
  EXPECT_EQ(node().optimizer(1).learning_rate(0), 0.2f);
}

TEST_F(NodeTest, OptimizerTakesTheRateAsWrittenIfAsked) {
  options.optimizer = {.lr = 1.0f, .per_sample = false};
  protocol.gradients_per_update = always<1>;
  EXPECT_EQ(node().optimizer(1).learning_rate(0), 1.0f);
}

TEST_F(NodeTest, OptimizerWarmsUpAndFallsAlongACosine) {
  options.optimizer = {.lr = 2.0f, .steps = {{8, 0.5f}}, .cosine = 12, .warmup = 4};
  const Optimizer optimizer = node().optimizer(1);
  EXPECT_EQ(optimizer.learning_rate(0), 0.5f);
  EXPECT_EQ(optimizer.learning_rate(1), 1.0f);
  EXPECT_EQ(optimizer.learning_rate(3), 2.0f);
  EXPECT_EQ(optimizer.learning_rate(4), 2.0f);
  EXPECT_FLOAT_EQ(optimizer.learning_rate(6), float(1 + std::sqrt(0.5)));  // a quarter of the way
  EXPECT_FLOAT_EQ(optimizer.learning_rate(8), 0.5f);                       // half of it, and a step
  EXPECT_EQ(optimizer.learning_rate(12), 0.0f);
  EXPECT_EQ(optimizer.learning_rate(1000), 0.0f);
}

TEST_F(NodeTest, OptimizerGoesByTheWorkOfAllWhereTheyShareIt) {
  options.optimizer = {.lr = 1.0f, .steps = {{1, 0.5f}, {2, 0.5f}}};
  Credits credits(15);
  options.stop = {.credits = &credits};
  const Optimizer optimizer = node().optimizer(1);
  for (int taken = 1; taken <= 15; ++taken) {
    EXPECT_TRUE(credits.take());
    const int of_each = (taken - 1) / 5;  // with 5 workers
    EXPECT_EQ(optimizer.learning_rate(1000), std::vector({1.0f, 0.5f, 0.25f})[std::size_t(of_each)]) << taken;
  }
}

TEST(Credits, OfAnotherMachineKnowHowManyAllHaveTaken) {
  Credits credits(100, Credits::FromElsewhere{});
  EXPECT_EQ(credits.taken(), 0);
  credits.add(4, 80);
  EXPECT_EQ(credits.taken(), 16);
  EXPECT_TRUE(credits.take());
  EXPECT_EQ(credits.taken(), 17);
  EXPECT_EQ(Credits(100).taken(), 0);
}

TEST_F(NodeTest, OptimizerScalesTheRateToTheSamplesOfAStep) {
  options.optimizer = {.lr = 1.0f, .lr_batch = 25};
  EXPECT_EQ(node().optimizer(1).learning_rate(0), 2.0f) << "5 workers with 10 samples each";
}

TEST_F(NodeTest, OptimizerClipsWhatIsLongerAndLeavesTheRestAlone) {
  options.optimizer = {.lr = 1.0f, .clip = 5.0f};
  const auto after = [&](const Floats& g) {
    Vec x = Vec::from_host(Floats(g.size(), 0.0f));
    node().optimizer(g.size()).step(x, Vec::from_host(g).share(), 0);
    return x.to_host();
  };
  EXPECT_EQ(after({0, 6, 0, 8}), (Floats{0, -3, 0, -4}));
  EXPECT_EQ(after({0, 3, 0, 4}), (Floats{0, -3, 0, -4}));
  // A server with a quarter of the parameters: to half the norm.
  EXPECT_EQ(after({10}), (Floats{-2.5f}));
  EXPECT_TRUE(std::isnan(after({std::nanf(""), 1, 1, 1})[0])) << "a run that diverged says so";
}

TEST_F(NodeTest, OptimizerMovesStatisticsATenthOfTheWay) {
  workload.trained = 3;  // of 4
  options.optimizer = {.lr = 0.5f, .momentum = 0.9f, .weight_decay = 1.0f, .clip = 1e9f};
  const Vec g = Vec::from_host(Floats{1, 1, 1, 30});
  Vec x = Vec::from_host(Floats{0, 0, 0, 10});
  Optimizer optimizer = node().optimizer(4);
  optimizer.step(x, share(g), 0, 7.0);
  EXPECT_EQ(x.to_host()[2], -3.5f);
  EXPECT_FLOAT_EQ(x.to_host()[3], 12.0f);
  optimizer.step(x, share(g), 1, 0.0);
  EXPECT_FLOAT_EQ(x.to_host()[3], 13.8f);
  EXPECT_EQ(node().trained(g).size(), 3u);
  // A server may keep nothing else, or both.
  Vec last = Vec::from_host(Floats{10}), both = Vec::from_host(Floats{0, 10});
  node().optimizer(0).step(last, g.slice(3, 1), 0);
  node().optimizer(1).step(both, g.slice(2, 2), 0);
  EXPECT_FLOAT_EQ(last.to_host()[0], 12.0f);
  EXPECT_EQ(both.to_host()[0], -0.5f);
  EXPECT_FLOAT_EQ(both.to_host()[1], 12.0f);
}

TEST_F(NodeTest, AServersStepIsSeenOnceItIsOver) {
  options.rank = 5;
  options.servers = 1;
  options.optimizer = {.lr = 1.0f};
  options.kept_is_watched = true;
  Vec x = Vec::from_host(Floats{1, 2, 3, 4});
  node().keeps(&x);
  Floats meanwhile;
  runtime.after_job = [&] { meanwhile = Vec::copy_of(node().kept()).to_host(); };
  node().optimizer(4).step(x, Vec::from_host(Floats{1, 1, 1, 1}).share(), 0);
  EXPECT_EQ(meanwhile, (Floats{1, 2, 3, 4}));
  EXPECT_EQ(Vec::copy_of(node().kept()).to_host(), (Floats{0, 1, 2, 3}));
}

TEST_F(NodeTest, AServersGradientIsABug) {
  options.rank = 5;
  options.servers = 1;
  EXPECT_DEATH(node().gradient(Vec(4), 0), "is_server");
}

// --- Ring all-reduce

/// Everybody's result of one ring_mean of vectors of `size` floats.
std::vector<Floats> ring_of(int n, std::size_t size, std::int64_t& messages) {
  FakeWorkload workload;
  const Topology graph = make_topology("ring", n);
  Simulation simulation({.ranks = n});
  std::vector<std::unique_ptr<Node>> nodes;
  std::vector<Floats> results(static_cast<std::size_t>(n));
  for (int r = 0; r < n; ++r) {
    NodeOptions options;
    options.rank = r;
    options.workers = n;
    options.graph = &graph;
    nodes.push_back(std::make_unique<Node>(simulation.rank(r), workload, options));
    simulation.start(r, [&, r, self = nodes.back().get()] {
      Floats mine(size);
      for (std::size_t i = 0; i < size; ++i) mine[i] = 0.1f * float(i + 1) * float(r + 1);
      Vec result(size + 2);  // written in the middle only
      ring_mean(*self, self->workers(), 0, Vec::from_host(mine).share(), result, 1, "the others");
      results[std::size_t(r)] = result.to_host();
      messages += self->record().messages_sent;
    });
  }
  simulation.run();
  return results;
}

TEST(RingMean, GivesEverybodyTheMeanInTheSameBits) {
  for (int n : {1, 2, 3, 4, 7}) {
    for (std::size_t size : {std::size_t{1}, std::size_t{5}, std::size_t{64}}) {
      std::int64_t messages = 0;
      const std::vector<Floats> results = ring_of(n, size, messages);
      for (const Floats& result : results) EXPECT_EQ(result, results[0]) << n << " ranks, " << size << " floats";
      EXPECT_EQ(results[0].front(), 0.0f);
      EXPECT_EQ(results[0].back(), 0.0f);
      for (std::size_t i = 0; i < size; ++i) {
        EXPECT_NEAR(results[0][i + 1], 0.1 * double(i + 1) * (n + 1) / 2, 1e-5 * double(i + 1));
      }
      EXPECT_EQ(messages, std::int64_t{2} * (n - 1) * n);
    }
  }
}

}  // namespace
}  // namespace hopbench
