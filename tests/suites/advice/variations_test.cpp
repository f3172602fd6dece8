// Changes of a trial: ideal workers, other speeds, links and networks.
#include "suites/advice/variations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "suites/trial/execute.h"
#include "tests/suites/advice/cluster_samples.h"

namespace hopbench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TrialSpec recorded_trial() { return ClusterFolder().read().trials_of("allreduce").front(); }

/// Returns the seconds of a worker's gradient in iteration k.
double seconds_of(const TrialSpec& spec, int rank, Iter k) {
  return to_seconds(spec.costs.gradient) *
         spec.scenario.slowdown({.seed = spec.seed, .repeat = spec.repeat, .rank = rank, .host = rank}, k, Time{});
}

TEST(Variations, LeaveOneWorkerAsRecordedAndMakeAllOthersIdeal) {
  const TrialSpec spec = recorded_trial(), only = only_as_recorded(spec, {3});
  for (Iter k = 0; k < 20; ++k) {
    EXPECT_NEAR(seconds_of(only, 3, k), seconds_of(spec, 3, k), 1e-8) << k;
    for (int rank = 0; rank < 3; ++rank) EXPECT_NEAR(seconds_of(only, rank, k), 0.0106, 1e-8) << "the median of all";
  }
  const TrialSpec ideal = only_as_recorded(spec, {});
  for (int rank = 0; rank < 4; ++rank) EXPECT_NEAR(seconds_of(ideal, rank, 7), 0.0106, 1e-8);
}

TEST(Variations, KeepTheDrawsOfRulesThatFollow) {
  TrialSpec spec = recorded_trial();
  spec.scenario.compute.insert(spec.scenario.compute.begin(),
                               {.what = SlowdownKind::kConstant, .ranks = {0}, .factor = 2});
  spec.scenario.compute.push_back({.what = SlowdownKind::kBernoulli, .factor = 5, .probability = 0.5});
  const TrialSpec only = only_as_recorded(spec, {1});
  for (Iter k = 0; k < 20; ++k) EXPECT_NEAR(seconds_of(only, 1, k), seconds_of(spec, 1, k), 1e-8) << k;
}

TEST(Variations, SetTheSpeedOfAWorker) {
  const TrialSpec spec = recorded_trial(), changed = with_speed(spec, 3, 1.5);
  for (Iter k = 0; k < 10; ++k) {
    EXPECT_NEAR(seconds_of(changed, 3, k), 1.5 * 0.0106, 1e-8);
    EXPECT_NEAR(seconds_of(changed, 0, k), seconds_of(spec, 0, k), 1e-8);
  }
}

TEST(Variations, LeaveAWorkerOut) {
  const TrialSpec changed = without_worker(recorded_trial(), 3);
  EXPECT_EQ(changed.workers(), 3);
  EXPECT_THAT(changed.workload.without, ElementsAre(3));
  const double fast = simulate_trial(changed).iters_per_s, slow = simulate_trial(recorded_trial()).iters_per_s;
  EXPECT_GT(fast / slow, 1.7) << "the slow one is gone";
}

TEST(Variations, ReadLinksAsTheyAreTyped) {
  const LinkChange pair = parse_link_change("0-12=10Gbit/s"), nic = parse_link_change("3=100MB/s");
  EXPECT_EQ(pair.a, 0);
  EXPECT_EQ(pair.b, 12);
  EXPECT_DOUBLE_EQ(pair.bandwidth, 1.25e9);
  EXPECT_EQ(nic.a, 3);
  EXPECT_EQ(nic.b, -1);
  EXPECT_DOUBLE_EQ(nic.bandwidth, 1e8);
  for (const char* text : {"", "0", "0-1", "0-1=", "0-1=fast", "=1Gbit/s", "-1=1Gbit/s", "0-0=1Gbit/s", "0-1-2=1Gbit/s",
                           "a-1=1Gbit/s", "0-1=10", "0-1=0Gbit/s", "0 -1=1Gbit/s"})
    EXPECT_THROW(parse_link_change(text), Error) << text;
}

TEST(Variations, ReplaceALink) {
  TrialSpec spec = recorded_trial();
  spec.network.links = {{.a = 1, .b = 0, .bandwidth = 1e6}, {.a = 1, .bandwidth = 2e6}};
  const TrialSpec changed = with_link(spec, parse_link_change("0-1=10Gbit/s"));
  ASSERT_EQ(changed.network.links.size(), 2u);
  EXPECT_EQ(changed.network.links[0].b, -1) << "the NIC stays";
  EXPECT_DOUBLE_EQ(changed.network.links[1].bandwidth, 1.25e9);
}

TEST(Variations, ChangeTheNetworkOneThingAtATime) {
  const TrialSpec spec = recorded_trial();
  std::vector<std::string> names;
  for (const Variation& variation : variations_of(spec)) {
    TrialSpec changed = spec;
    variation.apply(changed);
    EXPECT_NE(changed.hash(), spec.hash()) << variation.name;
    names.push_back(variation.name);
  }
  EXPECT_THAT(names, ElementsAre("network at half the rate", "latency doubled", "vector operations at half the rate",
                                 "servers beside worker 0"));
  TrialSpec instant = spec;
  instant.instant_network = true;
  EXPECT_TRUE(variations_of(instant).empty());
}

}  // namespace
}  // namespace hopbench
