// The texts of --help, and where flags come from.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/cli/cli.h"
#include "tests/folder.h"
#include "tests/paths.h"

namespace hopbench {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// Words with one space between them and no backquotes.
std::string plain(const std::string& text) {
  std::string words;
  for (const char c : text) {
    const bool space = c == ' ' || c == '\n';
    if (c != '`' && !(space && (words.empty() || words.back() == ' '))) words += space ? ' ' : c;
  }
  return words;
}

TEST(Help, ExamplesStandWithTheCommandTheyAreOf) {
  const Folder folder;
  const std::string general = "hopbench run suites/cnn_hetero.toml --profile quick";
  const auto help = [&](Args words) {
    words.emplace_back("--help");
    return hopbench(folder.path(), words).out;
  };
  EXPECT_THAT(help({}), HasSubstr(general));
  for (const char* command : {"list", "new", "validate", "cite", "completion", "trace"})
    EXPECT_THAT(help({command}), AllOf(HasSubstr("Usage: hopbench"), Not(HasSubstr(general)))) << command;
  EXPECT_THAT(help({"baseline", "save"}), Not(HasSubstr(general)));
  EXPECT_THAT(help({"why"}), HasSubstr("hopbench why "));
}

TEST(Help, IsOfKindsThatThereAre) {
  const Folder folder;
  EXPECT_EQ(hopbench(folder.path(), {"list", "protocols", "--help"}).code, 0);
  const Ended ended = hopbench(folder.path(), {"list", "frob", "--help"});
  EXPECT_EQ(ended.code, 2);
  EXPECT_EQ(ended.out, "");
  EXPECT_THAT(ended.err, HasSubstr("nothing to list under 'frob': known are protocols"));
}

TEST(Help, LongWordsAreCutInMessages) {
  const Folder folder;
  folder.write("a.toml", small_suite());
  const std::string word(600, 'x');
  for (const Args& words :
       {Args{"validate", "a.toml", "--set", word}, Args{"validate", "a.toml", "--set", word + "=1"},
        Args{"validate", "a.toml", "--set", "run." + word + "=1"}, Args{"run", word}, Args{"validate", word + ".toml"},
        Args{"run", "a.toml", "--profile", word}, Args{"list", word}, Args{"list", "--" + word}, Args{word}}) {
    const Ended ended = hopbench(folder.path(), words);
    EXPECT_EQ(ended.code, 2) << ended.err;
    EXPECT_LT(ended.err.size(), 500u) << ended.err;
    EXPECT_THAT(ended.err, HasSubstr("bytes left out"));
  }
}

TEST(Help, ListsTheExitCodesOfTheReadme) {
  const std::string help = plain(hopbench(Folder().path(), {"--help"}).out);
  const std::size_t begin = help.find("0 ok; 1 a regression"), end = help.find("(the run prints", begin);
  ASSERT_NE(begin, std::string::npos) << help;
  ASSERT_NE(end, std::string::npos) << help;
  EXPECT_THAT(plain(text_of(source_dir() + "/README.md")), HasSubstr(help.substr(begin, end - begin)));
}

// reproduce has a flag of this name too, which knows other profiles.
TEST(Flags, AreTakenFromTheEnvironmentByTheCommandThatIsCalled) {
  const Folder folder;
  folder.write("a.toml", small_suite() + "[profile.quick]\nrun.iterations = 6\n");
  const Ended quick = hopbench(folder.path(), {"run", "a.toml", "--dry-run"}, {"HOPBENCH_PROFILE=quick"});
  EXPECT_EQ(quick.code, 0) << quick.err;
  EXPECT_EQ(hopbench(folder.path(), {"reproduce", "--list"}, {"HOPBENCH_PROFILE=quick"}).code, 2);
}

// The library does not support such references, but their numbers overflow in it.
TEST(Flags, FiltersDoNotReferToGroups) {
  const Folder folder;
  folder.write("a.toml", small_suite());
  const Ended ended = hopbench(folder.path(), {"run", "a.toml", "--list", "-f", "(a)\\11111111111111111111"});
  EXPECT_EQ(ended.code, 2);
  EXPECT_THAT(ended.err, HasSubstr("refers to a group of its own"));
  EXPECT_EQ(hopbench(folder.path(), {"run", "a.toml", "--list", "-f", "\\w/hop"}).code, 0);
}

}  // namespace
}  // namespace hopbench
