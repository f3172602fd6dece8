// Tests the promises of pull_gossip in virtual time. Every registered protocol is also run by the common tests
// (protocol_test): determinism, lost messages, convergence, the stop rules, workers that die.
#include <gtest/gtest.h>

#include <map>
#include <utility>

#include "tests/cluster.h"

namespace hopbench {

const Protocol& pull_gossip_protocol();

namespace {

TEST(PullGossip, ComesToAFractionOfItsFirstLoss) {
  Cluster cluster{.nodes = 8, .iterations = 60};
  cluster.run(pull_gossip_protocol());
  EXPECT_EQ(cluster.broken(), "");  // what the checkers found
  EXPECT_LT(cluster.loss(), cluster.initial_loss());
}

TEST(PullGossip, DoesNotWaitForASlowWorker) {
  Cluster equal{.nodes = 8, .iterations = 40}, one_slow{.nodes = 8, .slow = {{3, 10.0}}, .iterations = 40};
  equal.run(pull_gossip_protocol());
  one_slow.run(pull_gossip_protocol());
  EXPECT_LT(to_seconds(one_slow.records[0].marks.back().end), 1.5 * to_seconds(equal.records[0].marks.back().end));
}

// An invariant of one's own, checked over everything that happened. docs/adding_a_protocol.md lists the events.
TEST(PullGossip, SendsItsModelOnlyToWorkersThatAsked) {
  Cluster cluster{.nodes = 6, .slow = {{2, 5.0}}, .iterations = 30, .keep_events = true};
  cluster.run(pull_gossip_protocol());
  std::map<std::pair<int, int>, int> requests;  // (asked, asking): not answered yet
  int replies = 0;
  for (const Event& event : cluster.events) {
    if (event.what == EventKind::kDeliver && Kind{event.kind} == kRequest) ++requests[{event.rank, event.peer}];
    if (event.what != EventKind::kSend || Kind{event.kind} != kReply) continue;
    int& open = requests[{event.rank, event.peer}];
    EXPECT_GT(open, 0) << "rank " << event.rank << " answers rank " << event.peer << ", which did not ask";
    --open;
    ++replies;
  }
  EXPECT_EQ(replies, 6 * 30) << "a test that sees no event proves nothing";
}

}  // namespace
}  // namespace hopbench
