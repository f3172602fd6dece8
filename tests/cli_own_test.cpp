// Suites and protocols of one's own, as a user meets them on the command line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli.h"

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

}  // namespace
}  // namespace hopbench
