// Nodes whose scenario says that their rank joins, hangs, leaves or crashes.
#include <gtest/gtest.h>

#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tests/protocols/node/node_fixture.h"

namespace hopbench {
namespace {

class NodeFaultsTest : public NodeTest {
 protected:
  NodeFaultsTest() { protocol.on_loss = always<OnLoss::kContinues>; }

  void has(const Fault& fault) { options.scenario.faults.push_back(fault); }
  /// A body that computes gradients as long as it may.
  void body() {
    Vec x = node().initial();
    for (; node().running(k); ++k) {
      node().enter(k);
      node().gradient(x, k);
    }
  }
  std::vector<std::string> faults() const {
    std::vector<std::string> all;
    for (const Event& event : seen.of(EventKind::kFault)) all.emplace_back(event.text);
    return all;
  }
  Iter k = 0;
};

using Waits = std::map<std::string, Duration>;
using Names = std::vector<std::string>;

TEST_F(NodeFaultsTest, ConcernTheRanksThatTheyName) {
  options.stop.iterations = 3;
  for (const auto what : {FaultKind::kCrash, FaultKind::kLeave, FaultKind::kJoin, FaultKind::kHang})
    has({.what = what, .ranks = {1, 2}, .at = at_ms(1), .lasts = milliseconds(5)});
  node().live([&] { body(); });
  EXPECT_EQ(k, 3);
  EXPECT_EQ(runtime.now(), at_ms(30));
  EXPECT_TRUE(runtime.spawned.empty());
  EXPECT_EQ(node().record().lost, "");
}

TEST_F(NodeFaultsTest, JoinsWhenItsTimeHasCome) {
  options.stop.iterations = 1;
  has({.what = FaultKind::kJoin, .ranks = {0}, .at = at_ms(70)});
  runtime.arrives(5, 1, kParams, 0);
  node().live([&] {
    EXPECT_EQ(runtime.now(), at_ms(70));
    EXPECT_TRUE(node().has(is(kParams))) << "what came earlier has waited";
    body();
  });
  EXPECT_EQ(node().record().finished, at_ms(80));
  EXPECT_EQ(faults(), Names{"join"});
}

TEST_F(NodeFaultsTest, LeavesBeforeTheIterationThatIsDue) {
  has({.what = FaultKind::kLeave, .ranks = {0}, .iteration = 7});
  node().live([&] { body(); });
  EXPECT_EQ(k, 7);
  EXPECT_EQ(node().record().lost, "leave");
  EXPECT_EQ(node().record().iters, 7);
  EXPECT_EQ(node().record().finished, at_ms(70));
  EXPECT_EQ(faults(), Names{"leave"});
}

TEST_F(NodeFaultsTest, LeavesAtTheFirstIterationAfterATime) {
  has({.what = FaultKind::kLeave, .ranks = {0}, .at = at_ms(41)});
  node().live([&] { body(); });
  EXPECT_EQ(k, 5);
}

TEST_F(NodeFaultsTest, TakesNoCreditWhenItLeaves) {
  Credits credits(10);
  options.stop = {.iterations = 0, .credits = &credits};
  has({.what = FaultKind::kLeave, .ranks = {0}, .iteration = 7});
  node().live([&] { body(); });
  int left = 0;
  while (credits.take()) ++left;
  EXPECT_EQ(left, 3);
}

TEST_F(NodeFaultsTest, DoesNotLeaveAfterItsEnd) {
  options.stop.iterations = 7;
  has({.what = FaultKind::kLeave, .ranks = {0}, .iteration = 7});
  node().live([&] { body(); });
  EXPECT_EQ(node().record().lost, "");
}

TEST_F(NodeFaultsTest, StaysForNobodyWhenItLeaves) {
  has({.what = FaultKind::kLeave, .ranks = {0}, .iteration = 2});
  node().live([&] {
    body();
    node().retire();
    FAIL() << "it stayed to answer others";
  });
  EXPECT_EQ(node().record().finished, at_ms(20));
}

TEST_F(NodeFaultsTest, FailsWhereTheProtocolStops) {
  protocol.on_loss = nullptr;
  has({.what = FaultKind::kLeave, .ranks = {0}, .iteration = 2});
  try {
    node().live([&] { body(); });
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "rank 0 left in iteration 2, as the scenario says: test stops when a worker is lost");
  }
}

TEST_F(NodeFaultsTest, HangsBeforeAGradientOnce) {
  options.stop.iterations = 4;
  has({.what = FaultKind::kHang, .ranks = {0}, .iteration = 2, .lasts = milliseconds(33)});
  node().live([&] { body(); });
  EXPECT_EQ(runtime.now(), at_ms(73));
  ASSERT_EQ(runtime.works.size(), 5u);
  EXPECT_TRUE(runtime.works[2].hang);
  EXPECT_FALSE(runtime.works[2].yields) << "nothing else of the rank runs";
  const std::vector<Event> events = seen.of(EventKind::kFault);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].since, at_ms(20));
  EXPECT_EQ(events[0].time, at_ms(53));
  EXPECT_EQ(node().record().compute, milliseconds(40));
  EXPECT_EQ(node().record().waits, (Waits{{"the end of its hang", milliseconds(33)}}));
}

TEST_F(NodeFaultsTest, HangsAtATimeWhateverItsBodyDoes) {
  has({.what = FaultKind::kHang, .ranks = {0}, .at = at_ms(20), .lasts = milliseconds(33)});
  node().live([] {});
  ASSERT_EQ(runtime.spawned.size(), 1u);
  runtime.spawned[0]();
  EXPECT_EQ(runtime.now(), at_ms(53));
  EXPECT_EQ(faults(), Names{"hang"});
  EXPECT_TRUE(node().record().waits.empty());
}

// Its own time is over when its cost is; what follows is a wait, as a hang at an iteration is.
TEST_F(NodeFaultsTest, AHangInTheMiddleOfAGradientIsNoPartOfIt) {
  options.stop.iterations = 4;
  has({.what = FaultKind::kHang, .ranks = {0}, .at = at_ms(24), .lasts = milliseconds(33)});
  runtime.before_job = [&] {
    if (runtime.now() == at_ms(20)) runtime.spawned.at(0)();
  };
  Duration took{};
  node().live([&] {
    Vec x = node().initial();
    for (; node().running(k); ++k) {
      node().enter(k);
      took = std::max(took, node().gradient(x, k).took);
    }
  });
  EXPECT_EQ(runtime.now(), at_ms(67));
  EXPECT_EQ(took, milliseconds(10));
  EXPECT_EQ(node().record().compute, milliseconds(40));
  EXPECT_EQ(node().record().waits, (Waits{{"the end of its hang", milliseconds(27)}}));
  const Event gradient = seen.of(EventKind::kGradient).at(2);
  EXPECT_EQ(gradient.since, at_ms(20));
  EXPECT_EQ(gradient.time, at_ms(30));
  const Event wait = seen.of(EventKind::kWait).at(0);
  EXPECT_EQ(wait.since, at_ms(30));
  EXPECT_EQ(wait.time, at_ms(57));
}

TEST_F(NodeFaultsTest, AHangThatEndsWithinAGradientCostsNothing) {
  options.stop.iterations = 4;
  has({.what = FaultKind::kHang, .ranks = {0}, .at = at_ms(22), .lasts = milliseconds(5)});
  runtime.before_job = [&] {
    if (runtime.now() == at_ms(20)) runtime.spawned.at(0)();
  };
  node().live([&] { body(); });
  EXPECT_EQ(runtime.now(), at_ms(40));
  EXPECT_EQ(node().record().compute, milliseconds(40));
  EXPECT_TRUE(node().record().waits.empty());
}

TEST_F(NodeFaultsTest, AHangInTheMiddleOfAWaitIsNotWhatItWaitsFor) {
  options.stop.iterations = 1;
  has({.what = FaultKind::kHang, .ranks = {0}, .at = at_ms(20), .lasts = milliseconds(30)});
  runtime.arrives(60, 1, kParams, 0);
  node().live([&] {
    bool hung = false;
    node().until(
        [&] {
          if (!std::exchange(hung, true)) return false;
          if (runtime.now() < at_ms(20)) runtime.spawned.at(0)();
          return node().has(is(kParams));
        },
        "parameters");
  });
  EXPECT_EQ(runtime.now(), at_ms(60));
  EXPECT_EQ(node().record().waits,
            (Waits{{"parameters", milliseconds(30)}, {"the end of its hang", milliseconds(30)}}));
  EXPECT_EQ(seen.of(EventKind::kWait).size(), 3u);
}

// Iterations that it jumps over count.
TEST_F(NodeFaultsTest, CrashesBeforeAGradient) {
  struct Dead {};
  options.crash = [] { throw Dead{}; };
  has({.what = FaultKind::kCrash, .ranks = {0}, .iteration = 5});
  Vec x = node().initial();
  node().gradient(x, 4);
  EXPECT_THROW(node().gradient(x, 6), Dead);
  EXPECT_EQ(runtime.works.size(), 1u);
}

}  // namespace
}  // namespace hopbench
