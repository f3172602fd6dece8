// `hopbench explain`, and the width of what `hopbench run` prints.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "tests/cli/cli.h"

namespace hopbench {
namespace {

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

TEST(CliExplain, RefusesAWordThatItDoesNotKnow) {
  const Ended ended = run({"explain", "speedup"});
  EXPECT_EQ(ended.code, 2);
  EXPECT_THAT(ended.err, HasSubstr("no column, row, sign or mark is called 'speedup'"));
  EXPECT_THAT(ended.err, HasSubstr("'speed-up'?"));
}

TEST(CliExplain, WithoutAWordShowsAllOfTheTables) {
  const Ended ended = run({"explain"});
  EXPECT_EQ(ended.code, 0);
  for (const char* word : {"variant (column)\n", "ideal (row)\n", "(a .. b) (sign)\n", "diverged (mark)\n"})
    EXPECT_THAT(ended.out, HasSubstr(word));
}

/// Returns the widest line of the tables, which end with the first line that is empty.
std::size_t widest(const std::string& text) {
  std::size_t most = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) most = std::max(most, line.size());
  return most;
}

TEST(CliWidth, TablesAreAtMost100ColumnsUnlessWide) {
  const Folder folder;
  std::string suite = small_suite();
  const std::string label(60, 'x');
  suite += "[[protocol]]\nname = \"dpsgd\"\nlabel = \"" + label + "\"\n";
  folder.write("s.toml", suite);
  const Ended narrow = hopbench(folder.path(), {"run", "s.toml", "-o", "a"});
  ASSERT_EQ(narrow.code, 0) << narrow.err;
  EXPECT_LE(widest(narrow.out.substr(0, narrow.out.find("No room for"))), 100u) << narrow.out;
  EXPECT_THAT(narrow.out, HasSubstr("No room for: "));
  const Ended wide = hopbench(folder.path(), {"run", "s.toml", "-o", "b", "--wide"});
  EXPECT_GT(widest(wide.out), 120u);
  EXPECT_THAT(wide.out, Not(HasSubstr("No room for")));
  EXPECT_THAT(wide.out, HasSubstr(label));
  EXPECT_EQ(text_of(folder / "a/summary.md"), text_of(folder / "b/summary.md")) << "files are the same";
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
