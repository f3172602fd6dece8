// `hopbench report` from outside.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/cli.h"
#include "tests/folder.h"

namespace hopbench {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST(CliReport, IsOnePageWithBoundsAndTheReference) {
  const Folder folder;
  const auto code = [&](const Args& words) { return hopbench(folder.path(), words).code; };
  folder.write("a.toml", small_suite());
  ASSERT_EQ(code({"run", "a.toml", "-o", "run", "--events", "all"}), 0);
  ASSERT_EQ(code({"report", "run"}), 0);
  EXPECT_THAT(text_of(folder / "run/report.html"),
              AllOf(StartsWith("<!DOCTYPE html>"), HasSubstr("speed-up over allreduce"), HasSubstr(", bound 1")));
  EXPECT_THAT(hopbench(folder.path(), {"report", "run", "-o", "-", "--filter", "random/hop"}).out,
              AllOf(HasSubstr("1 trial, started"), Not(HasSubstr("homogeneous"))));
  EXPECT_THAT(hopbench(folder.path(), {"report", "run", "-o", "-", "--trials", "1"}).out,
              HasSubstr("Only the first 1 of "));
  EXPECT_EQ(code({"report", "run", "--trials", "some"}), 2);
  EXPECT_EQ(code({"report", "run", "--filter", "nothing"}), 2);
  EXPECT_EQ(code({"report", "nowhere"}), 2);
  EXPECT_EQ(code({"report", "run", "-o", "no/such/folder.html"}), 2);
}

// In virtual time and in real processes. Such a run has ended well: its exit code is 0.
TEST(CliReport, RunsThatDivergeAreMarked) {
  const Folder folder;
  const std::string suite = with(small_suite(), "[transport]", "[optimizer]\nlr = 1e6\n[transport]") +
                            "[[measure]]\nwhat = \"convergence\"\niterations = 8\n";
  folder.write("sim.toml", suite);
  folder.write("shm.toml", with(suite, "\"sim\"", "\"shm\""));
  for (const std::string name : {"sim", "shm"}) {
    const Ended ended = hopbench(folder.path(), {"run", name + ".toml", "-o", name, "-f", "homogeneous"});
    EXPECT_EQ(ended.code, 0) << ended.err;
    for (const char* variant : {"allreduce", "hop"})
      EXPECT_THAT(ended.out, ContainsRegex(std::string(variant) + " +1 +diverged [^\n]*diverged")) << name;
    EXPECT_THAT(text_of(folder / (name + "/trials.csv")), HasSubstr(",ok,,diverged")) << name;
    ASSERT_EQ(hopbench(folder.path(), {"report", name}).code, 0);
    EXPECT_THAT(text_of(folder / (name + "/report.html")), HasSubstr("<th scope=\"row\">diverged</th>"));
  }
}

TEST(CliReport, ItsLatexTablesHaveTheColumnsThatAreAskedFor) {
  const Folder folder;
  folder.write("a.toml", small_suite());
  ASSERT_EQ(hopbench(folder.path(), {"run", "a.toml", "-o", "run"}).code, 0);
  const auto latex = [&](const Args& more) {
    Args words{"report", "run", "--latex"};
    words.insert(words.end(), more.begin(), more.end());
    return hopbench(folder.path(), words);
  };
  EXPECT_THAT(latex({}).out, HasSubstr("    variant & samples/s & speed-up \\\\\n"));
  EXPECT_THAT(latex({"--columns", "n, iterations/s,gradients lost"}).out,
              HasSubstr("    variant & n & iterations/s & gradients lost \\\\\n"));
  const Ended unknown = latex({"--columns", "sample/s"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.err, AllOf(HasSubstr("no table here has a column 'sample/s'"),
                                 HasSubstr("known are variant, n, "), HasSubstr("Did you mean 'samples/s'?")));
  EXPECT_EQ(hopbench(folder.path(), {"report", "run", "--columns", "n"}).code, 2) << "it is of --latex";
}

// Of two tables the second leaves out what the first has said of both, but nothing that is said of itself alone.
TEST(CliReport, EachTableTellsOfTheFailedTrialsThatItDoesNotName) {
  const Folder folder;
  const std::string faults = "faults = [{ kind = \"leave\", ranks = [3], iteration = 5 }]\n";
  folder.write("a.toml", with(small_suite(), "compute = [",
                              faults + "[[scenario]]\nname = \"again\"\n" + faults + "compute = ["));
  const Ended ended = hopbench(folder.path(), {"run", "a.toml", "-o", "run", "-f", "/(random|again)/all", "-r", "6"});
  EXPECT_EQ(ended.code, 3) << ended.err;
  const auto twice = [](const std::string& text) {
    const std::string more = "and 1 more that did not finish: see trials.csv";
    const std::size_t first = text.find(more);
    return first != std::string::npos && text.find(more, first + 1) != std::string::npos;
  };
  EXPECT_TRUE(twice(ended.out)) << ended.out;
  EXPECT_TRUE(twice(text_of(folder / "run/summary.md")));
  ASSERT_EQ(hopbench(folder.path(), {"report", "run"}).code, 0);
  EXPECT_TRUE(twice(text_of(folder / "run/report.html")));
}

}  // namespace
}  // namespace hopbench
