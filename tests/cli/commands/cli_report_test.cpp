// `hopbench report` from outside.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/cli/cli.h"
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
              AllOf(StartsWith("<!DOCTYPE html>"), HasSubstr("speed-up over allreduce"),
                    HasSubstr("<h3>suite small, measure rate, scenario random</h3>"), HasSubstr(", bound 1")));
  EXPECT_THAT(hopbench(folder.path(), {"report", "run", "-o", "-", "--filter", "random/hop"}).out,
              AllOf(HasSubstr("1 trial, started"), Not(HasSubstr("homogeneous"))));
  EXPECT_THAT(hopbench(folder.path(), {"report", "run", "-o", "-", "--trials", "1"}).out,
              HasSubstr("Only the first 1 of "));
  EXPECT_EQ(code({"report", "run", "--trials", "some"}), 2);
  EXPECT_EQ(code({"report", "run", "--filter", "nothing"}), 2);
  EXPECT_EQ(code({"report", "nowhere"}), 2);
  EXPECT_EQ(code({"report", "run", "-o", "no/such/folder.html"}), 2);
}

TEST(CliReport, WarnsOfAnEventLogThatIsCut) {
  const Folder folder;
  folder.write("a.toml", small_suite());
  ASSERT_EQ(hopbench(folder.path(), {"run", "a.toml", "-o", "run", "-f", "random/hop"}).code, 0);
  const std::string log = "run/events/small+rate+random+hop+1+0.jsonl", whole = text_of(folder / log);
  const std::size_t middle = whole.rfind('\n', whole.size() / 2);
  ASSERT_NE(middle, std::string::npos);
  const char* const warned = "warning: trial small/rate/random/hop/1/0: ";
  const auto said = [&](const char* command) {
    const Ended ended = hopbench(folder.path(), {command, "run"});
    EXPECT_EQ(ended.code, 0) << ended.err;
    return ended.err;
  };
  for (const char* command : {"report", "trace"}) EXPECT_THAT(said(command), Not(HasSubstr("warning"))) << command;
  folder.write(log, whole.substr(0, middle + 1));
  const std::string early = "the log ends early: the end of rank 0, 1, 2, 3 is not in it";
  for (const char* command : {"report", "trace"}) EXPECT_THAT(said(command), HasSubstr(warned + early)) << command;
  EXPECT_THAT(text_of(folder / "run/report.html"), HasSubstr(early));
  folder.write(log, whole.substr(0, middle - 3));
  EXPECT_THAT(said("report"), AllOf(HasSubstr(warned), HasSubstr(".jsonl:"), HasSubstr(": damaged: ")));
  std::filesystem::remove(folder / log);
  EXPECT_THAT(said("report"), Not(HasSubstr("warning"))) << "a run without events is none";
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
  EXPECT_THAT(latex({}).out, AllOf(HasSubstr("    variant & samples/s & speed-up \\\\\n"),
                                   HasSubstr("\\caption{suite small, measure rate, scenario random}")));
  EXPECT_THAT(latex({"--columns", "n, iterations/s,gradients lost"}).out,
              HasSubstr("    variant & n & iterations/s & gradients lost \\\\\n"));
  const Ended unknown = latex({"--columns", "sample/s"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.err, AllOf(HasSubstr("no table here has a column 'sample/s'"),
                                 HasSubstr("known are variant, n, "), HasSubstr("Did you mean 'samples/s'?")));
  EXPECT_EQ(hopbench(folder.path(), {"report", "run", "--columns", "n"}).code, 2) << "it is of --latex";
}

// The second of two tables leaves out notes that the first has for both, but none that is about itself alone.
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
