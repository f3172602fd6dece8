// How much each worker slows a recorded job, against the what-if analysis that was published with the recording:
// ByteDance-Seed/StragglerAnalysis, result-AR.json, result-SE.json and result-ST.json, blocking_decompose_by_dp_rank
// (Apache License 2.0, see suites/traces). It slows single operations and knows pipeline stages. Here a replica is one
// worker, so of SE and ST only the order and the verdict can be the same.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "suites/advice/variations.h"
#include "suites/trial/execute.h"
#include "tests/suites/advice/cluster_samples.h"

namespace hopbench {
namespace {

const std::vector<double>& published_of_se() {
  static const std::vector<double> kPublished = {1.1533, 1.1767, 1.1510, 1.1785, 1.1863, 1.1557, 1.1489, 1.1780,
                                                 1.2045, 1.1877, 1.1858, 1.1563, 1.1566, 1.1650, 1.1763, 1.1645,
                                                 1.1741, 1.1682, 1.1539, 1.1701, 1.1796, 1.1735, 1.1513, 1.1821,
                                                 1.1180, 1.1838, 1.1542, 1.1901, 1.1715, 1.1564, 1.1502, 1.1660};
  return kPublished;
}

/// Returns the slowdown of each worker, and of all together behind them. Rates are over each recorded step once.
std::vector<double> slowdowns_of(const std::string& job, int workers) {
  const std::string trace = source_dir() + "/suites/traces/" + job + ".csv";
  const std::string text =
      "schema = 1\nname = \"job\"\n[run]\nworld_size = " + std::to_string(workers) +
      "\niterations = " + std::to_string(Trace::read(trace)->steps()) +
      "\nrepeats = 1\nwarmup_time = \"0s\"\n[model]\nname = \"timing_only\"\nsize = 1000\n"
      "[compute]\nnoise = 0\n[network]\ninstant = true\n[[scenario]]\nname = \"recorded\"\ncompute = [{ kind = "
      "\"trace\", file = \"" +
      trace + "\" }]\n";
  const TrialSpec spec = ClusterFolder(text).read().suite.trials.front();
  const double ideal = simulate_trial(only_as_recorded(spec, {})).samples_per_s;
  std::vector<double> slowdowns;
  for (int rank = 0; rank < workers; ++rank)
    slowdowns.push_back(ideal / simulate_trial(only_as_recorded(spec, {rank})).samples_per_s);
  slowdowns.push_back(ideal / simulate_trial(spec).samples_per_s);
  return slowdowns;
}

std::vector<double> ranks_of(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (std::size_t i = 0; i < order.size(); ++i) ranks[order[i]] = double(i);
  return ranks;
}

double rank_correlation(const std::vector<double>& a, const std::vector<double>& b) {
  const std::vector<double> x = ranks_of(a), y = ranks_of(b);
  double squares = 0;
  for (std::size_t i = 0; i < x.size(); ++i) squares += (x[i] - y[i]) * (x[i] - y[i]);
  const double n = double(x.size());
  return 1 - 6 * squares / (n * (n * n - 1));
}

TEST(Slowdowns, NameTheWorkerThatWasSlowedOnPurpose) {
  const std::vector<double> found = slowdowns_of("ar", 4);
  EXPECT_NEAR(found[0], 1.973, 0.05 * 1.973);
  for (int rank = 1; rank < 4; ++rank) EXPECT_NEAR(found[std::size_t(rank)], 1.011, 0.05 * 1.011) << rank;
}

TEST(Slowdowns, OrderWorkersAsThePublishedAnalysisDoes) {
  std::vector<double> found = slowdowns_of("se", 32);
  found.pop_back();
  EXPECT_GE(rank_correlation(found, published_of_se()), 0.9);
}

TEST(Slowdowns, AreNothingWherePipelineStagesAreToBlame) {
  const std::vector<double> found = slowdowns_of("st", 2);
  EXPECT_LT(found.back(), 1.02) << "the published 1.18 is of unequal stages";
}

}  // namespace
}  // namespace hopbench
