// Tests the promises of periodic_average in virtual time. Every registered protocol is also run by the common
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

// An invariant of one's own, checked over everything that happened. docs/adding_a_protocol.md lists the events.
TEST(PeriodicAverage, AveragesModelsOfOneIterationOnly) {
  Cluster cluster{.nodes = 6, .slow = {{2, 5.0}}, .iterations = 30, .keep_events = true};
  cluster.run(periodic_average_protocol(), {{"period", std::int64_t{5}}});
  int averages = 0;
  for (const Event& event : cluster.events) {
    if (event.what != EventKind::kReduced) continue;
    for (const Iter tag : event.tags) EXPECT_EQ(tag, event.iter) << "rank " << event.rank;
    ++averages;
  }
  EXPECT_EQ(averages, 6 * 30 / 5) << "a test that sees no event proves nothing";
}

}  // namespace
}  // namespace hopbench
