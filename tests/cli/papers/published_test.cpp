// Published figures: values out of JSON, verdicts, blocks of pages, and what is refused.
#include "results/judge/published.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "cli/papers/published.h"
#include "results/judge/published_pages.h"
#include "suites/claims/published.h"
#include "tests/cli/papers/published_cases.h"

namespace hopbench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::string with(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::string mistake_of(const std::string& toml) {
  try {
    parse_published(toml, "f.toml");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kUsage);
    return error.what();
  }
  return "none";
}

/// A command that prints `json` while others take so much of the cores' time; the next call finds the next share.
class Fake {
 public:
  Published published = parse_published(kToml, "f.toml");
  PublishedPlan plan;
  LastValues values;
  std::string json = kJson, missing;
  std::string json_again;  // of the second run and later ones, unless empty
  std::vector<double> others{0.0};
  std::vector<std::string> order;  // of the runs
  int exit_code = 0, ran = 0, saved = 0;

  std::vector<JudgedFigure> judged() {
    PublishedWorld world;
    world.run = [&](const PublishedRun& run) {
      order.push_back(run.id);
      const double share = others[std::min(std::size_t(ran++), others.size() - 1)];
      const std::string& printed = ran > 1 && !json_again.empty() ? json_again : json;
      return RanCommand{.exit_code = exit_code, .json = printed, .said = "what it said", .others = share};
    };
    world.missing = [&](const auto&) { return missing; };
    world.save = [&](const LastValues&) { ++saved; };
    world.date = "2026-11-23";
    world.commit = "abcdef";
    world.machine = "a machine";
    return judge_published(published, plan, world, values);
  }
  std::string verdicts() {
    std::string text;
    for (const JudgedFigure& figure : judged()) text += figure.id + ": " + to_string(figure.verdict) + "\n";
    return text;
  }
};

TEST(PublishedValues, AreFoundBySelectorsAndShown) {
  const MeasuredJson json(R"({"rows":[{"k":"a/b","n":8,"v":[1,2,3,4]},{"k":"c","n":8,"v":[1209000]}],"t":"x"})", "c");
  EXPECT_EQ(json.shown({.value = "/rows/k=a~1b,n=8/v", .show = "{} ({q1:.2f} .. {most})"}), "2.5 (1.75 .. 4)");
  EXPECT_EQ(json.shown({.value = "/rows/1/v", .show = "{:n} of {n}"}), "1 209 000 of 1");
  EXPECT_EQ(json.shown({.value = "/rows/*/n", .show = "{:.1f}", .statistic = "sum"}), "16.0");
  EXPECT_EQ(json.shown({.value = "/t", .show = "<{}>"}), "<x>");
  const MeasuredJson nested(R"([{"a":{"b":"y"},"v":1},{"a":{"b":"z"},"v":2}])", "c");
  EXPECT_EQ(nested.shown({.value = "/a.b=z/v"}), "2");
  EXPECT_EQ(json.shown({.value = "/rows/0/v", .over = "/rows/0/n", .unit = 0.01, .show = "{:s3} %"}), "31.2 %");
  EXPECT_EQ(json.shown({.value = "/rows/0/v", .times = "/rows/0/v", .show = "{sum}"}), "30");
  EXPECT_THROW(json.values({.value = "/rows/k=z/v"}), Error);
  EXPECT_THROW(json.values({.value = "/t"}), Error);
  EXPECT_THROW(json.values({.value = "/rows/0/v", .over = "/rows/*/n"}), Error) << "4 values over 2";
  EXPECT_THROW(MeasuredJson("no JSON", "c"), Error);
}

TEST(PublishedValues, MakeTablesOfGroupedRows) {
  const MeasuredJson json(R"({"rows":[{"n":2,"way":"a","t":[4,6]},{"n":2,"way":"b","t":[2,2]},{"n":4,"way":"a","t":8},
                              {"n":9,"way":"c"}]})",
                          "c");
  PublishedTable table{.id = "t", .runs = {}, .rows = "/rows", .where = "", .by = {"n"}, .columns = {}};
  table.columns = {{"n", {.value = "/0/n"}},
                   {"a", {.value = "/way=a/t"}},
                   {"b / a", {.value = "/way=b/t", .over = "/way=a/t", .show = "{:.2f}"}}};
  EXPECT_THAT(json.rows(table),
              ElementsAre(ElementsAre("2", "5", "0.42"), ElementsAre("4", "8", ""), ElementsAre("9", "", "")));
  table.where = "way=b";
  EXPECT_THAT(json.rows(table), ElementsAre(ElementsAre("2", "", "")));
  table.where = "way=b|c";
  EXPECT_THAT(json.rows(table), ElementsAre(ElementsAre("2", "", ""), ElementsAre("9", "", "")));
  table.columns = {{"b", {.value = "/way=b/t", .show = "{} of {/0/n}{/0/none}"}}};
  EXPECT_THAT(json.rows(table), ElementsAre(ElementsAre("2 of 2"), ElementsAre("")));
  table.where = "way=d";
  EXPECT_THROW(json.rows(table), Error);
}

TEST(PublishedVerdicts, HoldAndAreWritten) {
  Fake fake;
  EXPECT_EQ(fake.verdicts(), "speed: holds\nfiles: holds\nseconds: holds\nmemory: recorded\nways: recorded\n");
  EXPECT_EQ(fake.ran, 1);
  EXPECT_EQ(fake.saved, 1);
  EXPECT_EQ(fake.values.size(), 5u);
  EXPECT_EQ(fake.values["speed"].text, "2.0x");
  EXPECT_EQ(fake.values["speed"].at_least, 1.5);
  for (const JudgedFigure& figure : fake.judged()) EXPECT_TRUE(figure.written) << figure.id;
  EXPECT_THAT(fake.values["ways"].rows,
              ElementsAre(ElementsAre("ours", "6 (4 .. 8)"), ElementsAre("theirs", "3 (2 .. 4)")));
  EXPECT_THAT(fake.values["ways"].commands, ElementsAre("measure 'it now'"));
}

TEST(PublishedVerdicts, OfASlowdownAreFalseAndNothingIsWritten) {
  Fake fake;
  fake.json = R"({"rows":[{"way":"ours","rate":[2,3,4]},{"way":"theirs","rate":[2,3,4]}],"files":11,"s":2.4,"mib":20})";
  EXPECT_THAT(fake.verdicts(),
              HasSubstr("speed: false\nfiles: false\nseconds: false\nmemory: recorded\nways: not run"));
  EXPECT_EQ(exit_code_of(fake.judged()), 1);
  EXPECT_THAT(fake.values, IsEmpty());
  EXPECT_EQ(fake.saved, 0);
}

TEST(PublishedVerdicts, AreUndecidedIfTheMachineWasBusyTwice) {
  Fake fake;
  fake.others = {0.3, 0.2};
  fake.json = R"({"rows":[{"way":"ours","rate":1},{"way":"theirs","rate":1}],"files":10,"s":1.2,"mib":20})";
  // A limit that holds all the same holds; a count does not depend on others.
  EXPECT_EQ(fake.verdicts(),
            "speed: undecided: busy\nfiles: holds\nseconds: holds\nmemory: undecided: busy\n"
            "ways: undecided: busy\n");
  EXPECT_EQ(fake.ran, 2);
  EXPECT_THAT(fake.values, IsEmpty());
  for (const JudgedFigure& figure : fake.judged()) EXPECT_FALSE(figure.written) << figure.id;
  EXPECT_EQ(exit_code_of(fake.judged()), 0);
  fake.json = with(fake.json, "\"files\":10", "\"files\":11");
  EXPECT_EQ(exit_code_of(fake.judged()), 1) << "a count is judged";
}

TEST(PublishedVerdicts, HoldIfTheSecondRunIsNotDisturbed) {
  Fake fake;
  fake.others = {0.3, 0.01};
  EXPECT_THAT(fake.verdicts(), HasSubstr("speed: holds"));
  EXPECT_EQ(fake.ran, 2);
  EXPECT_EQ(fake.saved, 1);
}

TEST(PublishedVerdicts, OfATimeAreFalseTheSecondTimeOnly) {
  Fake fake;
  fake.json = with(kJson, "\"s\":1.2", "\"s\":2.4");
  fake.json_again = kJson;
  EXPECT_EQ(exit_code_of(fake.judged()), 0);
  EXPECT_EQ(fake.ran, 2);
  EXPECT_EQ(fake.values["seconds"].text, "1.2");
  fake.json_again = fake.json;
  EXPECT_THAT(fake.verdicts(), HasSubstr("seconds: false"));
  fake.ran = 0;
  fake.json = fake.json_again = with(kJson, "\"files\":10", "\"files\":11");
  EXPECT_THAT(fake.verdicts(), HasSubstr("files: false"));
  EXPECT_EQ(fake.ran, 1) << "a count does not depend on others";
}

TEST(PublishedVerdicts, InDoubtAreMeasuredOnceMoreAfterAllOthers) {
  Fake fake;
  fake.published = parse_published(std::string(kToml) + kSecondRun, "f.toml");
  fake.others = {0.3, 0.01};
  EXPECT_EQ(fake.verdicts(),
            "slow-files: holds\nboth/slow: recorded\nspeed: holds\nfiles: holds\nseconds: holds\n"
            "memory: recorded\nways: recorded\nboth/fast: recorded\n");
  EXPECT_THAT(fake.order, ElementsAre("fast", "slow", "fast"));
}

TEST(PublishedVerdicts, AreNotRunWithAReason) {
  Fake fake;
  fake.missing = "needs root";
  for (const JudgedFigure& figure : fake.judged()) {
    EXPECT_EQ(figure.verdict, PublishedVerdict::kNotRun);
    EXPECT_EQ(figure.reason, "needs root");
  }
  EXPECT_EQ(fake.ran, 0);
  EXPECT_EQ(exit_code_of(fake.judged()), 0);
  fake.missing = "";
  fake.plan.minutes = 0.5;
  EXPECT_THAT(fake.verdicts(), HasSubstr("speed: not run"));
  fake.plan.minutes = 1;
  fake.exit_code = 6;
  EXPECT_EQ(fake.judged().front().reason, "what it said");
  EXPECT_THAT(fake.verdicts(), HasSubstr("speed: not run"));
}

TEST(PublishedVerdicts, FailIfTheCommandOrItsJsonDoes) {
  Fake fake;
  fake.json = R"({"files":10})";
  EXPECT_THAT(fake.verdicts(), HasSubstr("speed: failed\nfiles: holds\nseconds: failed"));
  EXPECT_EQ(exit_code_of(fake.judged()), 3);
  fake.json = "Segmentation fault";
  EXPECT_THAT(fake.verdicts(), Not(HasSubstr("holds")));
  fake.json = kJson;
  fake.exit_code = 1;
  EXPECT_THAT(fake.verdicts(), Not(HasSubstr("holds")));
  fake.published = parse_published(with(kToml, "minutes = 1", "minutes = 1\nexit_codes = [0, 1]"), "f.toml");
  EXPECT_THAT(fake.verdicts(), HasSubstr("speed: holds"));
  fake.values.clear();
  fake.exit_code = 139;
  EXPECT_THAT(fake.verdicts(), Not(HasSubstr("holds")));
  EXPECT_THAT(fake.values, IsEmpty());
}

TEST(PublishedVerdicts, AreOfTheRunsThatMeasureWhatWasAskedFor) {
  const std::string fast =
      "speed: holds\nfiles: holds\nseconds: holds\nmemory: recorded\nways: recorded\nboth/fast: recorded\n";
  Fake fake;
  fake.published = parse_published(std::string(kToml) + kSecondRun, "f.toml");
  fake.plan.ids = {"files"};
  EXPECT_EQ(fake.verdicts(), fast) << "all that its run measures, so that no page shows two runs of one command";
  EXPECT_EQ(fake.ran, 1);
  fake.plan.ids = {"slow-files"};
  EXPECT_EQ(fake.verdicts(), "slow-files: holds\nboth/slow: recorded\n");
  fake.plan.ids = {"both"};
  EXPECT_EQ(fake.verdicts(), fast + "slow-files: holds\nboth/slow: recorded\n");
  fake.plan = {.ids = {}, .judged = true, .minutes = {}};
  fake.saved = 0;
  EXPECT_EQ(fake.verdicts(), "speed: holds\nfiles: holds\nseconds: holds\nslow-files: holds\n");
  EXPECT_EQ(fake.saved, 0) << "--judged writes nothing";
}

// A table of two runs keeps the rows of each by themselves, so that one of them can be measured again alone.
TEST(PublishedPages, TablesOfSeveralRunsSayWhenEachWasMeasured) {
  Fake fake;
  fake.published = parse_published(std::string(kToml) + kSecondRun, "f.toml");
  const Page page{"page.md",
                  "<!-- measured: both -->\n<!-- /measured -->\n\n<!-- measured: runs -->\n<!-- /measured -->\n"};
  fake.plan.ids = {"slow-files"};
  fake.judged();
  EXPECT_EQ(filled(page, fake.published, fake.values).find("| way |"), std::string::npos) << "half of it is not there";
  fake.plan.ids = {"both"};
  fake.judged();
  const std::string rows = "| way |\n|---|\n| ours |\n| theirs |\n| ours |\n| theirs |\n";
  const std::string at_once = filled(page, fake.published, fake.values);
  EXPECT_THAT(at_once, HasSubstr(rows));
  EXPECT_EQ(at_once.find("Measured "), at_once.rfind("Measured ")) << "one day, one sentence";
  fake.values["both/slow"].measured = "2026-12-31";
  fake.values["both/slow"].rows = {{"another"}};
  const std::string twice = filled(page, fake.published, fake.values);
  EXPECT_THAT(twice, HasSubstr("| ours |\n| theirs |\n| another |\n"));
  EXPECT_THAT(twice, HasSubstr("; 2026-12-31, "));
  EXPECT_THAT(twice, HasSubstr("| 2026-12-31, ")) << "the block runs has a line of it";
}

TEST(PublishedPages, AreFilledOnceAndForAll) {
  Fake fake;
  fake.judged();
  const Page page{"page.md", kPage};
  const std::string text = filled(page, fake.published, fake.values);
  EXPECT_THAT(text, HasSubstr("It is <!-- measured: speed -->2.0x<!-- /measured --> as fast"));
  EXPECT_THAT(text, HasSubstr("| memory | <!-- measured: memory -->20<!-- /measured --> |\n"));
  EXPECT_THAT(text, HasSubstr("<!-- measured: ways -->\n| way | rate |\n|---|--:|\n| ours | 6 (4 .. 8) |\n"));
  EXPECT_THAT(text, HasSubstr("\n\nMeasured 2026-11-23, abcdef: `measure 'it now'`\n<!-- /measured -->"));
  EXPECT_THAT(text, HasSubstr("| `measure 'it now'` | 2026-11-23, abcdef | a machine |\n<!-- /measured -->"));
  EXPECT_EQ(filled({"page.md", text}, fake.published, fake.values), text);
  EXPECT_THAT(check_blocks(fake.published, {{"page.md", text}}), IsEmpty());
  EXPECT_THAT(check_values(fake.published, fake.values, {{"page.md", text}}), IsEmpty());
  EXPECT_THAT(check_values(fake.published, fake.values, {page}), ElementsAre(HasSubstr("page.md says something else")));
}

TEST(PublishedPages, NameTheFiguresOfACommandThatWasRunTwice) {
  Fake fake;
  fake.judged();
  for (const char* id : {"speed", "memory"}) fake.values[id].measured = "2026-11-24";
  EXPECT_THAT(filled({"page.md", kPage}, fake.published, fake.values),
              HasSubstr("| `measure 'it now'` | 2026-11-24, abcdef: `speed`, `memory` | a machine |\n"
                        "| `measure 'it now'` | 2026-11-23, abcdef: `files`, `seconds`, `ways` | a machine |\n"));
}

TEST(PublishedPages, KeepABlockWhoseEntryHasNoValue) {
  Fake fake;
  fake.judged();
  fake.values.erase("speed");
  EXPECT_THAT(filled({"page.md", kPage}, fake.published, fake.values), HasSubstr("speed -->?<!--"));
  EXPECT_THAT(check_values(fake.published, fake.values, {}), testing::Contains(HasSubstr("'speed' has no value")));
  fake.values["gone"] = {};
  EXPECT_THAT(check_values(fake.published, fake.values, {}), testing::Contains(HasSubstr("'gone' of measured.json")));
}

// Cells are kept by their place, so columns that were renamed or moved since would be shown under false heads.
TEST(PublishedPages, ShowNoRowsThatWereMeasuredUnderOtherHeads) {
  Fake fake;
  fake.judged();
  EXPECT_EQ(fake.values["ways"].heads, fake.published.tables[0].heads());
  std::reverse(fake.values["ways"].heads.begin(), fake.values["ways"].heads.end());
  EXPECT_THAT(check_values(fake.published, fake.values, {}), ElementsAre(HasSubstr("table 'ways' has the columns")));
  EXPECT_THAT(filled({"page.md", kPage}, fake.published, fake.values), Not(HasSubstr("| ours |")));
  fake.values["ways"].heads = fake.published.tables[0].heads();
  EXPECT_THAT(filled({"page.md", kPage}, fake.published, fake.values), HasSubstr("| ours |"));
  fake.values["ways"].rows.back().pop_back();
  EXPECT_THAT(check_values(fake.published, fake.values, {}), ElementsAre(HasSubstr("rows of another length")));
  EXPECT_THAT(filled({"page.md", kPage}, fake.published, fake.values), Not(HasSubstr("| ours |")));
}

TEST(PublishedPages, NeedABlockForEachEntryAndAnEntryForEachBlock) {
  const Published published = parse_published(kToml, "f.toml");
  const auto messages = [&](const std::string& text) { return check_blocks(published, {{"page.md", text}}); };
  EXPECT_THAT(messages(kPage), IsEmpty());
  EXPECT_THAT(messages(with(kPage, "measured: speed", "measured: sped")),
              ElementsAre(HasSubstr("page.md:2: the block 'sped' has no entry"),
                          HasSubstr("entry 'speed' of figures.toml has no block")));
  EXPECT_THAT(messages(with(kPage, "measured: runs", "measured: ways")), ElementsAre(HasSubstr("0 blocks 'runs'")));
  const std::string table = "<!-- measured: ways -->\n<!-- /measured -->\n";  // says itself when it was measured
  EXPECT_THAT(messages(table), testing::Not(testing::Contains(HasSubstr("blocks 'runs'"))));
  const std::string runs = "<!-- measured: runs -->\n<!-- /measured -->\n";
  EXPECT_THAT(messages(table + runs + runs), testing::Contains(HasSubstr("2 blocks 'runs'")));
  EXPECT_THAT(messages(with(kPage, "measured: memory", "measured: ways")),
              testing::Contains(HasSubstr("is a table: its markers need lines of their own")));
  EXPECT_THAT(messages(with(kPage, "measured: ways", "measured: memory")),
              testing::Contains(HasSubstr("is a claim: it belongs into a line")));
}

TEST(PublishedPages, RefuseMarkersThatGitHubWouldShowOrThatAreNotClosed) {
  const auto said = [](const std::string& text) {
    try {
      blocks_of({"p.md", text});
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("nothing");
  };
  EXPECT_EQ(said("a <!-- measured: x -->1<!-- /measured --> b"), "nothing");
  EXPECT_THAT(said("a\n  <!-- measured: x -->1<!-- /measured --> b"), HasSubstr("p.md:2: the block 'x' begins a line"));
  EXPECT_THAT(said("a <!-- measured: x -->\n1\n<!-- /measured -->"), HasSubstr("need lines of their own"));
  EXPECT_THAT(said("<!-- measured: x -->\n1\n<!-- /measured --> b"), HasSubstr("need lines of their own"));
  EXPECT_THAT(said("a <!-- measured: x -->1"), HasSubstr("is not closed"));
  EXPECT_THAT(said("a <!-- measured: x -->1 <!-- measured: y -->2<!-- /measured -->"), HasSubstr("'x' is not closed"));
  EXPECT_THAT(said("a <!-- /measured -->"), HasSubstr("closes no block"));
  EXPECT_THAT(said("a <!-- measured: x"), HasSubstr("not complete"));
}

TEST(PublishedFile, IsRefusedWithThePlaceOfEachMistake) {
  EXPECT_EQ(mistake_of(kToml), "none");
  EXPECT_THAT(mistake_of("pages = ["), HasSubstr("f.toml:1"));
  EXPECT_THAT(mistake_of(with(kToml, "at_least = 1.5\n", "")), HasSubstr("a 'ratio' claim needs 'at_least'"));
  EXPECT_THAT(mistake_of(with(kToml, "at_least = 1.5", "atleast = 1.5")), HasSubstr("did you mean 'at_least'?"));
  EXPECT_THAT(mistake_of(with(kToml, "kind = \"recorded\"", "kind = \"recorded\"\nat_most = 3")),
              HasSubstr("not judged"));
  EXPECT_THAT(mistake_of(with(kToml, "at_most = 2\n", "at_most = 1.9\n")), HasSubstr("less than a factor of 2"));
  EXPECT_THAT(mistake_of(with(kToml, "expected = 1\n", "")), HasSubstr("'expected' belongs to a 'limit'"));
  EXPECT_THAT(mistake_of(with(kToml, "run = \"fast\"\nkind", "run = \"fats\"\nkind")),
              HasSubstr("did you mean 'fast'?"));
  EXPECT_THAT(mistake_of(with(kToml, "\"quiet\"", "\"queit\"")), HasSubstr("did you mean 'quiet'?"));
  EXPECT_THAT(mistake_of(with(kToml, "id = \"files\"", "id = \"speed\"")),
              HasSubstr("two entries have the ID 'speed'"));
  EXPECT_THAT(mistake_of(with(kToml, "id = \"files\"", "id = \"The files\"")), HasSubstr("the ID 'The files'"));
  EXPECT_THAT(mistake_of(with(kToml, "{:.1f}x", "{:.1q}x")), HasSubstr("is not a format"));
  EXPECT_THAT(mistake_of(with(kToml, "{:.1f}x", "{mean}x")), HasSubstr("'{mean}' is not one of"));
  EXPECT_THAT(mistake_of(with(kToml, "\"/files\"", "\"files\"")), HasSubstr("does not begin with a slash"));
  EXPECT_THAT(mistake_of(with(kToml, "minutes = 1", "minutes = 0")), HasSubstr("above 0"));
  EXPECT_THAT(mistake_of(with(kToml, "minutes = 1", "minutes = 1\nexit_codes = [256]")), HasSubstr("0 to 255"));
  EXPECT_THAT(mistake_of(with(kToml, "[[claim]]",
                              "[[run]]\nid=\"idle\"\ncommand=[\"x\"]\njson=[]\nneeds=[]\nminutes=1\n[[claim]]")),
              HasSubstr("nothing is measured by the run 'idle'"));
}

TEST(PublishedFile, RefusesAWiderRangeWithoutAReason) {
  Fake fake;
  fake.judged();
  EXPECT_THAT(check_ranges(fake.published, fake.values), IsEmpty());
  const auto messages = [&](const std::string& toml) { return check_ranges(parse_published(toml, "f"), fake.values); };
  EXPECT_THAT(messages(with(kToml, "at_least = 1.5", "at_least = 1.6")), IsEmpty()) << "narrower";
  EXPECT_THAT(messages(with(kToml, "at_least = 1.5", "at_least = 1.4")),
              ElementsAre(HasSubstr("claim 'speed' accepts at least 1.4, wider than the last range (at least 1.5)")));
  const std::string because = with(kToml, "at_least = 1.5", "at_least = 1.4\nwidened = \"a slower library\"");
  EXPECT_THAT(messages(because), IsEmpty());
  fake.values["speed"].widened = "a slower library";
  EXPECT_THAT(messages(because), ElementsAre(HasSubstr("give the reason"))) << "the reason is that of another time";
}

TEST(PublishedFile, KeepsLastValuesThroughJson) {
  Fake fake;
  fake.judged();
  const std::string text = to_json(fake.values);
  EXPECT_EQ(to_json(last_values_from_json(text, "measured.json")), text);
  for (const char* damaged : {"", "{}", "{\"values\":{\"a\":{}}}", "{\"values\":{\"a\":{\"measured\":1}}}", "[1]"}) {
    try {
      last_values_from_json(damaged, "measured.json");
      ADD_FAILURE() << damaged;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("measured.json is damaged"));
    }
  }
}

TEST(PublishedMachine, KnowsTheShareOfOthers) {
  // Two cores, 10 s: 2000 ticks. 500 of user time, 300 of which are ours, 100 stolen; 50 of interrupts do not count.
  const std::string before = "cpu  100 0 100 1000 0 10 10 0 0 0\ncpu0 1\n";
  const std::string after = "cpu  600 0 100 2350 0 30 40 100 0 0\n";
  EXPECT_NEAR(share_of_others(before, after, 3.0, 100).value_or(-1), 0.15, 1e-9);
  EXPECT_EQ(share_of_others(before, after, 9.0, 100), 0.0) << "rounding is not a negative share";
  EXPECT_EQ(share_of_others(before, before, 0, 100), std::nullopt);
  EXPECT_EQ(share_of_others("", "", 0, 100), std::nullopt);
}

TEST(PublishedMachine, SaysWhatIsMissing) {
  EXPECT_EQ(missing_need({}), "");
  EXPECT_EQ(missing_need({"quiet", "cores:1", "program:sh"}), "");
  EXPECT_THAT(missing_need({"cores:100000"}), HasSubstr("needs 100000 cores"));
  EXPECT_THAT(missing_need({"program:no-such-program"}), HasSubstr("not in $PATH"));
  EXPECT_THAT(missing_need({"package:no-such-package"}), HasSubstr("apt-get install no-such-package"));
}

}  // namespace
}  // namespace hopbench
