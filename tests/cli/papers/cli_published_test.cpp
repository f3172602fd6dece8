// `hopbench reproduce hopbench` from outside: commands of the test's own, in a folder that looks like a checkout.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cerrno>
#include <nlohmann/json.hpp>

#include "tests/cli/cli.h"

namespace hopbench {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kFigures = R"(pages = ["docs/page.md"]
[[run]]
id = "numbers"
command = ["cat", "numbers.json"]
json = []
needs = []
minutes = 1
[[claim]]
id = "speed"
says = "ours against theirs"
run = "numbers"
kind = "ratio"
value = "/ours"
over = "/theirs"
at_least = 1.5
show = "{:.1f}x"
[[table]]
id = "rows"
run = "numbers"
rows = "/rows"
columns = [{ head = "way", value = "/way" }]
[[run]]
id = "own"
command = ["hopbench", "version"]
json = []
needs = []
minutes = 1
[[claim]]
id = "models"
says = "its name"
run = "own"
kind = "recorded"
value = "/x"
[[run]]
id = "never"
command = ["cat", "nothing.json"]
json = []
needs = ["program:no-such-program"]
minutes = 1
[[claim]]
id = "never"
says = "cannot be measured here"
run = "never"
kind = "recorded"
value = "/x"
)";
constexpr const char* kPage =
    "A ratio of <!-- measured: speed -->?<!-- /measured -->, and <!-- measured: never -->?<!-- /measured -->.\n\n"
    "<!-- measured: rows -->\n<!-- /measured -->\n\n<!-- measured: runs -->\n<!-- /measured -->\n";

class ReproduceHopbench : public testing::Test {
 protected:
  ReproduceHopbench() {
    // Without the run of hopbench itself, which one test adds.
    const std::string all = kFigures;
    figures(all.substr(0, all.find("[[run]]\nid = \"own\"")) + all.substr(all.find("[[run]]\nid = \"never\"")));
    folder_.write("docs/page.md", kPage);
    numbers(R"({"ours":[2,4],"theirs":[1,1],"rows":[{"way":"a"}]})");
  }
  void figures(const std::string& text) const { folder_.write("results/published/hopbench/figures.toml", text); }
  void numbers(const std::string& text) const { folder_.write("numbers.json", text); }
  Ended run(Args more) const {
    more.insert(more.begin(), {"reproduce", "hopbench"});
    return hopbench(folder_.path(), more, {"HOPBENCH_ROOT=" + folder_.path()});
  }
  std::string page() const { return text_of(folder_ / "docs/page.md"); }
  std::string measured() const { return text_of(folder_ / "results/published/hopbench/measured.json"); }

  Folder folder_;
};

TEST_F(ReproduceHopbench, MeasuresJudgesAndWritesThePages) {
  const Ended ended = run({"--json=out.json"});
  EXPECT_EQ(ended.code, 0) << ended.out << ended.err;
  EXPECT_THAT(ended.out, AllOf(HasSubstr("never: not run: needs the program no-such-program"),
                               HasSubstr("3 figures: 1 holds, 1 recorded, 0 false, 0 undecided: busy, 1 not run"),
                               HasSubstr("\nwritten: 2 of 3 figures; not written: never\n")));
  EXPECT_THAT(page(), AllOf(HasSubstr("<!-- measured: speed -->3.0x<!-- /measured -->"), HasSubstr("| a |"),
                            HasSubstr("`cat numbers.json`"), HasSubstr("never -->?<!--")));
  EXPECT_THAT(measured(), AllOf(HasSubstr("\"value\": 3.0"), HasSubstr("\"machine\"")));
  EXPECT_EQ(nlohmann::json::parse(text_of(folder_ / "out.json")).at("figures").size(), 3u);
  EXPECT_THAT(hopbench(folder_.path(), {"__complete", "reproduce", "hop"}).out, HasSubstr("hopbench"));
  EXPECT_THAT(hopbench(folder_.path(), {"reproduce"}).out, HasSubstr("hopbench reproduce hopbench --list"));
  EXPECT_THAT(run({"--list"}).out, AllOf(HasSubstr("speed"), HasSubstr("at least 1.5"), HasSubstr("3.0x")));
  EXPECT_THAT(run({"--list", "--claim", "never"}).out, AllOf(HasSubstr("never"), Not(HasSubstr("speed"))));
  const std::string before = contents(folder_.path()), text = page();
  EXPECT_EQ(run({"--pages"}).code, 0);
  EXPECT_THAT(run({"--judged"}).out, HasSubstr("written: nothing, since --judged only judges"));
  EXPECT_EQ(contents(folder_.path()), before);
  EXPECT_EQ(page(), text);
}

TEST_F(ReproduceHopbench, KeepsThePagesIfTheLastValuesAreGoneOrDoNotFit) {
  EXPECT_EQ(run({}).code, 0);
  const std::string text = page(), values = measured();
  const auto refused = [&](const std::string& last_values, const char* says) {
    folder_.write("results/published/hopbench/measured.json", last_values);
    const Ended ended = run({"--pages"});
    EXPECT_EQ(ended.code, 2) << ended.out;
    EXPECT_THAT(ended.err, HasSubstr(says));
    EXPECT_EQ(page(), text);
  };
  refused(R"({"schema_version": "1.3", "values": {}})", "measured.json is missing or has no values: restore it");
  refused("{}", "measured.json is damaged: 'values' is missing");
  refused(with(values, "\"value\": 3.0", "\"value\": true"), "the value 'speed': its value has the wrong type");
  refused(with(values, "\"heads\": [\n", "\"heads\": [\n\"other\",\n"),
          "table 'rows' has the columns 'way', but 'other");
  std::filesystem::remove(folder_ / "results/published/hopbench/measured.json");
  EXPECT_EQ(run({"--pages"}).code, 2);
  EXPECT_EQ(page(), text);
}

TEST_F(ReproduceHopbench, SaysFalseAndKeepsThePage) {
  EXPECT_EQ(run({}).code, 0);
  const std::string text = page(), values = measured();
  numbers(R"({"ours":[1,1.8],"theirs":[1,1],"rows":[{"way":"b"}]})");
  for (const Args& words : {Args{}, Args{"--judged"}}) {
    const Ended ended = run(words);
    EXPECT_EQ(ended.code, 1) << ended.err;
    EXPECT_THAT(ended.out, AllOf(HasSubstr("false"), HasSubstr("1.4x"), HasSubstr("1 false")));
  }
  EXPECT_THAT(run({}).out, HasSubstr("written: 0 of 3 figures; not written: speed, rows, never"));
  EXPECT_THAT(run({"--json=-"}).err, HasSubstr("not written: speed, rows, never"));
  EXPECT_EQ(page(), text);
  EXPECT_EQ(measured(), values);
}

TEST_F(ReproduceHopbench, FailsWithTheCommand) {
  numbers("no JSON");
  const Ended text = run({});
  EXPECT_EQ(text.code, 3);
  EXPECT_THAT(text.out, HasSubstr("speed: failed: cat numbers.json printed no JSON, but: no JSON"));
  std::filesystem::remove(folder_ / "numbers.json");
  const Ended ended = run({});
  EXPECT_EQ(ended.code, 3);
  EXPECT_THAT(ended.out, AllOf(HasSubstr("speed: failed: exit code 1"), HasSubstr("No such file")));
}

TEST_F(ReproduceHopbench, RunsThisProgramInTheRootAndTellsScriptsWhereItIs) {
  folder_.write("docs/page.md", std::string(kPage) + "\nWith <!-- measured: models -->?<!-- /measured -->\n");
  figures(kFigures);
  EXPECT_THAT(run({"--claim", "models"}).out, HasSubstr("hopbench version printed no JSON, but: hopbench 0."));
  figures(with(kFigures, "\"hopbench\", \"version\"", "\"sh\", \"-c\", \"$HOPBENCH version; pwd\""));
  const Ended ended =
      hopbench("/", {"reproduce", "hopbench", "--claim", "models"}, {"HOPBENCH_ROOT=" + folder_.path()});
  EXPECT_THAT(ended.out, AllOf(HasSubstr("but: hopbench 0."), HasSubstr("\n" + folder_.path())));
}

TEST_F(ReproduceHopbench, RefusesMistakesBeforeItRuns) {
  const auto refused = [&](const Args& words, const char* says) {
    const Ended ended = run(words);
    EXPECT_EQ(ended.code, 2) << ended.out;
    EXPECT_THAT(ended.err, HasSubstr(says));
  };
  refused({"--claim", "sped"}, "Did you mean 'speed'?");
  refused({"-o", "out"}, "belong to papers");
  refused({"--pages", "--judged"}, "--pages runs nothing");
  refused({"--pages", "--list"}, "--pages runs nothing");
  refused({"--minutes", "0"}, "--minutes: '0' is not a number above 0");
  refused({"--minutes", "abc"}, "--minutes: 'abc' is not a number above 0");
  refused({"--minutes", "nan"}, "'nan' is not a finite number");
  EXPECT_EQ(hopbench(folder_.path(), {"reproduce", "dssp", "--judged"}).code, 2);
  EXPECT_THAT(hopbench(folder_.path(), {"reproduce", "hopbensh"}).err, HasSubstr("Did you mean 'hopbench'?"));
  folder_.write("docs/page.md", with(kPage, "measured: speed", "measured: sped"));
  refused({}, "docs/page.md:1: the block 'sped' has no entry");
  folder_.write("docs/page.md", kPage);
  figures("pages = [");
  refused({}, "results/published/hopbench/figures.toml:1:");
  const Folder empty;
  const Ended ended = hopbench(empty.path(), {"reproduce", "hopbench"}, {"HOPBENCH_ROOT=" + empty.path()});
  EXPECT_EQ(ended.code, 2);
  EXPECT_THAT(ended.err, HasSubstr("measured in a checkout"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "results/published/hopbench/measured.json"));
}

TEST_F(ReproduceHopbench, EndsTheCommandWhenItIsInterrupted) {
  figures(with(kFigures, "[\"cat\", \"numbers.json\"]", "[\"sh\", \"-c\", \"echo $$ > pid; exec sleep 60\"]"));
  folder_.write("docs/page.md", std::string(kPage) + "\nWith <!-- measured: models -->?<!-- /measured -->\n");
  Running running(folder_.path(), {"reproduce", "hopbench"}, {"HOPBENCH_ROOT=" + folder_.path()});
  ASSERT_TRUE(soon([&] { return !text_of(folder_ / "pid").empty(); }));
  const pid_t sleeper = static_cast<pid_t>(std::stoi(text_of(folder_ / "pid")));
  running.send(SIGINT);
  EXPECT_EQ(running.wait().code, 130);
  EXPECT_TRUE(soon([&] { return ::kill(sleeper, 0) != 0; }));
}

TEST_F(ReproduceHopbench, EndsTheDaemonsOfACommand) {
  std::string text = text_of(folder_ / "results/published/hopbench/figures.toml");
  text = with(text, R"(["cat", "numbers.json"])",
              R"(["bash", "-c", "setsid sleep 600 >/dev/null & echo $! >daemon; cat numbers.json"])");
  figures(text);
  EXPECT_EQ(run({"--claim", "speed"}).code, 0);
  const int daemon = std::stoi(text_of(folder_ / "daemon"));
  EXPECT_EQ(kill(daemon, 0), -1);
  EXPECT_EQ(errno, ESRCH);
}

}  // namespace
}  // namespace hopbench
