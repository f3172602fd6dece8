// Statistics of recordings: against sums done by hand, and recordings drawn from each kind of scenario.
#include "suites/import/decompose.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

#include "backends/base/text.h"
#include "suites/language/suite.h"
#include "tests/folder.h"
#include "tests/paths.h"

namespace hopbench {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TraceRows rows_of(int ranks, int steps, const std::function<double(int, int)>& seconds) {
  TraceRows rows;
  for (int rank = 0; rank < ranks; ++rank) {
    for (int step = 0; step < steps; ++step) rows.push_back({rank, step, seconds(rank, step)});
  }
  return rows;
}

Decomposition decomposed(TraceRows rows) { return decompose(rows); }

/// A normal number for each call.
std::function<double()> normal(unsigned seed) {
  return [random = std::mt19937(seed), draw = std::normal_distribution<double>()]() mutable { return draw(random); };
}

TEST(Decompose, SharesAreThoseOfTheSumsOfSquares) {
  const double logs[2][2] = {{0, 1}, {2, 5}};
  // Around the mean 2: ranks 4 x 1.5^2 = 9, steps 4 x 1^2 = 4, rest 4 x 0.5^2 = 1.
  const Decomposition d = decomposed(rows_of(2, 2, [&](int rank, int step) { return std::exp(logs[rank][step]); }));
  EXPECT_EQ(d.ranks, 2);
  EXPECT_EQ(d.steps, 2);
  EXPECT_NEAR(d.between_ranks, 9 / 14.0, 1e-12);
  EXPECT_NEAR(d.between_steps, 4 / 14.0, 1e-12);
  EXPECT_NEAR(d.rest, 1 / 14.0, 1e-12);
}

TEST(Decompose, QuantilesAndTheSlowestAreOfSeconds) {
  // Rank 0 takes 1 to 101 s, rank 1 always 50 s.
  const Decomposition d = decomposed(rows_of(2, 101, [](int rank, int step) { return rank == 0 ? 1.0 + step : 50.0; }));
  EXPECT_DOUBLE_EQ(d.median, 50);
  EXPECT_DOUBLE_EQ(d.largest, 101);
  EXPECT_NEAR(d.q90, 80.9, 1e-9) << "of 202 values the 181.9th; the upper ones are 51 to 101";
  double sum = 0, most = 0;
  for (int step = 0; step < 101; ++step) {
    const double ratio = std::max(1.0 + step, 50.0) / ((51.0 + step) / 2);
    sum += ratio, most = std::max(most, ratio);
  }
  EXPECT_NEAR(d.slowest_over_mean, sum / 101, 1e-12);
  EXPECT_NEAR(d.largest_slowest_over_mean, most, 1e-12);
}

TEST(Decompose, OnlyStepsOfAllRanksCountAndOnlyNeighboursCorrelate) {
  TraceRows rows;
  for (const int step : {0, 1, 2, 3, 10, 11, 20}) rows.push_back({0, step, 1.0});
  for (const int step : {0, 1, 3, 4, 10, 11, 20}) rows.push_back({1, step, 2.0});
  const Decomposition d = decomposed(rows);
  EXPECT_EQ(d.steps, 6) << "0 1 3 10 11 20";
  EXPECT_EQ(d.left_out, 2);
  EXPECT_EQ(d.pairs, 4) << "0 1 and 10 11, of two ranks";
  EXPECT_EQ(d.longest_run, 2);
  EXPECT_NEAR(d.between_ranks, 1, 1e-12);
}

TEST(Decompose, AutocorrelationIsThatOfTheProcessThatMadeIt) {
  for (const double memory : {0.0, 0.7}) {
    const auto draw = normal(3);
    double state = 0;
    const Decomposition d = decomposed(rows_of(8, 1000, [&](int, int step) {
      state = step == 0 ? draw() : memory * state + std::sqrt(1 - memory * memory) * draw();
      return std::exp(0.1 * state);
    }));
    EXPECT_NEAR(d.autocorrelation, memory, 0.04);
    EXPECT_NEAR(d.rest_deviation, 0.1, 0.005);
    EXPECT_FALSE(d.steps_differ);
  }
}

TEST(Decompose, ConstantsHaveNoAutocorrelation) {
  const Decomposition d = decomposed(rows_of(3, 50, [](int rank, int) { return 0.1 + 0.01 * rank; }));
  EXPECT_EQ(d.autocorrelation, 0);
  EXPECT_EQ(d.step_autocorrelation, 0);
  EXPECT_GT(d.pairs, 0);
}

TEST(Decompose, WhatTheRanksHaveInCommonIsApartFromChance) {
  const auto draw = normal(5);
  std::vector<double> common;
  for (int step = 0; step < 400; ++step) common.push_back(0.2 * draw());
  const Decomposition d = decomposed(
      rows_of(8, 400, [&](int, int step) { return 3 * std::exp(common[std::size_t(step)] + 0.1 * draw()); }));
  EXPECT_TRUE(d.steps_differ);
  EXPECT_FALSE(d.ranks_differ);
  EXPECT_NEAR(d.between_steps, 0.04 / 0.05, 0.05);
  EXPECT_NEAR(d.step_deviation, 0.2, 0.02);
  EXPECT_NEAR(d.rest_deviation, 0.1, 0.01);
  EXPECT_NEAR(d.typical, 3, 0.1);
}

/// The number or the seconds behind a key of a rule, as in factor = 2.5 or slow = "6s".
double number_of(const std::string& rules, const std::string& key) {
  const std::size_t at = rules.find(key + " = ");
  EXPECT_NE(at, std::string::npos) << key << " in " << rules;
  if (at == std::string::npos) return 0;
  const std::size_t begin = at + key.size() + 3;
  if (rules[begin] != '"') return std::stod(rules.substr(begin));
  long long nanoseconds = 0;
  EXPECT_TRUE(parse_duration(rules.substr(begin + 1, rules.find('"', begin + 1) - begin - 1), nanoseconds));
  return 1e-9 * double(nanoseconds);
}

class Fits : public testing::Test {
 protected:
  /// Fits a scenario and runs a suite with it through the reader of suites.
  Fit fit(TraceRows rows) const {
    const int ranks = rows.back().rank + 1;
    std::ostringstream trace;
    write_trace(rows, "t", trace);
    folder_.write("x.trace.csv", trace.str());
    Fit found = fit_scenario(decompose(rows), "x.trace.csv");
    const Suite suite = parse_suite(fmt::format(R"(schema = 1
name = "t"
[run]
world_size = {}
iterations = 20
warmup_time = "0s"
[model]
name = "timing_only"
size = 64
[compute]
pace = "77ms"
noise = 0
[transport]
name = "sim"
[topology]
name = "complete"
[[protocol]]
name = "allreduce"
{})",
                                                ranks, to_snippet(found)),
                                    folder_ / "s.toml", {});
    EXPECT_GE(suite.trials.size(), 1u);
    EXPECT_EQ(suite.trials.front().scenario_name, "imported");
    return found;
  }
  static std::string rules_of(const Fit& fit) {
    std::string all;
    for (const std::string& rule : fit.rules) all += rule + "\n";
    return all;
  }
  Folder folder_;
};

TEST_F(Fits, NothingIsNone) {
  const Fit found = fit(rows_of(4, 50, [](int rank, int step) { return 0.5 + 0.0001 * ((rank + step) % 3); }));
  EXPECT_EQ(found.kind, "none");
  EXPECT_NEAR(found.pace, 0.5001, 1e-4);
}

TEST_F(Fits, RanksOfOtherSpeedAreConstant) {
  const auto draw = normal(7);
  const Fit found = fit(rows_of(6, 60, [&](int rank, int) {
    return (rank == 1 || rank == 4 ? 0.25 : rank == 5 ? 0.16 : 0.1) * std::exp(0.002 * draw());
  }));
  EXPECT_EQ(found.kind, "constant");
  EXPECT_EQ(
      rules_of(found),
      "{ kind = \"constant\", ranks = [5], factor = 1.60 }\n{ kind = \"constant\", ranks = [1, 4], factor = 2.50 }\n");
  EXPECT_NEAR(found.pace, 0.1, 0.001);
}

TEST_F(Fits, NoiseIsLogNormal) {
  const auto draw = normal(9);
  const Fit found = fit(rows_of(4, 200, [&](int, int) { return 0.1 * std::exp(0.15 * draw()); }));
  EXPECT_EQ(found.kind, "log_normal");
  EXPECT_NEAR(number_of(rules_of(found), "shape"), 0.15, 0.01);
}

TEST_F(Fits, WhatIsCommonToAllRanksIsDrawnForAll) {
  const auto draw = normal(10);
  std::vector<double> common;
  for (int step = 0; step < 300; ++step) common.push_back(0.2 * draw());
  const Fit found =
      fit(rows_of(4, 300, [&](int, int step) { return std::exp(common[std::size_t(step)] + 0.003 * draw()); }));
  EXPECT_EQ(found.kind, "log_normal");
  EXPECT_THAT(rules_of(found), HasSubstr("correlated = \"all\""));
}

TEST_F(Fits, RareSlowStepsAreBernoulli) {
  std::mt19937 random(11);
  const auto draw = normal(12);
  const Fit found = fit(rows_of(16, 300, [&](int rank, int) {
    return 0.1 * (rank == 3 ? 2 : 1) * (random() % 10 == 0 ? 4 : 1) * std::exp(0.02 * draw());
  }));
  EXPECT_EQ(found.kind, "constant and bernoulli");
  const std::string rule = found.rules.back();
  EXPECT_NEAR(number_of(rule, "factor"), 4, 0.2);
  EXPECT_NEAR(number_of(rule, "probability"), 0.1, 0.02);
  EXPECT_NEAR(found.pace, 0.1, 0.005);
}

TEST_F(Fits, SlowPhasesAreMarkov) {
  std::mt19937 random(13);
  const auto draw = normal(14);
  bool slow = false;
  const Fit found = fit(rows_of(16, 2000, [&](int, int) {
    slow = slow ? random() % 20 != 0 : random() % 100 == 0;
    return 0.1 * (slow ? 3 : 1) * std::exp(0.02 * draw());
  }));
  EXPECT_EQ(found.kind, "markov");
  EXPECT_NEAR(number_of(rules_of(found), "factor"), 3, 0.15);
  EXPECT_NEAR(number_of(rules_of(found), "slow"), 20 * 0.3, 1);
  EXPECT_NEAR(number_of(rules_of(found), "normal"), 100 * 0.1, 2);
}

TEST_F(Fits, WhatNoKindIsLikeIsReplayed) {
  std::mt19937 random(15);
  // Three levels, which last for ten steps.
  const Fit found = fit(rows_of(8, 300, [&](int, int step) {
    static double level = 1;
    if (step % 10 == 0) level = double(1 << (random() % 3));
    return 0.1 * level;
  }));
  EXPECT_EQ(found.kind, "trace");
  EXPECT_THAT(rules_of(found), HasSubstr("map = \"block_bootstrap\", block = 10"));
  EXPECT_THAT(to_snippet(found), StartsWith("# the ranks' factors explain"));
  const Fit one_step = fit(rows_of(2, 1, [](int rank, int) { return 1.0 + rank; }));
  EXPECT_EQ(one_step.kind, "trace");
}

TEST_F(Fits, WhatNoSuiteTakesIsReplayed) {
  TraceRows rows = rows_of(2, 200, [](int, int step) { return step % 7 == 3 ? 1e9 : 1e-9; });
  const Fit fit = fit_scenario(decompose(rows), "x.csv");
  EXPECT_EQ(fit.kind, "trace");
}

}  // namespace
}  // namespace hopbench
