#include "protocols/allreduce/prediction.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>

namespace hopbench::allreduce {
namespace {

std::unique_ptr<SpeedPredictor> predictor(const std::string& name, std::uint64_t seed = 1) {
  return make_speed_predictor(name, 0.25, Random({.seed = seed, .purpose = Purpose::kProtocol}));
}

/// Mean relative error over the second half of a sequence: speed(i), and the load that is seen before it.
double error(
    const std::string& name, const std::function<double(int)>& speed,
    const std::function<Load(int)>& load = [](int) { return Load{}; }) {
  constexpr int kLength = 600;
  const auto p = predictor(name);
  double sum = 0;
  for (int i = 0; i < kLength; ++i) {
    if (i >= kLength / 2) sum += std::abs(p->predict() - speed(i)) / speed(i) / (kLength / 2);
    p->observe(speed(i), load(i + 1));
  }
  return sum;
}

TEST(SpeedPredictor, LastIsTheLast) {
  const auto p = predictor("last");
  for (double v : {3.0, 7.0, 2.0}) {
    p->observe(v, {});
    EXPECT_EQ(p->predict(), v);
  }
}

TEST(SpeedPredictor, EmaBeginsAtTheFirstAndMovesByItsWeight) {
  const auto p = predictor("ema");
  p->observe(8, {});
  EXPECT_EQ(p->predict(), 8);
  p->observe(16, {});
  EXPECT_EQ(p->predict(), 10);
  p->observe(10, {});
  EXPECT_EQ(p->predict(), 10);
}

TEST(SpeedPredictor, AllForeseeAConstantSpeedExactly) {
  for (const char* name : {"last", "ema", "narx"}) {
    const auto p = predictor(name);
    for (int i = 0; i < 100; ++i) {
      p->observe(123.4, {.cpu = 0.3, .memory = 0.5});
      EXPECT_EQ(p->predict(), 123.4) << name;
    }
  }
}

TEST(SpeedPredictor, NarxLearnsAPattern) {
  const auto alternating = [](int i) { return i % 2 == 0 ? 100.0 : 50.0; };
  const auto threefold = [](int i) { return i % 3 == 0 ? 60.0 : 120.0; };
  for (const auto& speed : {std::function<double(int)>(alternating), std::function<double(int)>(threefold)}) {
    EXPECT_LT(error("narx", speed), error("last", speed));
    EXPECT_LT(error("narx", speed), error("ema", speed));
  }
}

// The load that a monitor shows at the barrier is that under which the next iteration will run.
TEST(SpeedPredictor, NarxUsesTheLoad) {
  const auto cpu = [](int i) {
    return Random({.seed = 7, .purpose = Purpose::kTest, .rank = 0, .iteration = i}).uniform() * 0.6;
  };
  const auto speed = [&](int i) { return 100 * (1 - cpu(i)); };
  const auto load = [&](int i) { return Load{.cpu = cpu(i), .memory = 0}; };
  EXPECT_LT(error("narx", speed, load), error("last", speed, load));
  EXPECT_LT(error("narx", speed, load), error("ema", speed, load));
}

TEST(SpeedPredictor, StaysWithinWhatItHasSeen) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Random random({.seed = seed});
    for (const char* name : {"last", "ema", "narx"}) {
      const auto p = predictor(name, seed);
      double least = 1e300, most = 0;
      for (int i = 0; i < 200; ++i) {
        const double v = random.chance(0.1) ? 1e-3 : 10 * (1 + random.exponential());
        least = std::min(least, v);
        most = std::max(most, v);
        p->observe(v, {.cpu = random.uniform(), .memory = random.uniform()});
        EXPECT_GE(p->predict(), least * (1 - 1e-12)) << name;
        EXPECT_LE(p->predict(), most * (1 + 1e-12)) << name;
      }
    }
  }
}

}  // namespace
}  // namespace hopbench::allreduce
