// Questions that tests of decentralised protocols ask about a cluster's models.
#pragma once

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "tests/cluster.h"

namespace hopbench {

/// The gradient that a worker computes in iteration k at x.
inline Vec gradient_of(Cluster& cluster, int worker, Iter k, const Payload& x) {
  Vec g = Vec::uninitialised(cluster.work->size());
  const int batch = cluster.workload.batch;
  cluster.work->gradient(x, worker, std::uint64_t(k * batch), batch, g, [](int) {});
  return g;
}

inline void expect_near(const std::vector<float>& is, const std::vector<float>& should, double tolerance) {
  ASSERT_EQ(is.size(), should.size());
  for (std::size_t d = 0; d < is.size(); ++d) EXPECT_NEAR(is[d], should[d], tolerance);
}
inline void expect_near(const Payload& is, const Payload& should, double tolerance) {
  expect_near(Vec::copy_of(is).to_host(), Vec::copy_of(should).to_host(), tolerance);
}

/// Returns the hashes of the different models that were reported after so many iterations.
inline std::set<std::uint64_t> different_models(const Cluster& cluster, Iter iterations) {
  std::set<std::uint64_t> all;
  for (const auto& reports : cluster.reports) all.insert(hash_bits(reports[std::size_t(iterations - 1)].x));
  return all;
}

/// The rate of 15 workers beside one that is four times slower, of that of free running: the share of their time that
/// they compute.
inline double rate_of_the_fast(const std::string& protocol, const Knobs& knobs) {
  Cluster cluster{.nodes = 16, .slow = {{5, 4.0}}, .iterations = 200};
  cluster.compute.push_back({.what = SlowdownKind::kLogNormal, .shape = 0.05});  // no two are quite alike
  cluster.run(protocol, knobs);
  EXPECT_EQ(cluster.broken(), "");
  double computed = 0, ran = 0;
  for (const RankRecord& record : cluster.records) {
    if (record.server || record.rank == 5) continue;
    computed += to_seconds(record.compute);
    ran += to_seconds(record.finished);
  }
  return computed / ran;
}

}  // namespace hopbench
