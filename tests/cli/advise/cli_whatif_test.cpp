// `hopbench whatif` from outside.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/cli.h"
#include "tests/suites/advice/cluster_samples.h"

namespace hopbench {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;

class AsksWhatIf : public testing::Test {
 protected:
  AsksWhatIf() {
    folder_.write("steps.csv", small_trace());
    folder_.write("cluster.toml", small_cluster());
  }
  Ended run(Args words) const {
    words.insert(words.begin(), {"whatif", "cluster.toml"});
    return hopbench(folder_.path(), words);
  }
  Folder folder_;
};

TEST_F(AsksWhatIf, ShowsHowMuchEachWorkerSlowsTheJob) {
  const Ended ended = run({"--set", "network.instant=true"});
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("An ideal gradient takes 0.0106 s; with ideal workers alone the job would be 2.9"));
  EXPECT_THAT(ended.out, AllOf(MatchesRegex(".*\n3 +2\\.9.*"), MatchesRegex(".*\n0 +1\\.0.*")));
  EXPECT_THAT(ended.out, Not(HasSubstr("nothing to gain")));
  EXPECT_THAT(ended.out, Not(HasSubstr("Changes, one at a time")));
}

TEST_F(AsksWhatIf, ShowsWhatChangesWouldBring) {
  const Ended ended =
      run({"--without", "3", "--rank", "3=1x", "--link", "0-1=10Mbit/s", "--set", "network.latency=0s"});
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.out, AllOf(HasSubstr("Changes, one at a time"), HasSubstr("without worker 3"),
                               HasSubstr("worker 3 at 1x"), HasSubstr("link 0-1=10Mbit/s")));
  EXPECT_THAT(ended.out, MatchesRegex(".*link 0-1=10Mbit/s +0\\.[01].*")) << "a thin link costs most of the rate";
}

TEST_F(AsksWhatIf, TakesTheSameChangeOnce) {
  const Ended once = run({"--without", "3", "-r", "2"}), twice = run({"--without", "3", "--without", "3", "-r", "2"});
  EXPECT_EQ(twice.code, 0) << twice.err;
  EXPECT_EQ(twice.out, once.out);
}

TEST_F(AsksWhatIf, RefusesFaultsAndASingleWorker) {
  folder_.write("cluster.toml", small_cluster() + "faults = [{ kind = \"leave\", ranks = [3], at = \"10ms\" }]\n");
  EXPECT_THAT(run({}).err, HasSubstr("has faults, and whatif is about the speed of workers"));
  folder_.write("cluster.toml", with(small_cluster(), "world_size = 4", "world_size = 1"));
  EXPECT_EQ(run({}).code, 2);
}

TEST_F(AsksWhatIf, SaysWhereThereIsNothingToGain) {
  std::string equal = "rank,step,seconds\n";
  for (int rank = 0; rank < 4; ++rank)
    for (int step = 0; step < 10; ++step) equal += std::to_string(rank) + "," + std::to_string(step) + ",0.01\n";
  folder_.write("steps.csv", equal);
  EXPECT_THAT(run({}).out, HasSubstr("There is nothing to gain in data parallelism"));
}

TEST_F(AsksWhatIf, RefusesOtherWorkersAndTexts) {
  for (const auto& [flag, value, says] :
       {std::tuple("--without", "4", "--without 4: there is no worker 4: they are 0 to 3"),
        {"--rank", "4=1x", "there is no worker 4"},
        {"--rank", "3=fast", "write RANK=FACTORx, such as 3=1x"},
        {"--rank", "3=0x", "write RANK=FACTORx"},
        {"--link", "0-1", "write HOST-HOST=RATE or HOST=RATE"},
        {"--link", "0-4=1Gbit/s", "there is no host 4: they are 0 to 3"},
        {"--present", "adpsdg", "unknown candidate 'adpsdg' in --present: did you mean 'adpsgd'?"}}) {
    const Ended ended = run({flag, value});
    EXPECT_EQ(ended.code, 2) << flag;
    EXPECT_THAT(ended.err, HasSubstr(says));
  }
}

TEST_F(AsksWhatIf, SaysInALineThatItsTrialsFailed) {
  const Ended ended = run({"-r", "1", "--set", "run.trial_timeout=1us"});
  EXPECT_EQ(ended.code, 3) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("6 of 6 trials failed, so there is nothing to compare. The first: "));
  EXPECT_LT(ended.err.size(), 3000u);
}

}  // namespace
}  // namespace hopbench
