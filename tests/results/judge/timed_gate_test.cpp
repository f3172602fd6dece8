// The timed gate: two programs in turns are told apart beyond chance only.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "results/judge/gate.h"
#include "results/judge/timed_gate.h"

namespace hopbench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// A pair of a machine with this noise, whose head is slower by this factor.
MeasurePair machine(double noise, double slower, std::mt19937_64& random) {
  return [=, &random](bool base_twice) {
    std::lognormal_distribution<double> draw(0, noise / std::sqrt(2));
    return std::vector<TimedPair>{{draw(random), draw(random) * (base_twice ? 1 : slower)}};
  };
}

double share_of(ExitCode code, double noise, double slower) {
  std::mt19937_64 random(3);
  const MeasurePair measure = machine(noise, slower, random);
  constexpr int kGates = 400;
  int ends = 0;
  for (int i = 0; i < kGates; ++i) {
    ends += gate_exit(timed_gate({{"row", "time_s"}}, {}, measure), true) == code ? 1 : 0;
  }
  return double(ends) / kGates;
}

double share_of_regressions(double noise, double slower) { return share_of(ExitCode::kRegression, noise, slower); }

TEST(TimedGate, SeldomCriesWolfAndFindsAFifth) {
  EXPECT_LE(share_of_regressions(0.03, 1.0), 0.005);
  EXPECT_LE(share_of_regressions(0.08, 1.0), 0.01);
  EXPECT_GE(share_of_regressions(0.03, 1.2), 0.99);
  EXPECT_GE(share_of_regressions(0.08, 1.2), 0.95);
}

// The table of docs/gate.md: an unchanged program passes where the machine is quiet, and is not passed where it is
// loud.
TEST(TimedGate, SaysNothingOfALoudMachine) {
  EXPECT_LE(share_of(ExitCode::kInconclusive, 0.07, 1.0), 0.005);
  EXPECT_LE(share_of(ExitCode::kInconclusive, 0.1, 1.0), 0.02);
  EXPECT_GE(share_of(ExitCode::kInconclusive, 0.6, 1.0), 0.9);
  EXPECT_GE(share_of(ExitCode::kRegression, 0.25, 1.2), 0.65) << "more pairs of base find what noise would hide";
}

TEST(TimedGate, AChangeBelowTheThresholdIsNone) { EXPECT_LE(share_of_regressions(0.01, 1.03), 0.005); }

TEST(TimedGate, ReadsItsNoiseOffTheBaseItself) {
  std::mt19937_64 random(4);
  const GateResult quiet = timed_gate({{"row", "time_s"}}, {}, machine(0.001, 1.1, random));
  EXPECT_EQ(quiet.rows.at(0).verdict, Verdict::kRegression);
  EXPECT_NEAR(quiet.rows.at(0).speed_up, 1 / 1.1, 0.01);
  EXPECT_EQ(quiet.rows.at(0).n, 9);
  const GateResult loud = timed_gate({{"row", "time_s"}}, {}, machine(0.4, 1.1, random));
  EXPECT_NE(loud.rows.at(0).verdict, Verdict::kRegression);
}

TEST(TimedGate, GoesOnOnceWhereNothingIsDecided) {
  int both = 0;
  const MeasurePair measure = [&](bool base_twice) {
    both += base_twice ? 0 : 1;
    const double off = both % 2 == 0 ? 1.4 : 1 / 1.4;  // far too noisy for 9 pairs
    return std::vector<TimedPair>{{1, base_twice ? 1 : off * 1.03}};
  };
  const GateResult result = timed_gate({{"row", "time_s"}}, {}, measure);
  EXPECT_EQ(both, 60);
  EXPECT_EQ(result.rows.at(0).n, 60);
}

TEST(TimedGate, EveryRowTellsWhatItCouldHaveSeen) {
  std::mt19937_64 random(5);
  const GateResult quiet = timed_gate({{"row", "time_s"}}, {}, machine(0.001, 1, random));
  EXPECT_EQ(quiet.rows.at(0).verdict, Verdict::kWithin);
  EXPECT_NEAR(quiet.rows.at(0).threshold.value(), 0.05, 1e-12);
  EXPECT_THAT(gate_text(quiet, true), HasSubstr("within 5 %   row, time_s, speed-up 1.000x"));
  EXPECT_THAT(gate_text(quiet, true), HasSubstr("threshold 5.0 %"));
  const GateResult louder = timed_gate({{"row", "time_s"}}, {}, machine(0.1, 1, random));
  EXPECT_GT(louder.rows.at(0).threshold.value(), 0.05);
}

// Base differs from itself by a factor of `off`, one way and the other; head does not differ from base.
MeasurePair loud_machine(double off, int& same) {
  return [off, &same](bool base_twice) {
    if (!base_twice) return std::vector<TimedPair>{{1, 1}};
    return std::vector<TimedPair>{{1, ++same % 2 == 0 ? off : 1 / off}};
  };
}

TEST(TimedGate, PassesNothingThatItCouldNotHaveSeen) {
  int same = 0;
  const GateResult result = timed_gate({{"row", "time_s"}}, {}, loud_machine(3, same));
  EXPECT_EQ(same, 60) << "more pairs may still make it quiet enough";
  EXPECT_GT(result.rows.at(0).threshold.value(), 0.15);
  EXPECT_EQ(result.rows.at(0).verdict, Verdict::kInconclusive);
  EXPECT_THAT(result.rows.at(0).notes, ElementsAre(HasSubstr("the machine is too loud")));
  EXPECT_EQ(gate_exit(result, true), ExitCode::kInconclusive);
}

TEST(TimedGate, ALouderMachineTakesMorePairsOfBase) {
  int same = 0;
  const GateResult result = timed_gate({{"row", "time_s"}}, {}, loud_machine(1.25, same));
  EXPECT_EQ(same, 60);
  EXPECT_LT(result.rows.at(0).threshold.value(), 0.15);
  EXPECT_EQ(result.rows.at(0).verdict, Verdict::kNoChange);
}

TEST(TimedGate, WhatIsNotThereAgainIsNoRegression) {
  int both = 0;
  const MeasurePair measure = [&](bool base_twice) {
    both += base_twice ? 0 : 1;
    const double jitter = both % 2 == 0 ? 1.01 : 1 / 1.01;
    return std::vector<TimedPair>{
        {1, jitter * (base_twice || both > 9 ? 1 : 1.3)}};  // somebody else's work, for a while
  };
  const GateResult result = timed_gate({{"row", "time_s"}}, {}, measure);
  EXPECT_EQ(result.rows.at(0).verdict, Verdict::kWithin);
  EXPECT_THAT(result.rows.at(0).notes, ElementsAre(HasSubstr("not again")));
  EXPECT_EQ(both, 18);
}

// Many rows with noise of many sizes: no row contradicts the numbers beside it.
TEST(TimedGate, VerdictAndIntervalAgree) {
  std::mt19937_64 random(6);
  std::vector<TimedRow> rows;
  for (int row = 0; row < 6; ++row) rows.push_back({"row", std::to_string(row)});
  for (int draw = 0; draw < 200; ++draw) {
    const GateResult result = timed_gate(rows, {}, [&](bool base_twice) {
      std::vector<TimedPair> pairs;
      for (int row = 0; row < 6; ++row) {
        std::lognormal_distribution<double> time(0, 0.01 * (row + 1));
        pairs.push_back({time(random), time(random) * (base_twice ? 1 : 0.9 + 0.02 * (draw % 11))});
      }
      return pairs;
    });
    for (const GateRow& row : result.rows) {
      const double most = 1 + row.threshold.value();
      if (row.verdict == Verdict::kRegression) {
        EXPECT_TRUE(row.interval->high < 1 && row.speed_up < 1 / most);
      }
      if (row.verdict == Verdict::kImprovement) {
        EXPECT_TRUE(row.interval->low > 1 && row.speed_up > most);
      }
      if (row.verdict == Verdict::kWithin) {
        EXPECT_TRUE(row.interval->low * most >= 1 && row.interval->high <= most);
      }
      EXPECT_NE(row.verdict, Verdict::kNoChange);
    }
  }
}

}  // namespace
}  // namespace hopbench
