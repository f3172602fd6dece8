// The texts of --help.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/cli.h"
#include "tests/folder.h"

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

TEST(Help, ListsTheExitCodesOfTheReadme) {
  const std::string help = plain(hopbench(Folder().path(), {"--help"}).out);
  const std::size_t begin = help.find("Exit codes: 0 ok, 1 "), end = help.find("130/143 interrupted", begin);
  ASSERT_NE(begin, std::string::npos) << help;
  ASSERT_NE(end, std::string::npos) << help;
  EXPECT_THAT(plain(text_of(HB_SOURCE_DIR "/README.md")), HasSubstr(help.substr(begin, end - begin)));
}

}  // namespace
}  // namespace hopbench
