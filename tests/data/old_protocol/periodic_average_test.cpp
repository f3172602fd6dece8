// What periodic_average promises, held against it in virtual time. Every registered protocol is also run by the common
// tests (protocol_test): determinism, lost messages, convergence, the stop rules.
#include <gtest/gtest.h>

#include "tests/cluster.h"

namespace hopbench {

const Protocol& periodic_average_protocol();

namespace {

TEST(PeriodicAverage, ComesToAFractionOfItsFirstLoss) {
  Cluster cluster{.nodes = 8, .iterations = 60};
  cluster.run(periodic_average_protocol());
  EXPECT_EQ(cluster.broken(), "");  // what the checkers found
  EXPECT_LT(cluster.loss(), cluster.initial_loss());
}

TEST(PeriodicAverage, LetsWorkersDriftApartByLessThanAPeriod) {
  Cluster cluster{.nodes = 8, .slow = {{3, 6.0}}, .topology = "complete", .iterations = 40};
  cluster.run(periodic_average_protocol(), {{"period", std::int64_t{5}}});
  EXPECT_EQ(cluster.lead_max(), 4);
}

TEST(PeriodicAverage, MakesReplicasEqualOnACompleteGraph) {
  Cluster cluster{.nodes = 4, .topology = "complete", .iterations = 8};
  cluster.run(periodic_average_protocol(), {{"period", std::int64_t{4}}});
  for (int worker = 1; worker < 4; ++worker) {
    EXPECT_EQ(hash_bits(cluster.params(worker)), hash_bits(cluster.params(0)));
  }
}

}  // namespace
}  // namespace hopbench
