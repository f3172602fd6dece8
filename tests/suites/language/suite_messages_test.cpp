// Tests the messages about a suite: no control characters, bounded length, found in linear time, useful suggestions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>
#include <set>
#include <string>

#include "backends/base/printable.h"
#include "backends/base/text.h"
#include "suites/language/keys.h"
#include "suites/language/suite.h"

namespace hopbench {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string complaint_about(const std::string& text, const std::string& file = "a.toml") {
  try {
    parse_suite(text, file, {});
  } catch (const SuiteError& error) {
    return error.what();
  }
  return "";
}

// A right suite but for `line`, which is line 2.
std::string suite_with(const std::string& line, const std::string& below = "") {
  return "schema = 1\n" + line +
         "\nrun.world_size = 4\nmodel.name = \"quadratic\"\n[[protocol]]\nname = \"allreduce\"\n" + below;
}

TEST(SuiteMessages, HoldNoControlCharactersOfTheSuite) {
  const std::string right = suite_with("");
  ASSERT_EQ(complaint_about(right), "");
  const std::string kinds[] = {suite_with("run.reference = \"\\u001b]0;x\\u0007\""),
                               suite_with("run.warmup_time = \"\\u009b31m\""),
                               suite_with("network.bandwidth = \"\\u202e1\""),
                               suite_with("\"\\u001b[31m\" = 1"),
                               suite_with("", "label = \"a\\u202e\""),
                               suite_with("", "\"\\u001b\" = 1"),
                               suite_with("", "[[protocol]]\nname = \"\\u001b[2J\""),
                               suite_with("summary = \"a\\u009b\""),
                               suite_with("", "[[measure]]\nscenarios = [\"\\u001b\"]"),
                               suite_with("\"a\\u202eb\" = 2")};
  for (const std::string& text : kinds) {
    const std::string said = complaint_about(text);
    EXPECT_NE(said, "") << printable(text);
    EXPECT_EQ(said, printable_lines(said));
    EXPECT_THAT(said, HasSubstr("\\u")) << "shown, but escaped";
  }
  const std::string of_file = complaint_about(suite_with("x = 1"), "a\x1b.toml");
  EXPECT_EQ(of_file, printable_lines(of_file));
}

TEST(SuiteMessages, SayThatAMeasureKeepsItsNameAndKind) {
  for (const char* key : {"what", "name"}) {
    SuiteOptions options;
    options.sets = {std::string("measure.rate.") + key + "=other"};
    std::string said;
    try {
      parse_suite(suite_with(""), "a.toml", options);
    } catch (const SuiteError& error) {
      said = error.what();
    }
    EXPECT_THAT(said, HasSubstr(std::string("'") + key + "' of a measure cannot be set from outside"));
  }
}

TEST(SuiteMessages, GoOnBehindAByteOfZero) {
  const std::string said = complaint_about(suite_with("\"\\u0000a\" = 1\nfoo = 2"));
  EXPECT_THAT(said, HasSubstr("a.toml:2:1: unknown key '\\u0000a' at the top"));
  EXPECT_THAT(said, HasSubstr("a.toml:3:1: unknown key 'foo'"));
}

TEST(SuiteMessages, RefuseNamesThatATerminalOrASpreadsheetWouldObey) {
  const auto refused = [](const std::string& text, const char* why) {
    EXPECT_THAT(complaint_about(text), HasSubstr(why));
  };
  for (const char* name : {"=1+1", "+1", "-1", "@SUM(1)"}) {
    const std::string quoted = "\"" + std::string(name) + "\"";
    refused(suite_with("name = " + quoted), "spreadsheets evaluate");
    refused(suite_with("", "label = " + quoted), "spreadsheets evaluate");
    refused(suite_with("", "[[scenario]]\nname = " + quoted), "spreadsheets evaluate");
    refused(suite_with("", "[[measure]]\nname = " + quoted), "spreadsheets evaluate");
    EXPECT_THAT(complaint_about(suite_with(""), std::string("dir/") + name + ".toml"),
                HasSubstr("spreadsheets evaluate"))
        << "the name that the suite has from its file";
    EXPECT_EQ(complaint_about(suite_with("name = \"a\""), std::string("dir/") + name + ".toml"), "");
  }
  refused(suite_with("name = \"a\\u009b\""), "a name has no control characters");
  refused(suite_with("", "label = \"a\\u202eb\""), "a name has no control characters");
  EXPECT_EQ(complaint_about(suite_with("name = \"a = b + c - d @ e\"")), "");
}

TEST(SuiteMessages, RefuseLongNames) {
  const std::string longest(200, 'n'), longer(201, 'n');
  for (const char* where : {"label = \"", "[[scenario]]\nname = \"", "[[measure]]\nname = \""}) {
    EXPECT_EQ(complaint_about(suite_with("", where + longest + "\"")), "");
    EXPECT_THAT(complaint_about(suite_with("", where + longer + "\"")),
                HasSubstr("a name has at most 200 bytes, and this one 201"));
  }
  EXPECT_EQ(complaint_about(suite_with("name = \"" + longest + "\"")), "");
  EXPECT_THAT(complaint_about(suite_with("name = \"" + longer + "\"")), HasSubstr("at most 200 bytes"));
}

// Each costs a search for the nearest known one, so they are not all looked for.
TEST(SuiteMessages, EndWhereNobodyReadsAnyMore) {
  std::string unknown;
  for (int i = 0; i < 20'000; ++i) unknown += "key" + std::to_string(i) + " = 1\n";
  for (const std::string& text : {suite_with("", unknown), suite_with("", "[[measure]]\n" + unknown),
                                  suite_with("", "[profile.p]\n" + unknown), unknown}) {
    try {
      parse_suite(text, "a.toml", {});
      ADD_FAILURE();
    } catch (const SuiteError& error) {
      EXPECT_LT(error.mistakes().size(), 6000u);
      EXPECT_THAT(error.what(), HasSubstr("and at least "));
    }
  }
}

TEST(SuiteMessages, AreBounded) {
  const std::string key(1'000'000, 'k');
  EXPECT_LT(complaint_about(suite_with(key + " = 1")).size(), 3000u);
  EXPECT_LT(complaint_about(suite_with("run.reference = \"" + key + "\"")).size(), 3000u);
  EXPECT_LT(complaint_about(suite_with("run.warmup_time = \"" + key + "\"")).size(), 3000u);
  EXPECT_LT(complaint_about(suite_with("", "label = \"" + key + "/\"")).size(), 3000u);
  std::string nameless, unknown;
  for (int i = 0; i < 1000; ++i) {
    nameless += "[[protocol]]\nlabel = \"l" + std::to_string(i) + "\"\n";
    unknown += "key" + std::to_string(i) + " = 1\n";
  }
  const std::string alike = complaint_about(suite_with("", nameless));
  EXPECT_LT(alike.size(), 5000u);
  EXPECT_THAT(alike, HasSubstr("a.toml: and 995 more mistakes like these"));
  const std::string many = complaint_about(suite_with("", unknown));
  EXPECT_LT(many.size(), 20'000u);
  EXPECT_THAT(many, HasSubstr("a.toml: and 900 more mistakes like these"));
}

TEST(SuiteMessages, SayWhatIsTooLargeAndTheLeastThatIsNot) {
  const auto said = [](const std::string& line, const char* what) {
    EXPECT_THAT(complaint_about(suite_with(line)), HasSubstr(what)) << line;
  };
  said("compute.pace = \"1000000000min\"", "'pace' is 1000000000min, too large: it must be at most 1000 days");
  said("run.stall_timeout = \"1e400s\"", "'stall_timeout' is 1e400s, too large: it must be at most 1000 days");
  said("run.stall_timeout = \"0.1ns\"",
       "'stall_timeout' is 0.1ns, out of range: it must be at least 1ns and at most 1000 days");
  said("network.bandwidth = \"1e400\"", "'bandwidth' is 1e400, too large: it must be at most 1000000000000000");
  said("network.bandwidth = \"1e308Gbit/s\"", "'bandwidth' is 1e308Gbit/s, too large: it must be at most 1000");
  said("network.bandwidth = 1e400", "it is too large, or too close to 0, for a number");
  said("network.bandwidth = \"fast\"", "'bandwidth' must be a rate such as");
  said("run.stall_timeout = \"1e400 parsecs\"", "'stall_timeout' must be a time such as");
  const auto shape = [](const char* value) {
    return complaint_about(suite_with(
        "", "[[scenario]]\nname = \"s\"\ncompute = [{ kind = \"pareto\", shape = " + std::string(value) + " }]"));
  };
  EXPECT_THAT(shape("1e-300"), HasSubstr("'shape' is 1e-300, out of range: it must be at least 1e-09"));
  EXPECT_THAT(shape("0"), HasSubstr("'shape' is 0, out of range: it must be above 0"));
  try {  // TOML has no such numbers, so they come as texts
    parse_suite(suite_with(""), "a.toml", {.sets = {"optimizer.lr=1e400"}, .profile = "", .seed = {}, .repeats = {}});
    ADD_FAILURE() << "it was read";
  } catch (const SuiteError& error) {
    EXPECT_THAT(error.what(), HasSubstr("'lr' is 1e400, too large: it must be at most 1000000"));
  }
}

double seconds_for_unknown_keys(int keys) {
  std::string text = "schema = 1\n";
  for (int i = 0; i < keys; ++i) text += "unknown" + std::to_string(i) + " = 1\n";
  const std::clock_t start = std::clock();
  EXPECT_NE(complaint_about(text), "");
  return double(std::clock() - start) / CLOCKS_PER_SEC;
}

// Four times as many keys take about four times as long; comparing all with all would take sixteen times as long.
TEST(SuiteMessages, AreFoundInLinearTime) {
  const double few = seconds_for_unknown_keys(25'000);
  EXPECT_LT(seconds_for_unknown_keys(100'000), 8 * few) << "25k keys took " << few << " s";
}

// A synonym for a name that was renamed or removed would be advice that leads nowhere.
TEST(Suggestions, OfSynonymsAreNamesThatThereAre) {
  std::set<std::string> names;
  for (const SuiteKey& key : suite_keys()) {
    names.insert(last_part(key.path));
    if (key.choices == nullptr) continue;
    for (const std::string& choice : key.choices()) names.insert(choice);
  }
  for (const std::string& section : children("")) names.insert(section);
  for (const Synonym& synonym : synonyms()) {
    for (const char* name : synonym.names) EXPECT_TRUE(names.contains(name)) << synonym.word << " means " << name;
  }
}

TEST(Suggestions, AreMadeForTheNamesOfASuite) {
  const auto suggested = [](const std::string& line, const std::string& below, const char* what) {
    EXPECT_THAT(complaint_about(suite_with(line, below)), HasSubstr("did you mean '" + std::string(what) + "'?"));
  };
  suggested("", "[[protocol]]\nname = \"ddp\"", "allreduce");
  suggested("transport.name = \"tcp\"", "", "gloo");
  suggested("topology.name = \"fully-connected\"", "", "complete");
  suggested("", "[[scenario]]\nname = \"s\"\ncompute = [{ kind = \"lognormal\" }]", "log_normal");
  suggested("run.nproc_per_node = 4", "", "world_size");
  suggested("model.batch_size = 4", "", "batch");
  suggested("optimizer.learning_rate = 4", "", "lr");
}

TEST(Suggestions, TellHowToBuildAProtocolOfOnesOwnIn) {
  const auto of = [](const char* name) {
    return complaint_about(suite_with("", "[[protocol]]\nname = \"" + std::string(name) + "\""));
  };
  EXPECT_THAT(of("oldest_xyzzy_first"), HasSubstr("ci/hopbench --protocols DIR"));
  EXPECT_THAT(of("hop2"), HasSubstr("did you mean 'hop'? (`hopbench list protocols` shows all; one of your own"));
  EXPECT_THAT(of("ddp"), Not(HasSubstr("--protocols"))) << "surely not one of one's own";
}

TEST(Suggestions, NameTheTopologiesThatAProtocolAccepts) {
  const std::string below = "[[protocol]]\nname = \"adpsgd\"";
  EXPECT_THAT(complaint_about(suite_with("topology.name = \"double_ring\"", below)),
              HasSubstr("it accepts topology ring, ring_based, complete"));
  EXPECT_THAT(complaint_about(suite_with("", "[[protocol]]\nname = \"hop\"\nbackup = 1\nstaleness = 2")),
              Not(HasSubstr("it accepts topology")))
      << "no topology makes that possible";
  EXPECT_THAT(complaint_about(suite_with("model.batch = 12", "[[protocol]]\nname = \"lb_bsp\"\nmultiple = 8")),
              AllOf(HasSubstr("multiple = 8 does not divide model.batch = 12"), Not(HasSubstr("it accepts topology"))));
}

}  // namespace
}  // namespace hopbench
