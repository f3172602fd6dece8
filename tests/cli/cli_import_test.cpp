// `hopbench import` from outside: what it writes, prints and refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tests/cli/cli.h"

namespace hopbench {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class CliImport : public testing::Test {
 protected:
  CliImport() {
    std::string rows = "worker,iteration,step_ms\n";
    for (int step = 0; step < 40; ++step) {
      for (int rank = 0; rank < 4; ++rank)
        rows += std::to_string(rank) + "," + std::to_string(step) + "," + (rank == 2 ? "30" : "10") + "\n";
    }
    folder_.write("times.csv", rows);
  }
  Ended run(const Args& words) const { return hopbench(folder_.path(), words); }
  Folder folder_;
};

TEST_F(CliImport, WritesATraceAndPrintsAScenarioThatASuiteTakes) {
  const Ended ended = run({"import", "csv", "times.csv", "-o", "x.trace.csv"});
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(ended.err, "");
  EXPECT_THAT(text_of(folder_ / "x.trace.csv"), HasSubstr("rank,step,seconds\n0,0,0.01\n0,1,0.01\n"));
  for (const char* said : {"4 ranks, 40 steps", "100.0 % between ranks",
                           "slowest rank over mean: 2.000 (mean of the steps), 2.000 (largest)",
                           "seconds: median 0.01, 90 % 0.03, 99 % 0.03, largest 0.03 (3.000 x the median)",
                           "what all ranks have in common in a step: 0.0 %", "simplest kind that fits: constant",
                           "{ kind = \"constant\", ranks = [2], factor = 3.00 }", "pace = \"10ms\""})
    EXPECT_THAT(ended.out, HasSubstr(said));
  const std::string snippet = ended.out.substr(ended.out.find("[[scenario]]"));
  folder_.write("a.toml", small_suite() + snippet);
  const Ended valid = run({"validate", "a.toml"});
  EXPECT_EQ(valid.code, 0) << valid.err;
  folder_.write(
      "b.toml",
      small_suite() + "[[scenario]]\nname = \"replayed\"\ncompute = [{ kind = \"trace\", file = \"x.trace.csv\" }]\n");
  const Ended replayed = run({"run", "b.toml", "-f", "replayed", "-o", "out"});
  EXPECT_EQ(replayed.code, 0) << replayed.err;
}

TEST_F(CliImport, WritesOverNothingUnlessForced) {
  folder_.write("x.csv", "mine");
  const Ended refused = run({"import", "csv", "times.csv", "-o", "x.csv"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("x.csv: is there already: --force writes over it"));
  EXPECT_EQ(text_of(folder_ / "x.csv"), "mine");
  EXPECT_EQ(run({"import", "csv", "times.csv", "-o", "x.csv", "--force"}).code, 0);
  EXPECT_THAT(text_of(folder_ / "x.csv"), Not(HasSubstr("mine")));
  const Ended itself = run({"import", "csv", "times.csv", "-o", "times.csv", "--force"});
  EXPECT_EQ(itself.code, 2);
  EXPECT_THAT(itself.err, HasSubstr("this command itself reads or writes that file"));
}

TEST_F(CliImport, PrintsTheTraceAloneOnStandardOutput) {
  const Ended ended = run({"import", "csv", "times.csv", "-o", "-"});
  EXPECT_EQ(ended.code, 0);
  EXPECT_THAT(ended.out, StartsWith("# imported by hopbench import csv\nrank,step,seconds\n0,0,0.01\n"));
  EXPECT_THAT(ended.out, Not(HasSubstr("variance")));
  EXPECT_THAT(ended.err, HasSubstr("variance of log(seconds)"));
}

TEST_F(CliImport, ReportsWhatIsMissing) {
  folder_.write("times.csv", text_of(folder_ / "times.csv") + "1,99,10\n");
  const Ended ended = run({"import", "csv", "times.csv", "-o", "x.csv"});
  EXPECT_EQ(ended.code, 0);
  EXPECT_THAT(ended.err, HasSubstr("warning: ranks 0, 2, 3: 3 steps, among them step 99 of rank 0: missing, though"));
  EXPECT_THAT(ended.out, HasSubstr("1 rows of other steps are in no statistic"));
}

TEST_F(CliImport, ReadsAPublicRecording) {
  const Ended ended =
      run({"import", "perfetto", source_dir() + "/tests/data/import/timeline-ST.json.gz", "-o", "st.trace.csv"});
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("2 ranks, 8 steps"));
  EXPECT_THAT(ended.out, HasSubstr("unequal stages of a replica: the mean stage computes 0."));
  EXPECT_THAT(text_of(folder_ / "st.trace.csv"), HasSubstr("\n0,23,1.93614"));
}

TEST_F(CliImport, MistakesAreNamed) {
  const auto said = [&](Args words) {
    words.insert(words.begin(), "import");
    const Ended ended = run(words);
    EXPECT_EQ(ended.code, 2);
    EXPECT_EQ(count_lines(ended.err), 1u) << ended.err;
    return ended.err;
  };
  EXPECT_THAT(said({"csv", "none.csv", "-o", "x"}), HasSubstr("none.csv cannot be read: No such file or directory"));
  EXPECT_THAT(said({"csvv", "times.csv", "-o", "x"}), HasSubstr("Did you mean 'csv'?"));
  EXPECT_THAT(said({"csv", "times.csv"}), HasSubstr("--output"));
  EXPECT_THAT(said({"csv", "times.csv", "-o", "x", "--unit", "h"}), HasSubstr("--unit"));
  EXPECT_THAT(said({"csv", "times.csv", "-o", "x", "--replicas", "2"}), HasSubstr("--replicas"));
  EXPECT_THAT(said({"kineto", "times.csv", "-o", "x"}), HasSubstr("times.csv is not JSON"));
  EXPECT_THAT(said({"perfetto", "times.csv", "-o", "x", "--parallel", "2"}), HasSubstr("give dpN, ppN and tpN"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "x"));
}

TEST_F(CliImport, FormatsAreCompleted) {
  EXPECT_EQ(run({"__complete", "import", ""}).out, "csv\nkineto\nperfetto\n");
  EXPECT_THAT(run({"import", "kineto", "--help"}).out, HasSubstr("hopbench import kineto profiles/"));
}

}  // namespace
}  // namespace hopbench
