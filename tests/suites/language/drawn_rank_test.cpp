// Scenarios in which the repeat decides which worker is slow.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "suites/language/suite.h"

namespace hopbench {
namespace {

std::string suite_with(const std::string& ranks) {
  const std::string rule = "{ kind = \"constant\", ranks = " + ranks + ", factor = 2.0 }";
  return R"(schema = 1
name = "d"
[run]
world_size = 4
repeats = 20
[model]
name = "quadratic"
[compute]
backend = "reference"
pace = "5ms"
[[protocol]]
name = "allreduce"
[[protocol]]
name = "dpsgd"
[[scenario]]
name = "slow"
compute = [)" +
         rule + ", " + rule + R"(]
[[scenario]]
name = "slow at first"
compute = [)" +
         rule.substr(0, rule.size() - 1) + ", until = \"1s\" }]\n";
}

Suite parse(const std::string& text) { return parse_suite(text, "d.toml", {}); }

TEST(DrawnRank, IsOneInEachRepeatForAllRulesScenariosAndVariants) {
  const Suite suite = parse(suite_with("\"drawn\""));
  std::map<std::uint32_t, std::set<std::vector<int>>> of_repeat;
  for (const TrialSpec& spec : suite.trials) {
    for (const ComputeRule& rule : spec.scenario.compute) of_repeat[spec.repeat].insert(rule.ranks);
  }
  ASSERT_EQ(of_repeat.size(), 20U);
  std::set<std::vector<int>> seen;
  for (const auto& [repeat, ranks] : of_repeat) {
    EXPECT_EQ(ranks.size(), 1U) << "repeat " << repeat;
    seen.insert(ranks.begin(), ranks.end());
  }
  EXPECT_EQ(seen, (std::set<std::vector<int>>{{0}, {1}, {2}, {3}}));
}

TEST(DrawnRank, StaysInTheResolvedSuite) {
  const Suite suite = parse(suite_with("\"drawn\"")), again = parse(suite.resolved);
  for (std::size_t i = 0; i < suite.trials.size(); ++i) EXPECT_EQ(again.trials[i].hash(), suite.trials[i].hash());
}

TEST(DrawnRank, IsTheOnlyWordForRanks) { EXPECT_THROW(parse(suite_with("\"all\"")), SuiteError); }

}  // namespace
}  // namespace hopbench
