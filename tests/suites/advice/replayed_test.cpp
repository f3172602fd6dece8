// Notes about what the replay of a recording leaves out.
#include "suites/advice/replayed.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

#include "tests/folder.h"

namespace hopbench {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class ReplayNotes : public testing::Test {
 protected:
  /// Makes a trace of `steps` steps of four ranks; `seconds` is called with rank and step.
  void record(int steps, const std::function<double(int, int)>& seconds) {
    std::string text = "rank,step,seconds\n";
    for (int rank = 0; rank < 4; ++rank) {
      for (int step = 0; step < steps; ++step) text += fmt::format("{},{},{:.6f}\n", rank, step, seconds(rank, step));
    }
    folder_.write("a.csv", text);
    trace_ = Trace::read(folder_ / "a.csv");
  }
  /// The same with noise, and rank 1 twice as slow for 40 of each 80 steps.
  void record_phases(int steps) {
    record(steps, [this](int rank, int step) {
      return (rank == 1 && step / 40 % 2 == 1 ? 2.0 : 1.0) * std::exp(0.05 * normal_(random_));
    });
  }
  std::vector<std::string> missed(TraceMap map, std::int64_t block, double iterations, int workers = 4) const {
    TrialSpec spec;
    spec.workload.workers = workers;
    ComputeRule rule;
    rule.what = SlowdownKind::kTrace;
    rule.replay.trace = trace_, rule.replay.map = map, rule.replay.block = block;
    spec.scenario.compute.push_back(rule);
    return missed_of_recordings(spec, iterations);
  }

  Folder folder_;
  std::shared_ptr<const Trace> trace_;
  std::mt19937 random_{1};
  std::normal_distribution<double> normal_;
};

TEST_F(ReplayNotes, CorrelationsAreThoseOfTheSteps) {
  record(400, [](int, int step) { return step % 2 == 0 ? 1.0 : 2.0; });
  EXPECT_NEAR(correlation_after(*trace_, 1), -1, 0.01);
  EXPECT_NEAR(correlation_after(*trace_, 2), 1, 0.01);
  record(400, [this](int, int) { return std::exp(normal_(random_)); });
  EXPECT_NEAR(correlation_after(*trace_, 1), 0, 0.1);
  EXPECT_EQ(correlation_after(*trace_, 395), 0) << "fewer than ten pairs";
}

TEST_F(ReplayNotes, PhasesThatOutlastBlocksAreNamedWithABlockThatHoldsThem) {
  record_phases(2000);
  EXPECT_THAT(missed(TraceMap::kBlockBootstrap, 1, 50),
              ElementsAre(AllOf(HasSubstr("slow phases that outlast a block of 1 step,"), HasSubstr("take block = "))));
  EXPECT_THAT(missed(TraceMap::kBlockBootstrap, 200, 50), IsEmpty());
  record(2000, [this](int rank, int step) {
    return (rank == 1 && step / 200 % 2 == 1 ? 1.6 : 1.0) * std::exp(0.3 * normal_(random_));
  });
  EXPECT_GT(correlation_after(*trace_, 20), 0.3) << "in the noise of the others, too";
  record_phases(200);
  EXPECT_THAT(missed(TraceMap::kResampleRanks, 10, 50),
              ElementsAre(AllOf(HasSubstr("a block of 10 steps"), HasSubstr("record longer"))));
}

TEST_F(ReplayNotes, StepsThatDoNotDependOnEachOtherNeedNoBlocks) {
  record(500, [this](int, int) { return std::exp(0.1 * normal_(random_)); });
  EXPECT_THAT(missed(TraceMap::kBlockBootstrap, 1, 50), IsEmpty());
}

TEST_F(ReplayNotes, FewBlocksAndStepsThatAreNotReachedAreNamed) {
  record(500, [this](int, int) { return std::exp(0.1 * normal_(random_)); });
  EXPECT_THAT(missed(TraceMap::kBlockBootstrap, 250, 50), ElementsAre(HasSubstr("2 blocks of 250 steps")));
  EXPECT_THAT(missed(TraceMap::kFixed, 1, 50),
              ElementsAre(HasSubstr("50 steps of the recording are replayed; it has 500 steps")));
  EXPECT_THAT(missed(TraceMap::kFixed, 1, 500), IsEmpty());
  EXPECT_THAT(missed(TraceMap::kFixed, 1, 750),
              ElementsAre(HasSubstr("is replayed 1.5 times, since it has 500 steps")));
}

TEST_F(ReplayNotes, RanksWithoutAWorkerAreNamed) {
  record(100, [](int, int) { return 1.0; });
  EXPECT_THAT(missed(TraceMap::kBlockBootstrap, 1, 50, 2),
              ElementsAre(HasSubstr("4 ranks for 2 workers, so ranks 2 to 3 are not replayed")));
  EXPECT_THAT(missed(TraceMap::kBlockBootstrap, 1, 50, 3), ElementsAre(HasSubstr("so rank 3 is not replayed")));
  EXPECT_THAT(missed(TraceMap::kResampleRanks, 1, 50, 2), IsEmpty());
}

}  // namespace
}  // namespace hopbench
