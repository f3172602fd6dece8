// Tests what commands print about a protocol of the user's own. This program has the examples built in
// (example_protocol/registered.cpp).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "cli/commands.h"
#include "suites/campaign/labels.h"
#include "suites/language/suite.h"

namespace hopbench {
namespace {

using testing::HasSubstr;
using testing::Not;

template <class Command>
std::string printed_by(const Command& command) {
  testing::internal::CaptureStdout();
  EXPECT_EQ(command(), 0);
  return testing::internal::GetCapturedStdout();
}

TEST(OwnProtocol, IsListedAsProposedHere) {
  const std::string short_list = printed_by([] { return command_list({.what = "protocols"}); });
  EXPECT_THAT(short_list, HasSubstr("local steps, and the average with one random neighbour's model [own]"));
  const std::string list = printed_by([] { return command_list({.what = "protocols", .verbose = true}); });
  EXPECT_THAT(list, HasSubstr("rests on: own, proposed here, reading pull_gossip"));
  EXPECT_THAT(list, HasSubstr("rests on: not checked, reading hop/H1-H17"));
}

TEST(OwnProtocol, IsNoPaperToCite) {
  const std::string cited = printed_by([] { return command_cite({.what = {"pull_gossip", "hop"}}); });
  EXPECT_THAT(cited, HasSubstr("% pull_gossip: proposed here, so there is no paper to cite"));
  EXPECT_THAT(cited, HasSubstr("note = {protocol hop}"));
  EXPECT_THAT(cited, Not(HasSubstr("none: an example")));
}

TEST(OwnProtocol, HasALabelOfItsOwnInTables) {
  const std::string suite =
      "schema = 1\nrun.world_size = 4\nmodel.name = \"quadratic\"\n[[protocol]]\nname = \"pull_gossip\"\n";
  EXPECT_EQ(labels_of(parse_suite(suite, "t.toml", {}).trials.front()).source, "own");
}

}  // namespace
}  // namespace hopbench
