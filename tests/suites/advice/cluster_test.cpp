// Cluster files: which protocols and trials they stand for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/suites/advice/cluster_samples.h"

namespace hopbench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// The last one is possible with more workers than the cluster's four.
constexpr const char* kCandidates =
    "[[protocol]]\nname = \"allreduce\"\n[[protocol]]\nname = \"adpsgd\"\n[[protocol]]\nname = "
    "\"ps_backup\"\nlabel = \"all but five\"\nbackup = 5\n";
constexpr const char* kAllPossible = "[[protocol]]\nname = \"allreduce\"\n[[protocol]]\nname = \"adpsgd\"\n";

std::set<std::string> labels_of_trials(const ClusterFile& cluster) {
  std::set<std::string> labels;
  for (const TrialSpec& spec : cluster.suite.trials) labels.insert(spec.label);
  return labels;
}

TEST(Cluster, HasThePresentProtocolAndThoseCandidatesThatArePossible) {
  const ClusterFile cluster =
      ClusterFolder().read({.suite = {}, .scenario = {}, .present = {}, .candidates = kCandidates});
  EXPECT_EQ(cluster.present, "allreduce");
  EXPECT_EQ(labels_of_trials(cluster), (std::set<std::string>{"allreduce", "adpsgd"}));
  ASSERT_EQ(cluster.left_out.size(), 1u);
  EXPECT_EQ(cluster.left_out[0].label, "all but five");
  EXPECT_THAT(cluster.left_out[0].why, HasSubstr("backup = 5 leaves none of 4 gradients"));
  EXPECT_TRUE(cluster.knows_network);
}

TEST(Cluster, RunsInVirtualTimeForTheRateAlone) {
  const ClusterFolder folder(small_cluster() + "[transport]\nname = \"gloo\"\n");
  const ClusterFile cluster = folder.read({.suite = {}, .scenario = {}, .present = {}, .candidates = kCandidates});
  EXPECT_EQ(cluster.suite.trials.size(), 2u * 3);
  std::uint32_t last = 0;
  for (const TrialSpec& spec : cluster.suite.trials) {
    EXPECT_EQ(spec.transport, "sim");
    EXPECT_FALSE(spec.workload.numbers);
    EXPECT_GE(spec.repeat, last);
    last = spec.repeat;
  }
}

TEST(Cluster, TakesItsFirstProtocolAsThePresentOne) {
  const ClusterFolder folder(small_cluster() + "[[protocol]]\nname = \"ps_bsp\"\nlabel = \"ours\"\nservers = 1\n");
  const ClusterFile cluster = folder.read({.suite = {}, .scenario = {}, .present = {}, .candidates = kCandidates});
  EXPECT_EQ(cluster.present, "ours");
  EXPECT_EQ(labels_of_trials(cluster), (std::set<std::string>{"ours", "allreduce", "adpsgd"}));
  EXPECT_EQ(folder.read({.suite = {}, .scenario = {}, .present = "adpsgd", .candidates = kCandidates}).present,
            "adpsgd");
  EXPECT_THAT(folder.why({.suite = {}, .scenario = {}, .present = "adpsdg", .candidates = kCandidates}),
              HasSubstr("unknown candidate 'adpsdg' in --present: did you mean 'adpsgd'?"));
}

TEST(Cluster, FindsThePresentProtocolByLabelOrName) {
  const std::string two =
      "[[protocol]]\nname = \"ps_ssp\"\nlabel = \"s=3\"\n[[protocol]]\nname = \"ps_ssp\"\nlabel = "
      "\"s=10\"\nstaleness = 10\n[[protocol]]\nname = \"ps_bsp\"\nlabel = \"bsp\"\nservers = 1\n";
  const ClusterFolder folder;
  const auto with = [](const char* present, const std::string& candidates) {
    return ClusterOptions{.suite = {}, .scenario = {}, .present = present, .candidates = candidates};
  };
  EXPECT_EQ(folder.read(with("ps_bsp", two)).present, "bsp");
  EXPECT_EQ(folder.read(with("s=10", two)).present, "s=10");
  EXPECT_THAT(folder.why(with("ps_ssp", two)), HasSubstr("several variants are of it: name one, 's=3' or 's=10'"));
  const std::string other = "[[protocol]]\nname = \"dpsgd\"\nlabel = \"allreduce\"\n";
  EXPECT_THAT(folder.why(with("", other)), HasSubstr("candidate 'allreduce' is dpsgd"));
}

TEST(Cluster, IsRepeatedTwentyTimesUnlessItSaysOtherwise) {
  std::string text = small_cluster();
  text.erase(text.find("repeats = 3\n"), 12);
  EXPECT_EQ(ClusterFolder(text).read().trials_of("allreduce").size(), std::size_t(kClusterRepeats));
  EXPECT_EQ(ClusterFolder().read().trials_of("allreduce").size(), 3u);
  ClusterOptions twice;
  twice.suite.repeats = 2;
  EXPECT_EQ(ClusterFolder(text).read(twice).trials_of("allreduce").size(), 2u);
}

TEST(Cluster, RefusesMeasuresAndSeveralScenarios) {
  EXPECT_THAT(ClusterFolder(small_cluster() + "[[measure]]\nwhat = \"rate\"\n").why(),
              HasSubstr("'measure' has no place in a cluster file"));
  EXPECT_THAT(ClusterFolder(small_cluster() + "[matrix]\n\"run.world_size\" = [4, 8]\n").why(),
              HasSubstr("'matrix' has no place in a cluster file"));
  const ClusterFolder two(small_cluster() + "[[scenario]]\nname = \"quiet\"\n[compute]\n");
  EXPECT_THAT(
      ClusterFolder(small_cluster() +
                    "[[scenario]]\nname = \"also recorded\"\ncompute = [{ kind = \"trace\", file = \"steps.csv\" }]\n")
          .why(),
      HasSubstr("has 2 scenarios: choose one by --scenario: also recorded, recorded"));
  EXPECT_THAT(ClusterFolder().why({.suite = {}, .scenario = "quiet", .present = {}, .candidates = {}}),
              HasSubstr("no scenario 'quiet': it has recorded"));
  EXPECT_THAT(ClusterFolder("schema = 1\n").why(), HasSubstr("cluster.toml:"));
}

TEST(Cluster, RefusesCandidatesThatAreWrongEverywhere) {
  const auto why = [](const std::string& candidates) {
    return ClusterFolder().why(
        {.suite = {}, .scenario = {}, .present = {}, .candidates = candidates, .candidates_name = "mine.toml"});
  };
  EXPECT_THAT(why("[[protocol]]\nname = \"nosuch\"\n"), HasSubstr("mine.toml: 'nosuch': unknown protocol 'nosuch'"));
  EXPECT_THAT(why("[[protocol]]\nname = \"hop\"\nbakup = 1\n"), HasSubstr("mine.toml: 'hop': "));
  EXPECT_THAT(why("# none\n"), HasSubstr("mine.toml: there is no [[protocol]] in it"));
  EXPECT_THAT(why("[[protocol]]\nname = \"hop\"\n[[protocol]]\nname = \"hop\"\n"),
              HasSubstr("mine.toml: 'hop' is there twice"));
  EXPECT_THAT(why("[[protocol]\n"), HasSubstr("mine.toml:1:"));
}

/// The small cluster with other workers, which are all alike, and a topology.
std::string with_workers(int workers, const std::string& topology) {
  std::string text = small_cluster();
  text.erase(text.find("[[scenario]]"));
  text.replace(text.find("world_size = 4"), 14, "world_size = " + std::to_string(workers));
  text.replace(text.find("noise = 0"), 9, "noise = 0\npace = \"10ms\"");
  return text + "[topology]\nname = \"" + topology + "\"\n";
}

TEST(Cluster, KnowsItsWorkersWhereCandidatesNameThem) {
  const auto read = [](int workers, const std::string& topology) {
    return ClusterFolder(with_workers(workers, topology))
        .read({.suite = {},
               .scenario = {},
               .present = {},
               .candidates = "[[protocol]]\nname = \"allreduce\"\nlabel = \"few\"\nwithout = [3, 6, 9, 11]\n"
                             "[[protocol]]\nname = \"ds_sync\"\ngroup_size = 3\n[[protocol]]\nname = \"dpsgd\"\n"});
  };
  EXPECT_EQ(labels_of_trials(read(12, "ring_based")), (std::set<std::string>{"allreduce", "few", "ds_sync", "dpsgd"}));
  const ClusterFile small = read(5, "ring");
  EXPECT_EQ(labels_of_trials(small), (std::set<std::string>{"allreduce", "dpsgd"}));
  ASSERT_EQ(small.left_out.size(), 2u);
  EXPECT_THAT(small.left_out[0].why, HasSubstr("is without rank 6, but the workers are 0 to 4"));
}

// All-reduce does not talk along the topology, so a graph that does not exist is no mistake of its own.
TEST(Cluster, AsksForATopologyOnlyWhereOneIsUsed) {
  const ClusterFolder folder(with_workers(3, "ring_based"));
  const ClusterFile cluster = folder.read({.suite = {}, .scenario = {}, .present = {}, .candidates = kAllPossible});
  EXPECT_EQ(labels_of_trials(cluster), (std::set<std::string>{"allreduce"}));
  ASSERT_EQ(cluster.left_out.size(), 1u);
  EXPECT_EQ(cluster.left_out[0].label, "adpsgd");
  EXPECT_THAT(cluster.left_out[0].why, HasSubstr("ring_based"));
}

TEST(Cluster, HasAllReduceAsThePresentProtocolWhateverTheCandidatesAre) {
  const ClusterFile cluster = ClusterFolder().read(
      {.suite = {}, .scenario = {}, .present = {}, .candidates = "[[protocol]]\nname = \"adpsgd\"\n"});
  EXPECT_EQ(cluster.present, "allreduce");
  EXPECT_EQ(labels_of_trials(cluster), (std::set<std::string>{"allreduce", "adpsgd"}));
}

TEST(Cluster, CanHaveThePresentProtocolAlone) {
  const ClusterFile cluster = ClusterFolder().read({.suite = {},
                                                    .scenario = {},
                                                    .present = "adpsgd",
                                                    .candidates = kAllPossible,
                                                    .candidates_name = "mine.toml",
                                                    .compares = false});
  EXPECT_EQ(labels_of_trials(cluster), (std::set<std::string>{"adpsgd"}));
}

TEST(Cluster, KnowsHowLongMessagesTakeBesideGradients) {
  const ClusterFile cluster = ClusterFolder().read();
  const JobFacts facts = facts_of(cluster.suite.trials.front());
  EXPECT_DOUBLE_EQ(facts.model_bytes, 1e6);
  EXPECT_NEAR(facts.gradient_s, 1.5 * 0.01045, 1e-6);
  EXPECT_NEAR(facts.message_s, 50e-6 + 1e6 / 125e6, 1e-9);
  EXPECT_DOUBLE_EQ(facts.recorded_steps, 10);
  EXPECT_DOUBLE_EQ(facts.sampling(), 1 + 20.0 / 10);
  TrialSpec thin = cluster.suite.trials.front();
  thin.network.links = {{.a = 1, .b = -1, .bandwidth = 12.5e6}};
  EXPECT_NEAR(facts_of(thin).message_s, 50e-6 + 1e6 / 12.5e6, 1e-9);
}

TEST(Cluster, CountsIterationsAlsoWhereSamplesEndATrial) {
  std::string text = small_cluster();
  text.replace(text.find("iterations = 20"), 15, "samples = 640");
  EXPECT_DOUBLE_EQ(facts_of(ClusterFolder(text).read().suite.trials.front()).measured_steps, 640.0 / (4 * 8));
}

TEST(Cluster, ThatReplaysItsTraceAsItIsHasNoChanceInIt) {
  std::string text = small_cluster();
  text.replace(text.find("block_bootstrap"), 15, "fixed");
  EXPECT_DOUBLE_EQ(facts_of(ClusterFolder(text).read().suite.trials.front()).sampling(), 1);
}

}  // namespace
}  // namespace hopbench
