// MATCHA's plans against the best there are (matcha_optima.csv, by matcha_optima.py).
#include "protocols/gossip/matcha_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <numeric>
#include <sstream>

#include "protocols/node/eigenvalues.h"
#include "tests/cluster_models.h"
#include "tests/paths.h"

namespace hopbench::gossip {
namespace {

using Values = std::vector<double>;
using Rows = std::vector<Values>;

Rows mean_laplacian(const MatchaPlan& plan, const Values& weights, int n) {
  Rows sum(std::size_t(n), Values(std::size_t(n), 0.0));
  for (std::size_t j = 0; j < weights.size(); ++j) {
    for (const auto& [a, b] : plan.matchings[j]) {
      sum[std::size_t(a)][std::size_t(a)] += weights[j], sum[std::size_t(b)][std::size_t(b)] += weights[j];
      sum[std::size_t(a)][std::size_t(b)] -= weights[j], sum[std::size_t(b)][std::size_t(a)] -= weights[j];
    }
  }
  return sum;
}

double connectivity(const MatchaPlan& plan, int n) { return eigenvalues(mean_laplacian(plan, plan.chances, n))[1]; }

/// The largest eigenvalue of E[W^2] off the vector of ones, for independent draws of matchings.
double contraction(const MatchaPlan& plan, int n, double alpha) {
  Values variances;
  for (const double p : plan.chances) variances.push_back(2 * p * (1 - p));
  const Rows mean = mean_laplacian(plan, plan.chances, n), varied = mean_laplacian(plan, variances, n);
  Rows squared = mean;
  for (std::size_t i = 0; i < mean.size(); ++i) {
    for (std::size_t j = 0; j < mean.size(); ++j) {
      const double twice = std::inner_product(mean[i].begin(), mean[i].end(), mean[j].begin(), varied[i][j]);
      squared[i][j] = double(i == j) - 1.0 / n - 2 * alpha * mean[i][j] + alpha * alpha * twice;
    }
  }
  return eigenvalues(squared).back();
}

double least_contraction(const MatchaPlan& plan, int n) {
  double low = 0, high = 1;
  while (high - low > 1e-6) {  // convex in alpha
    const double left = low + (high - low) / 3, right = high - (high - low) / 3;
    if (contraction(plan, n, left) > contraction(plan, n, right)) {
      low = left;
    } else {
      high = right;
    }
  }
  return contraction(plan, n, low);
}

/// The graph that a line of the table lists as matchings, "0-1 2-3|0-3 1-2".
Topology graph_of(const std::string& name, int n, std::string matchings) {
  std::replace_if(
      matchings.begin(), matchings.end(), [](char c) { return c == '|' || c == '-'; }, ' ');
  std::istringstream numbers(matchings);
  std::vector<Edge> edges;
  for (int a = 0, b = 0; numbers >> a >> b;) edges.insert(edges.end(), {{a, b}, {b, a}});
  return Topology(name, n, edges);
}

std::string text_of(const std::vector<std::vector<Edge>>& matchings) {
  std::string text;
  for (const auto& matching : matchings) {
    if (!text.empty()) text += '|';
    for (std::size_t i = 0; i < matching.size(); ++i)
      text += (i == 0 ? "" : " ") + std::to_string(matching[i].first) + "-" + std::to_string(matching[i].second);
  }
  return text;
}

// Also the same numbers with every compiler, which the sum stands for.
TEST(MatchaPlan, IsNearlyTheBestOnAHundredGraphs) {
  std::ifstream table(source_dir() + "/tests/protocols/gossip/matcha_optima.csv");
  std::string line;
  std::getline(table, line);
  int plans = 0;
  std::uint64_t sum = 0;
  while (std::getline(table, line)) {
    std::istringstream cells(line);
    std::string name, workers, matchings, optimum;
    for (std::string* cell : {&name, &workers, &matchings}) std::getline(cells, *cell, ',');
    const int n = std::stoi(workers);
    const Topology graph = name.starts_with("random") ? graph_of(name, n, matchings) : make_topology(name, n);
    for (const double budget : {0.1, 0.3, 0.5, 0.7, 1.0}) {
      SCOPED_TRACE(name + " of " + workers + " at " + std::to_string(budget));
      std::getline(cells, optimum, ',');
      const MatchaPlan plan = make_matcha_plan(graph, budget);
      ASSERT_EQ(text_of(plan.matchings), matchings) << "the table is of other matchings";
      EXPECT_GE(connectivity(plan, n), 0.99 * std::stod(optimum));
      EXPECT_LE(contraction(plan, n, plan.alpha), 1.01 * least_contraction(plan, n) + 1e-9);
      EXPECT_NEAR(std::accumulate(plan.chances.begin(), plan.chances.end(), 0.0), budget * double(plan.chances.size()),
                  1e-7);
      sum = sum * 31 + std::uint64_t(std::llround(plan.alpha * 1e9));
      for (const double chance : plan.chances) sum = sum * 31 + std::uint64_t(std::llround(chance * 1e9));
      ++plans;
    }
  }
  EXPECT_EQ(plans, 5 * 104);
  EXPECT_EQ(sum, 11086500870671228528u);
}

// All links of a complete graph, each with 1 / n, give the mean of all in one iteration.
TEST(MatchaPlan, OfACompleteGraphWithAllLinksHasTheWeightOfAMean) {
  const MatchaPlan plan = make_matcha_plan(make_topology("complete", 6), 1.0);
  EXPECT_EQ(plan.chances, Values(plan.matchings.size(), 1.0));
  EXPECT_NEAR(plan.alpha, 1.0 / 6, 1e-9);
}

// On a ring of four one matching alone has the same sum, and leaves two parts that never exchange.
TEST(MatchaPlan, OfARingTreatsItsTwoMatchingsAlike) {
  for (const int n : {4, 8, 12, 16}) EXPECT_EQ(make_matcha_plan(make_topology("ring", n), 0.5).chances, Values(2, 0.5));
}

// A matrix of 128 x 128 does not fit on the stack of a virtual rank.
TEST(Matcha, PlansForManyWorkers) {
  Cluster cluster{.nodes = 128, .topology = "ring", .iterations = 3};
  cluster.run("matcha");
  EXPECT_EQ(cluster.broken(), "");
}

// With the steps of all but the first iterations of length 0, averages alone bring the models together.
TEST(Matcha, BringsAllModelsTogetherAtSmallBudgets) {
  const std::vector<std::pair<const char*, int>> graphs = {
      {"ring", 4}, {"torus", 12}, {"torus", 16}, {"ring_based", 8}};
  for (const auto& [topology, n] : graphs) {
    for (const double budget : {0.3, 0.5}) {
      Cluster cluster{.nodes = n, .topology = topology, .iterations = 400};
      cluster.optimizer.steps = {{10, 0.0f}};
      cluster.run("matcha", {{"budget", budget}});
      EXPECT_EQ(cluster.broken(), "");
      for (int w = 1; w < n; ++w) expect_near(cluster.params(w), cluster.params(0), 1e-5);
    }
  }
}

}  // namespace
}  // namespace hopbench::gossip
