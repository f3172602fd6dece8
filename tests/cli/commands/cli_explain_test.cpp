// `hopbench explain`, and the width of what `hopbench run` prints.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "tests/cli/cli.h"

namespace hopbench {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

Ended run(const Args& words) {
  const Folder folder;
  return hopbench(folder.path(), words);
}

TEST(CliExplain, SaysWhatAColumnARowAMarkAndAColumnOfAFileMean) {
  const Ended column = run({"explain", "heard/s"});
  EXPECT_EQ(column.code, 0);
  EXPECT_THAT(column.out, HasSubstr("heard/s: a column of the tables of hopbench run\n  samples/s of gradients"));
  EXPECT_THAT(run({"explain", "Slowest Rank"}).out, HasSubstr("slowest rank: a row of the tables of hopbench run\n"));
  EXPECT_THAT(run({"explain", "late links"}).out, HasSubstr("late links: a mark\n  emulated messages"));
  EXPECT_THAT(run({"explain", "time_s"}).out, HasSubstr("time_s: a column of trials.csv, in s\n"));
  EXPECT_THAT(run({"explain", "hosts"}).out, HasSubstr("hosts: a column of trials.csv\n")) << "both that are called so";
  EXPECT_THAT(run({"explain", "hosts"}).out, HasSubstr("hosts: a column of the tables of hopbench run\n"));
}

TEST(CliExplain, TakesNamesAsTheyStandInATable) {
  EXPECT_THAT(run({"explain", "gradients", "lost"}).out, HasSubstr("gradients lost: a column of the tables"));
  EXPECT_THAT(run({"explain", "loss: mean / median / worst rank"}).out, HasSubstr("loss: a column of the tables"));
  EXPECT_THAT(run({"explain", "time held, s"}).out, HasSubstr("time held: a column of the tables"));
  EXPECT_THAT(run({"explain", "[a, b]"}).out, HasSubstr("[a, b]: a sign of the tables"));
  EXPECT_THAT(run({"explain", "kept", "by", "--force"}).out, HasSubstr("kept by --force: a mark"));
  const Ended marks = run({"explain", "cpu-contended (2 of 3), measured again, diverged (1 of 3)"});
  EXPECT_THAT(marks.out, AllOf(HasSubstr("cpu-contended: a mark"), HasSubstr("measured again: a mark"),
                               HasSubstr("diverged: a mark")));
  EXPECT_EQ(run({"explain", "slowest", "house"}).code, 2);
}

TEST(CliExplain, KnowsWhatASuiteMayName) {
  EXPECT_THAT(run({"explain", "adpsgd"}).out, HasSubstr("adpsgd: in hopbench list protocols -v\n"));
  EXPECT_THAT(run({"explain", "run.world_size"}).out, HasSubstr("run.world_size: in hopbench list keys -v\n"));
  EXPECT_THAT(run({"explain", "pace"}).out, HasSubstr("compute.pace: in hopbench list keys -v\n"));
  EXPECT_THAT(run({"explain", "adamw"}).out, HasSubstr("optimizer.name = \"adamw\": in hopbench list keys -v\n"));
  EXPECT_THAT(run({"explain", "check", "convergence"}).out,
              HasSubstr("a word of the tables of hopbench advise and whatif\n"));
  EXPECT_THAT(run({"explain", "gain over allreduce [90 %]"}).out, HasSubstr("gain: a word of the tables"));
  EXPECT_THAT(run({"explain", "adpsd"}).err, HasSubstr("Did you mean 'adpsgd'?"));
  EXPECT_THAT(run({"explain", "messages", "lost"}).out, HasSubstr("messages lost: a figure of the protocol's own"));
}

TEST(CliExplain, RefusesAWordThatItDoesNotKnow) {
  const Ended ended = run({"explain", "speedup"});
  EXPECT_EQ(ended.code, 2);
  EXPECT_THAT(ended.err, HasSubstr("no column, row, sign, mark, protocol or key is called 'speedup'"));
  EXPECT_THAT(ended.err, HasSubstr("'speed-up'?"));
  const Ended word = run({"explain", "stedy"});
  EXPECT_THAT(word.err, HasSubstr("Did you mean 'not steady' or 'no steady window'?"));
}

TEST(CliExplain, WithoutAWordShowsAllOfTheTables) {
  const Ended ended = run({"explain"});
  EXPECT_EQ(ended.code, 0);
  for (const char* word : {"variant (column)\n", "ideal (row)\n", "(a .. b) (sign)\n", "diverged (mark)\n"})
    EXPECT_THAT(ended.out, HasSubstr(word));
}

/// Returns what a terminal of that many columns shows of standard output.
std::string in_terminal(const std::string& folder, int columns, const std::string& words) {
  const std::string command = "stty cols " + std::to_string(columns) + "; cd " + folder +
                              "; HOPBENCH_ROOT=" + source_dir() + " NO_COLOR=1 " + program() + " " + words +
                              " 2>/dev/null";
  FILE* const pipe = popen(("script -qec '" + command + "' /dev/null </dev/null").c_str(), "r");
  std::string text;
  for (int c = 0; pipe != nullptr && (c = std::fgetc(pipe)) != EOF;) {
    if (c != '\r') text += char(c);
  }
  EXPECT_EQ(pipe == nullptr ? -1 : pclose(pipe), 0) << text;
  return text;
}

std::size_t widest_line(const std::string& text) {
  std::size_t most = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) most = std::max(most, line.size());
  return most;
}

TEST(CliWidth, TablesFitTheTerminalUnlessWide) {
  if (std::system("script -qec true /dev/null </dev/null >/dev/null 2>&1") != 0)
    GTEST_SKIP() << "this machine gives no pseudo-terminal (/dev/ptmx), or has no `script`";
  const Folder folder;
  const std::string label = "a label of many words that nobody would type twice, and of some more words";
  folder.write("s.toml", small_suite() + "[[protocol]]\nname = \"dpsgd\"\nlabel = \"" + label + "\"\n");
  const Ended piped = hopbench(folder.path(), {"run", "s.toml", "-o", "piped"});
  ASSERT_EQ(piped.code, 0) << piped.err;
  EXPECT_GT(widest_line(piped.out), 120u) << "a file or a pipe has all columns";
  EXPECT_THAT(piped.out, AllOf(HasSubstr(label), HasSubstr("iterations/s"), Not(HasSubstr("no room"))));
  for (const int columns : {80, 100, 200}) {
    const std::string name = std::to_string(columns);
    const std::string shown = in_terminal(folder.path(), columns, "run s.toml -o t" + name);
    EXPECT_THAT(shown, HasSubstr("slowest rank"));
    EXPECT_LE(widest_line(shown), std::size_t(columns)) << shown;
    EXPECT_EQ(shown.find("no room") == std::string::npos, columns == 200) << shown;
    EXPECT_EQ(text_of(folder / ("t" + name + "/summary.md")), text_of(folder / "piped/summary.md"));
  }
  EXPECT_THAT(in_terminal(folder.path(), 80, "run s.toml -o wide --wide"), HasSubstr("iterations/s"));
}

TEST(CliWidth, NotesOfSeveralSuitesStandOnce) {
  const Folder folder;
  folder.write("s.toml", small_suite());
  folder.write("t.toml", with(small_suite(), "small", "other"));
  const Ended ended = hopbench(folder.path(), {"run", "s.toml", "t.toml", "-o", "a"});
  const std::string note = "n: repeats; medians over them";
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(ended.out.find(note), ended.out.rfind(note)) << ended.out;
}

}  // namespace
}  // namespace hopbench
