// Steps of a rank whose parts come in any order.
#include "suites/import/marks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

namespace hopbench {
namespace {

/// Parts of `steps` steps, three each: a begin, an end and a collective.
std::vector<StepMarks> parts_of(int steps) {
  std::vector<StepMarks> parts;
  for (int step = 0; step < steps; ++step) {
    parts.push_back({.step = step, .begin = 10.0 * step});
    parts.push_back({.step = step, .end = 10.0 * step + 7});
    parts.push_back({.step = step, .last_collective = 10.0 * step + 8, .collectives = 1});
  }
  return parts;
}

void expect_steps(const Steps& steps, int number) {
  std::int64_t step = 0;
  for (const StepMarks& marks : steps) {
    EXPECT_EQ(marks.step, step);
    EXPECT_EQ(marks.begin, 10.0 * double(step));
    EXPECT_EQ(marks.end, 10.0 * double(step) + 7);
    EXPECT_EQ(marks.last_collective, 10.0 * double(step) + 8);
    EXPECT_EQ(marks.collectives, 1u);
    ++step;
  }
  EXPECT_EQ(step, number);
}

TEST(Steps, UnitePartsThatComeInAnyOrder) {
  constexpr int kSteps = 20'000;  // settles several times on the way
  for (const int seed : {0, 1, 2, 3}) {
    std::vector<StepMarks> parts = parts_of(kSteps);
    std::mt19937 random(static_cast<unsigned>(seed));
    if (seed == 1) std::reverse(parts.begin(), parts.end());
    if (seed > 1) std::shuffle(parts.begin(), parts.end(), random);
    Steps steps;
    for (const StepMarks& part : parts) steps.add(part);
    steps.settle();
    expect_steps(steps, kSteps);
  }
}

TEST(Steps, InRisingOrderNeedNoSettling) {
  Steps steps;
  for (const StepMarks& part : parts_of(100)) steps.add(part);
  steps.add({.step = 40, .begin = 500, .end = 1000});  // a later part of a step that is there
  ASSERT_NE(steps.find(40), nullptr);
  EXPECT_EQ(steps.find(40)->begin, 400);
  EXPECT_EQ(steps.find(40)->end, 1000);
  EXPECT_EQ(steps.find(100), nullptr);
  EXPECT_EQ(steps.find(-1), nullptr);
}

TEST(Steps, CountCollectivesOfAllParts) {
  Steps steps;
  for (const int step : {5, 3, 5, 3, 5}) steps.add({.step = step, .last_collective = 1.0 + step, .collectives = 2});
  steps.settle();
  EXPECT_EQ(steps.find(5)->collectives, 6u);
  EXPECT_EQ(steps.find(3)->collectives, 4u);
  steps.erase_if([](const StepMarks& marks) { return marks.step == 3; });
  EXPECT_EQ(steps.find(3), nullptr);
  EXPECT_NE(steps.find(5), nullptr);
  steps.clear();
  EXPECT_TRUE(steps.empty());
}

}  // namespace
}  // namespace hopbench
