// `hopbench report` from outside.
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
  EXPECT_EQ(code({"report", "run", "--filter", "nothing"}), 2);
  EXPECT_EQ(code({"report", "nowhere"}), 2);
  EXPECT_EQ(code({"report", "run", "-o", "no/such/folder.html"}), 6);
}

}  // namespace
}  // namespace hopbench
