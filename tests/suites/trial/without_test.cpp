// Variants that train without some of the suite's workers: the others keep their data, draws and hosts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "suites/language/suite.h"
#include "suites/trial/execute.h"
#include "suites/trial/plan.h"

namespace hopbench {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Edges = std::vector<int>;

constexpr const char* kTop = R"(schema = 1
name = "w"
[run]
world_size = 8
iterations = 30
repeats = 1
order = "sequential"
warmup_time = "0s"
[model]
name = "quadratic"
batch = 8
[compute]
noise = 0
backend = "reference"
pace = "5ms"
[transport]
name = "sim"
[network]
instant = true
)";

constexpr const char* kRandom = R"([[scenario]]
name = "random"
compute = [{ kind = "bernoulli", probability = 0.3, factor = 6.0 }, { kind = "constant", ranks = [3, 5], factor = 3.0 }]
)";

std::string variant(const std::string& name, const std::string& lines = "") {
  return "[[protocol]]\nname = \"" + name + "\"\nlabel = \"" + name + lines.substr(0, lines.find(' ')) + "\"\n" +
         lines + "\n";
}

Suite parse(const std::string& below) { return parse_suite(kTop + below, "w.toml", {}); }

std::string complaint(const std::string& below) {
  try {
    parse(below);
  } catch (const SuiteError& error) {
    return error.what();
  }
  return "";
}

TEST(Without, TheOthersAreSlowedAsTheyAre) {
  const Suite suite = parse(variant("ps_asp") + variant("ps_asp", "without = [3, 6]") + kRandom);
  const TrialRecord all = simulate_trial(suite.trials.at(0)), some = simulate_trial(suite.trials.at(1));
  const int numbers[] = {0, 1, 2, 4, 5, 7};
  EXPECT_EQ(suite.trials[1].workers(), 6);
  for (int r = 0; r < 6; ++r) {  // an instant network: every worker's times are its own
    const RankRecord &one = some.ranks.at(std::size_t(r)), &same = all.ranks.at(std::size_t(numbers[r]));
    ASSERT_EQ(suite.trials[1].workload.number_of(r), numbers[r]);
    EXPECT_EQ(one.host, same.host);
    ASSERT_GE(one.marks.size(), 30U);
    for (std::size_t k = 0; k < 30; ++k) ASSERT_EQ(one.marks[k].end, same.marks[k].end) << "rank " << r;
  }
  // Worker 3, which is slow throughout, is left out; worker 4 is not slow, and has its rank.
  const Suite slow =
      parse(variant("dpsgd", "without = [3]") +
            "[[scenario]]\nname = \"x\"\ncompute = [{ kind = \"constant\", ranks = [3], factor = 4.0 }]\n");
  const TrialRecord record = simulate_trial(slow.trials.at(0));
  EXPECT_NEAR(record.slowest_rank_samples_per_s, 7 * 8 / 0.005, 1e-6 * record.slowest_rank_samples_per_s);
}

// A rank is called by its number in the suite: `hopbench why` compares variants that number it differently.
TEST(Without, ASlowWorkerKeepsItsNameInWhatTookTheTime) {
  const Suite suite =
      parse(variant("dpsgd", "without = [1]") +
            "[[scenario]]\nname = \"x\"\ncompute = [{ kind = \"constant\", ranks = [3], factor = 4.0 }]\n");
  const TrialRecord record = simulate_trial(suite.trials.at(0));
  EXPECT_EQ(record.path.count("slowdown, rank 3"), 1U);
  EXPECT_EQ(record.path.count("slowdown, rank 2"), 0U);
  EXPECT_EQ(record.ranks.at(0).worker, 0);
  EXPECT_EQ(record.ranks.at(2).worker, 3);
  EXPECT_EQ(record.ranks.at(6).worker, 7);
}

TEST(Without, TheOthersKeepTheirData) {
  WorkloadSpec spec{.model = "softmax", .dataset = "synthetic", .batch = 8, .backend = "reference", .workers = 4};
  spec.split.what = SplitKind::kShards;
  spec.augment = Augment::kNone;
  const auto whole = make_workload(spec);
  spec.workers = 2;
  spec.without = {0, 2};
  const auto rest = make_workload(spec);
  Vec g(whole->size()), h(whole->size());
  const Payload x = whole->initial().share();
  for (int w = 0; w < 2; ++w) {
    EXPECT_EQ(rest->part_size(w), whole->part_size(2 * w + 1));
    EXPECT_EQ(rest->gradient(x, w, 16, 8, g, {}), whole->gradient(x, 2 * w + 1, 16, 8, h, {}));
    for (std::size_t i = 0; i < g.size(); ++i) ASSERT_EQ(g.data()[i], h.data()[i]);
  }
}

TEST(Without, TheGraphIsThatOfTheRest) {
  const Topology rest = make_topology("ring_based", 6).without({3});  // 0-1-2-3-4-5-0, 0-3, 1-4, 2-5
  EXPECT_EQ(rest.size(), 5);
  EXPECT_THAT(rest.out(0), ElementsAre(1, 4));
  EXPECT_THAT(rest.out(1), ElementsAre(0, 2, 3));
  EXPECT_THAT(rest.out(2), ElementsAre(1, 4));
  EXPECT_THAT(rest.in(3), ElementsAre(1, 4));
  const Suite suite = parse(variant("dpsgd", "without = [3]"));
  EXPECT_EQ(graph_of(suite.trials.at(0)).out(2), Edges({1, 5})) << "of 2-1 and 2-6, which is 5 now";
}

TEST(Without, SurvivesTheResolvedSuiteAndTheWayToARank) {
  const Suite suite = parse(variant("dpsgd", "without = [6, 3]"));
  const TrialSpec& spec = suite.trials.at(0);
  EXPECT_THAT(spec.workload.without, ElementsAre(3, 6));
  EXPECT_EQ(parse_suite(suite.resolved, "resolved.toml", {}).trials.at(0).hash(), spec.hash());
  EXPECT_EQ(trial_from_json(to_json(spec)).hash(), spec.hash());
  EXPECT_EQ(spec.of_everybody().workers(), 8);
}

TEST(Without, IsCheckedWithTheWorkersThatThereAre) {
  EXPECT_THAT(complaint(variant("dpsgd", "without = [8]")), HasSubstr("without rank 8, but the workers are 0 to 7"));
  EXPECT_THAT(complaint(variant("dpsgd", "without = [2, 2]")), HasSubstr("without rank 2 twice"));
  EXPECT_THAT(complaint(variant("ps_bsp", "without = [0, 1, 2, 3, 4, 5, 6, 7]")), HasSubstr("without all 8 workers"));
  EXPECT_THAT(complaint(variant("dpsgd", "without = 3")), HasSubstr("'without'"));
  EXPECT_THAT(complaint("[topology]\nname = \"star\"\n" + variant("dpsgd", "without = [0]")),
              AllOf(HasSubstr("not connected"), HasSubstr("without rank 0 (ranks 0 to 6 are the others")));
  EXPECT_THAT(complaint(variant("hop", "without = [1, 7]\nbackup = 3")),
              HasSubstr("is impossible without ranks 1, 7 (ranks 0 to 5 are the others, numbered anew)"));
  EXPECT_THAT(complaint(variant("dpsgd", "without = [3]") +
                        "[[scenario]]\nname = \"x\"\nfaults = [{ kind = \"leave\", ranks = [5], iteration = 3 }]\n"),
              HasSubstr("scenario 'x' has faults"));
}

}  // namespace
}  // namespace hopbench
