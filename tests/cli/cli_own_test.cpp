// Tests suites and protocols of the user's own on the command line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "backends/base/text.h"
#include "tests/cli/cli.h"
#include "tests/paths.h"

namespace hopbench {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Terminals, GetNoControlCharactersFromArguments) {
  const Folder folder;
  const std::string escape = "\x1b]0;owned\x07", direction = "\xE2\x80\xAE", c1 = "\xC2\x9B";
  folder.write(escape + ".toml", small_suite());
  for (const Args& words :
       {Args{"list", escape}, Args{escape}, Args{"run", escape + "2.toml"}, Args{"validate", escape + ".toml"},
        Args{"validate", "no" + direction}, Args{"run", escape + ".toml", "-f", "(" + c1}, Args{"cite", c1},
        Args{"run", escape + ".toml", "--set", escape + "=1"}, Args{"--" + c1}}) {
    const Ended ended = hopbench(folder.path(), words);
    for (const std::string& text : {ended.out, ended.err}) {
      for (const char* raw : {"\x1b", "\x07", "\xC2\x9B", "\xE2\x80\xAE"}) EXPECT_THAT(text, Not(HasSubstr(raw)));
    }
    EXPECT_THAT(ended.out + ended.err, HasSubstr("\\u")) << "shown, but escaped";
  }
}

TEST(Validate, EndsEveryMessageWithALine) {
  const Folder folder;
  folder.write("nul.toml", "schema = 1\n\"\\u0000a\" = 1\nfoo = 2\n");
  const Ended ended = hopbench(folder.path(), {"validate", "nul.toml"});
  EXPECT_EQ(ended.code, 2);
  EXPECT_THAT(ended.err, HasSubstr("nul.toml:2:1: unknown key '\\u0000a'"));
  EXPECT_THAT(ended.err, HasSubstr("nul.toml:3:1: unknown key 'foo'"));
  EXPECT_TRUE(ended.err.ends_with("\n"));
}

TEST(VectorRateNote, IsPrintedOnceWhereTheDefaultCostsTheReferenceMuch) {
  const Folder folder;
  const std::string size = "name = \"timing_only\"\nsize = 10000000\n[network]\nbandwidth = \"100Gbit/s\"";
  const std::string large = with(small_suite(), "name = \"quadratic\"\nsize = 64", size);
  const auto notes = [&](const std::string& name, const std::string& suite) {
    folder.write(name + ".toml", suite);
    const Ended ended = hopbench(folder.path(), {"run", name + ".toml", "-o", name});
    EXPECT_EQ(ended.code, 0) << ended.err;
    const std::string what = "at the default compute.vector_rate of 10 GB/s",
                      summary = text_of(folder / (name + "/summary.md"));
    const std::size_t first = ended.out.find(what);
    EXPECT_EQ(ended.out.find(what, first == std::string::npos ? first : first + 1), std::string::npos) << "twice";
    EXPECT_EQ(summary.find(what) == std::string::npos, first == std::string::npos);
    return first != std::string::npos;
  };
  EXPECT_TRUE(notes("large", large));
  EXPECT_FALSE(notes("small", small_suite()));
  EXPECT_FALSE(notes("cpu", with(large, "[compute]\n", "[compute]\nvector_rate = \"cpu\"\n")));
  EXPECT_FALSE(notes("h100", with(large, "[compute]\n", "[compute]\nvector_rate = \"h100\"\n")));
}

TEST(LongWarmUps, AreAnnouncedBeforeTheRun) {
  const Folder folder;
  folder.write("a.toml", with(small_suite(), "name = \"hop\"\nbackup = 1", "name = \"local_sgd\"\nperiod = 5000"));
  const Ended ended = hopbench(folder.path(), {"run", "a.toml", "-f", "nothing|homogeneous/local", "-o", "out"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  const std::size_t note = ended.err.find("note: long warm-up of local_sgd"), trial = ended.err.find("[1/1]");
  EXPECT_NE(note, std::string::npos) << ended.err;
  EXPECT_LT(note, trial) << ended.err;
}

TEST(OwnProtocols, StartFromExamplesThatTheTestsRun) {
  const Folder folder;
  const auto expect_written = [&](const std::string& example, const std::string& camel, const Args& more) {
    Args words = {"new", "protocol", "my_" + example};
    words.insert(words.end(), more.begin(), more.end());
    const Ended ended = hopbench(folder.path(), words);
    EXPECT_EQ(ended.code, 0) << ended.err;
    for (const char* end : {".cpp", "_test.cpp", ".toml"}) {
      std::string text = text_of(source_dir() + "/tests/example_protocol/" + example + end);
      EXPECT_NE(text, "");
      text = replaced(replaced(std::move(text), example, words[2]), camel, "My" + camel);
      EXPECT_EQ(text_of(folder / (words[2] + "/" + words[2] + end)), text);
    }
  };
  expect_written("periodic_average", "PeriodicAverage", {});
  expect_written("pull_gossip", "PullGossip", {"--async"});
}

TEST(OwnProtocols, AreToldWhatAnInstalledProgramLacks) {
  const Folder folder;
  const Ended installed = hopbench(folder.path(), {"new", "protocol", "mine"}, {"HOPBENCH_ROOT="});
  EXPECT_EQ(installed.code, 0) << installed.err;
  EXPECT_THAT(installed.out, HasSubstr("you need hopbench's source, which is not here"));
  EXPECT_THAT(installed.out,
              HasSubstr("ci/hopbench --protocols " + folder.path() + "/mine run " + folder.path() + "/mine/mine.toml"));
  const std::string root = "HOPBENCH_ROOT=" + source_dir();
  EXPECT_THAT(hopbench(folder.path(), {"new", "protocol", "other"}, {root}).out, Not(HasSubstr("source")));
}

TEST(OwnProtocols, MayLookAtEventsThatAreAllDocumented) {
  const std::string header = text_of(source_dir() + "/backends/base/record/event.h");
  const std::string page = text_of(source_dir() + "/docs/adding_a_protocol.md");
  const std::size_t begin = header.find("enum class EventKind"), end = header.find("};", begin);
  std::istringstream lines(header.substr(begin, end - begin));
  int kinds = 0;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("  k")) continue;
    EXPECT_THAT(page, HasSubstr("| `" + line.substr(2, line.find(',') - 2) + "` |"));
    ++kinds;
  }
  EXPECT_EQ(kinds, 16);
}

TEST(OwnProtocols, AreMentionedWhereTheyAreMissing) {
  const Folder folder;
  folder.write("a.toml", with(small_suite(), "name = \"hop\"\nbackup = 1", "name = \"oldest_xyzzy_first\""));
  for (const Args& words : {Args{"cite", "oldest_xyzzy_first"}, Args{"validate", "a.toml"}, Args{"run", "a.toml"}}) {
    const Ended ended = hopbench(folder.path(), words);
    EXPECT_EQ(ended.code, 2);
    EXPECT_THAT(ended.err, HasSubstr("oldest_xyzzy_first"));
    EXPECT_THAT(ended.err, HasSubstr("ci/hopbench --protocols DIR"));
  }
}

}  // namespace
}  // namespace hopbench
