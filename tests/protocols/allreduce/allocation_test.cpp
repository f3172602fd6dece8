// Batch sizes with a constant sum: the proportional solve and the incremental search.
#include "protocols/allreduce/allocation.h"
#include "protocols/allreduce/pair_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "backends/base/random.h"

namespace hopbench::allreduce {
namespace {

using Ints = std::vector<int>;
using Reals = std::vector<double>;

Ints proportional(std::int64_t total, const Reals& shares, BatchBounds bounds = {}) {
  return allreduce::proportional(total, shares, std::vector<BatchBounds>(shares.size(), bounds));
}

Reals drawn(Random& random, std::size_t n, double low, double high) {
  Reals speeds;
  for (std::size_t i = 0; i < n; ++i) speeds.push_back(low + (high - low) * random.uniform());
  return speeds;
}

TEST(Proportional, RoundsByLargestRemainderLowestRankFirst) {
  EXPECT_EQ(proportional(1536, {429, 628, 917}), (Ints{334, 489, 713}));  // 333.81, 488.66, 713.53
  EXPECT_EQ(proportional(10, {1, 1, 1}), (Ints{4, 3, 3}));
  EXPECT_EQ(proportional(11, {1, 1, 1}), (Ints{4, 4, 3}));
  EXPECT_EQ(proportional(7, {0.3, 0.3, 0.1}), (Ints{3, 3, 1}));
}

TEST(Proportional, GivesEqualSharesEqualBatches) {
  for (int n = 1; n < 40; ++n) {
    for (int batch : {1, 3, 32, 1000}) {
      EXPECT_EQ(proportional(std::int64_t{n} * batch, Reals(std::size_t(n), 0.1 + 1.0 / 3 * n)),
                Ints(std::size_t(n), batch));
    }
  }
}

TEST(Proportional, HoldsAtItsBoundsAndSharesTheRest) {
  EXPECT_EQ(proportional(100, {1, 1, 8}, {1, 50}), (Ints{25, 25, 50}));
  EXPECT_EQ(proportional(100, {1, 1, 98}, {10, 1000}), (Ints{10, 10, 80}));
  EXPECT_EQ(proportional(100, {1, 10, 89}, {5, 60}), (Ints{5, 35, 60}));
  EXPECT_EQ(proportional(3, {1, 1000, 1000}), (Ints{1, 1, 1}));
  EXPECT_EQ(proportional(12, {1, 2, 3}, {1, 4}), (Ints{4, 4, 4}));
}

TEST(Proportional, KeepsSumAndBoundsAndTheLeastTime) {
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    Random random({.seed = seed});
    const std::size_t n = 1 + random.below(8);
    const int batch = 1 + int(random.below(20));
    const std::int64_t total = std::int64_t(n) * batch;
    const Reals speeds = drawn(random, n, 0.01, 1);
    std::vector<BatchBounds> bounds;
    for (std::size_t i = 0; i < n; ++i)
      bounds.push_back({1 + int(random.below(std::uint64_t(batch))), batch + int(random.below(20))});
    const Ints batches = allreduce::proportional(total, speeds, bounds);
    const int multiple = 2 + int(random.below(7));
    Ints scaled;
    std::vector<BatchBounds> wide;
    for (std::size_t i = 0; i < n; ++i) {
      wide.push_back({bounds[i].low * multiple, bounds[i].high * multiple, multiple});
      scaled.push_back(batches[i] * multiple);
    }
    EXPECT_EQ(allreduce::proportional(total * multiple, speeds, wide), scaled) << "the same in larger units";
    EXPECT_EQ(std::accumulate(batches.begin(), batches.end(), std::int64_t{0}), total);
    double time = 0;
    for (std::size_t i = 0; i < n; ++i) {
      EXPECT_GE(batches[i], bounds[i].low);
      EXPECT_LE(batches[i], bounds[i].high);
      if (batches[i] > bounds[i].low) time = std::max(time, (batches[i] - 1) / speeds[i]);
    }
    // Nobody below its upper bound could have taken a sample and been done before this time, less rounding.
    for (std::size_t i = 0; i < n; ++i) {
      if (batches[i] == bounds[i].high) continue;
      EXPECT_GE((batches[i] + 1) / speeds[i], time) << "seed " << seed;
    }
  }
}

// max t / min t <= (beta + 1) / (beta - 1), beta the least unrounded batch: rounding moves less than a sample.
TEST(Proportional, KeepsTimesWithinTheBoundOfRounding) {
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    Random random({.seed = seed});
    const Reals speeds = drawn(random, 2 + random.below(10), 1, 10);
    const std::int64_t total = std::int64_t(speeds.size()) * (20 + std::int64_t(random.below(100)));
    const Ints batches = proportional(total, speeds);
    const double sum = std::accumulate(speeds.begin(), speeds.end(), 0.0);
    double least = 1e300, most = 0, beta = 1e300;
    for (std::size_t i = 0; i < speeds.size(); ++i) {
      least = std::min(least, batches[i] / speeds[i]);
      most = std::max(most, batches[i] / speeds[i]);
      beta = std::min(beta, double(total) * speeds[i] / sum);
    }
    ASSERT_GT(beta, 1);
    EXPECT_LE(most / least, (beta + 1) / (beta - 1)) << "seed " << seed;
  }
}

/// Time flat up to `flat` samples, then linear.
Reals times(const Ints& batches, const Reals& speeds, int flat = 0) {
  Reals seconds;
  for (std::size_t i = 0; i < batches.size(); ++i) seconds.push_back(std::max(batches[i], flat) / speeds[i]);
  return seconds;
}

Ints step(PairSearch& search, const Reals& speeds, int flat = 0) {
  const Ints before = search.batches();
  for (Iter k = search.window(); k > 0; --k) search.observe(times(before, speeds, flat));
  return search.batches();
}

TEST(PairSearch, MovesAStepFromTheStragglerToTheLeaderOnceAWindow) {
  PairSearch search({64, 64, 64}, {.window = 3, .step = 8});
  const Reals speeds = {2, 1, 4};
  for (int k = 0; k < 2; ++k) {
    search.observe(times(search.batches(), speeds));
    EXPECT_EQ(search.batches(), (Ints{64, 64, 64}));
  }
  search.observe(times(search.batches(), speeds));
  EXPECT_EQ(search.batches(), (Ints{64, 56, 72}));
}

// Speeds 1 and 1.1: the first step goes too far, and the largest time rises from 64 to 65.5.
TEST(PairSearch, MovesWholeMultiples) {
  PairSearch search({32, 32, 32}, {.window = 1, .step = 11, .window_growth = 1, .bounds = {8, 64, 8}});
  EXPECT_EQ(search.step(), 16);
  EXPECT_EQ(step(search, {1, 2, 4}), (Ints{16, 32, 48}));
  for (int k = 0; k < 40; ++k) {
    for (const int batch : step(search, {1, 2, 4})) EXPECT_EQ(batch % 8, 0);
  }
  EXPECT_EQ(search.step(), 8) << "halved no further";
}

TEST(PairSearch, HalvesItsStepWhenLeaderAndStragglerChangePlaces) {
  for (bool on_rise : {false, true}) {
    PairSearch search({64, 64}, {.window = 1, .step = 8, .halve_on_rise = on_rise});
    const Reals speeds = {1, 1.1};
    EXPECT_EQ(step(search, speeds), (Ints{56, 72}));
    EXPECT_EQ(search.step(), 8);
    EXPECT_EQ(step(search, speeds), (Ints{60, 68}));
    EXPECT_EQ(search.step(), 4) << "once, although both happened";
    EXPECT_EQ(search.window(), 2);
    EXPECT_EQ(search.best(), 64);
    for (int i = 0; i < 8; ++i) step(search, speeds);
    EXPECT_EQ(search.step(), 1);
    EXPECT_EQ(search.best(), 61) << "61 and 67 samples: the best there is";
  }
}

// The third worker leads, gets too much, and is the straggler; but the second one leads now.
TEST(PairSearch, HalvesOnARiseThatIsNoReversal) {
  const Reals speeds = {1, 0.25, 1.0 / 30};
  for (bool on_rise : {false, true}) {
    PairSearch search({100, 10, 1}, {.window = 1, .step = 4, .halve_on_rise = on_rise});
    EXPECT_EQ(step(search, speeds), (Ints{96, 10, 5}));
    EXPECT_EQ(step(search, speeds), on_rise ? (Ints{96, 12, 3}) : (Ints{96, 14, 1}));
    EXPECT_EQ(search.step(), on_rise ? 2 : 4);
  }
}

TEST(PairSearch, KeepsSumAndBoundsAndItsBestAtFixedSpeeds) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Random random({.seed = seed});
    const std::size_t n = 2 + random.below(7);
    const int batch = 8 + int(random.below(100)), flat = int(random.below(std::uint64_t(batch))), high = 2 * batch;
    const Reals speeds = drawn(random, n, 1, 4);
    PairSearch search(Ints(n, batch), {.window = 1,
                                       .step = 1 + int(random.below(10)),
                                       .window_growth = 1,
                                       .halve_on_rise = random.chance(0.5),
                                       .bounds = {1, high}});
    const double begin = batch / *std::min_element(speeds.begin(), speeds.end());
    double best = begin;
    int last_step = search.step();
    for (int i = 0; i < 300; ++i) {
      const Ints batches = step(search, speeds, flat);
      EXPECT_EQ(std::accumulate(batches.begin(), batches.end(), 0), int(n) * batch);
      EXPECT_GE(*std::min_element(batches.begin(), batches.end()), 1);
      EXPECT_LE(*std::max_element(batches.begin(), batches.end()), high);
      EXPECT_LE(search.best(), best) << "seed " << seed;
      EXPECT_LE(search.step(), last_step);
      EXPECT_GE(search.step(), 1);
      best = search.best();
      last_step = search.step();
    }
    EXPECT_LE(best, begin);
  }
}

// Returns the largest time after so many iterations more.
double after(PairSearch& search, const Reals& speeds, int iterations) {
  for (int i = 0; i < iterations; ++i) search.observe(times(search.batches(), speeds));
  const Reals last = times(search.batches(), speeds);
  return *std::max_element(last.begin(), last.end());
}

// Four workers of 32 samples, one of them four times slower: with 10 for it and 39 for two of the others nothing is
// better. Then another one is slow instead, whichever got samples last.
TEST(PairSearch, BeginsAnewWhenAWorkerBecomesSlower) {
  for (const std::size_t slow : {0u, 1u, 2u}) {
    for (const double reopen : {0.0, 0.1}) {
      PairSearch search({32, 32, 32, 32}, {.window = 10, .step = 2, .halve_on_rise = true, .reopen = reopen});
      EXPECT_LE(after(search, {1, 1, 1, 0.25}, 5000), 44);
      EXPECT_EQ(search.step(), 1);
      EXPECT_GT(search.window(), 100);
      Reals speeds = {1, 1, 1, 1};
      speeds[slow] = 0.25;
      for (int i = 0; i < 20; ++i) search.observe(times(search.batches(), speeds));
      search.batches();
      EXPECT_EQ(search.window() == 10, reopen > 0) << slow;
      const double then = after(search, speeds, 400);
      EXPECT_EQ(then <= 48, reopen > 0) << slow << ": " << then;
    }
  }
}

// The slow one takes two of 8 samples more: its time rises by a quarter, by the search's own step.
TEST(PairSearch, DoesNotBeginAnewAfterItsOwnStep) {
  PairSearch search({8, 32}, {.window = 1, .step = 2, .reopen = 0.1});
  EXPECT_EQ(step(search, {0.26, 1}), (Ints{10, 30}));
  EXPECT_EQ(step(search, {0.26, 1}), (Ints{9, 31})) << "38 instead of 32: back by a half step";
  EXPECT_EQ(search.window(), 2);
}

TEST(PairSearch, DoesNotBeginAnewForSingleIterations) {
  PairSearch search({32, 32}, {.window = 10, .step = 2, .reopen = 0.1});
  after(search, {1, 1.1}, 1000);
  const Iter window = search.window();
  EXPECT_GT(window, 10);
  for (int i = 0; i < 200; ++i) {
    const Reals speeds = {i % 10 == 0 ? 1 : 0.2, 1};  // one fast iteration in ten
    search.observe(times(search.batches(), speeds));
    EXPECT_GE(search.window(), window);
  }
}

TEST(PairSearch, GivesNothingToWhoHasNoRoom) {
  PairSearch search({10, 10, 10}, {.window = 1, .step = 4, .bounds = {1, 12}});
  const Reals speeds = {1, 2, 4};
  EXPECT_EQ(step(search, speeds), (Ints{8, 10, 12}));
  EXPECT_EQ(step(search, speeds), (Ints{6, 12, 12}));
  for (int i = 0; i < 5; ++i) EXPECT_EQ(step(search, speeds), (Ints{6, 12, 12})) << "only the straggler has room";
}

TEST(PairSearch, LeavesEqualWorkersAlone) {
  PairSearch search({5, 5, 5}, {.window = 1, .step = 2});
  for (int i = 0; i < 10; ++i) EXPECT_EQ(step(search, {3, 3, 3}), (Ints{5, 5, 5}));
  EXPECT_EQ(search.step(), 2);
}

}  // namespace
}  // namespace hopbench::allreduce
