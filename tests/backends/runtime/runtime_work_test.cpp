// Virtual time: work that yields and work that does not.

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "backends/base/error.h"
#include "tests/backends/runtime/simulation_fixture.h"

namespace hopbench {
namespace {

class SimulatedWork : public SimulationTest {};
INSTANTIATE_TEST_SUITE_P(Kinds, SimulatedWork, testing::Values(StrandKind::kFibers, StrandKind::kThreads), kind_name);

TEST_P(SimulatedWork, KeepsTheDeviceBusyForTheCostWhileOthersRun) {
  make(2, nullptr, 3);
  std::string said;
  sim_->start(0, [&] {
    rank(0).spawn([&] {
      sleep(0, milliseconds(4));
      said += "other ";
    });
    int result = 0;
    const Occupied done = rank(0).occupy({.cost = milliseconds(10), .job = [&](const auto&) { result = 42; }});
    EXPECT_EQ(done.took, milliseconds(10));
    EXPECT_FALSE(done.overran);
    EXPECT_EQ(rank(0).now(), at_ms(10));
    EXPECT_EQ(result, 42);
    said += "done";
  });
  sim_->start(1, [&] { sleep(1, milliseconds(1)); });
  sim_->run();
  EXPECT_EQ(said, "other done");
}

TEST_P(SimulatedWork, RunsMilestonesAtTheirTimesWithTheJobDone) {
  for (const int threads : {1, 4}) {
    make(1, nullptr, threads);
    std::vector<std::int64_t> at;
    sim_->start(0, [&] {
      int computed = 0;
      const auto note = [&] {
        EXPECT_EQ(computed, 3);
        at.push_back((rank(0).now() - at_ms(5)) / milliseconds(1));
      };
      sleep(0, milliseconds(5));
      Work work{.cost = milliseconds(20), .milestones = {{0.25, note}, {0.5, note}, {1.0, note}}};
      work.job = [&](const auto& reached) {
        for (int i = 0; i < 3; ++i) reached(computed++);
      };
      EXPECT_EQ(rank(0).occupy(std::move(work)).took, milliseconds(20));
    });
    sim_->run();
    EXPECT_EQ(at, (std::vector<std::int64_t>{5, 10, 20}));
  }
}

// It must not wait for the job that no thread will ever do.
TEST_P(SimulatedWork, FailsIfThePoolsThreadsCannotBeStarted) {
  make(1, nullptr, 200);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
  bool limited = false;  // an emulated processor may take the limit and forget it
  sim_->start(0, [&] {
    std::ifstream statm("/proc/self/statm");
    rlim_t pages = 0;
    statm >> pages;
    const rlimit little{pages * 4096 + (20 << 20), before.rlim_max};  // room for the stacks of two threads
    ASSERT_EQ(setrlimit(RLIMIT_AS, &little), 0);
    rlimit now{};
    limited = getrlimit(RLIMIT_AS, &now) == 0 && now.rlim_cur == little.rlim_cur;
    rank(0).occupy({.cost = milliseconds(1), .job = [](const auto&) {}});
  });
  std::string said;
  try {
    sim_->run();
  } catch (const Error& error) {
    said = error.what();
  }
  EXPECT_EQ(setrlimit(RLIMIT_AS, &before), 0);
  if (!limited) GTEST_SKIP() << "this machine takes no limit of memory (RLIMIT_AS)";
  EXPECT_NE(said.find("rank 0: cannot start a thread: "), std::string::npos) << said;
}

TEST_P(SimulatedWork, LetsAnExceptionOfTheJobComeOutOfOccupyWhenItsTimeIsOver) {
  for (const int threads : {1, 4}) {
    make(1, nullptr, threads);
    sim_->start(0, [&] {
      const auto bad = [](const std::function<void(int)>&) { throw std::runtime_error("singular matrix"); };
      EXPECT_THROW(rank(0).occupy({.cost = milliseconds(3), .job = bad}), std::runtime_error);
      EXPECT_EQ(rank(0).now(), at_ms(3));
      EXPECT_THROW(rank(0).occupy({.cost = milliseconds(3), .job = bad, .yields = false}), std::runtime_error);
      EXPECT_EQ(rank(0).now(), at_ms(3));
    });
    sim_->run();
  }
}

TEST_P(SimulatedWork, MovesTheRanksClockOnForWorkThatDoesNotYield) {
  make_lan(2, milliseconds(1), 0);
  std::string said;
  sim_->start(0, [&] {
    rank(0).spawn([&] {
      sleep(0, milliseconds(2));  // due in the middle of the work below: runs after it
      said += "other@" + std::to_string(rank(0).now().time_since_epoch() / milliseconds(1)) + " ";
    });
    sleep(0, milliseconds(1));
    rank(0).occupy({.cost = milliseconds(10), .job = [&](const auto&) { said += "job "; }, .yields = false});
    said += "charged@" + std::to_string(rank(0).now().time_since_epoch() / milliseconds(1)) + " ";
    rank(0).post(1, {.kind = kPing});  // departs at 11 ms
    sleep(0, milliseconds(1));
    EXPECT_EQ(rank(0).now(), at_ms(12));
  });
  sim_->start(1, [&] {
    recv(1, is(kPing));
    EXPECT_EQ(rank(1).now(), at_ms(12));
  });
  sim_->run();
  EXPECT_EQ(said, "job charged@11 other@11 ");
}

TEST_P(SimulatedWork, AddsUpChargesThatFollowOneAnother) {
  make(1);
  sim_->start(0, [&] {
    for (int i = 0; i < 5; ++i) rank(0).occupy({.cost = microseconds(300), .yields = false});
    EXPECT_EQ(rank(0).now(), Time{} + microseconds(1500));
  });
  sim_->run();
}

TEST_P(SimulatedWork, NeverRunsAJobOnAFibersStack) {
  sim_ = std::make_unique<Simulation>(SimulationOptions{.ranks = 1, .strands = GetParam(), .stack_bytes = 64 * 1024});
  sim_->start(0, [&] {
    const auto deep = [](const std::function<void(int)>&) {
      volatile char room[256 * 1024];
      room[0] = 1;
      room[sizeof(room) - 1] = room[0];
    };
    rank(0).occupy({.cost = milliseconds(1), .job = deep});
    rank(0).occupy({.cost = milliseconds(1), .job = deep, .yields = false});
  });
  sim_->run();
}

}  // namespace
}  // namespace hopbench
