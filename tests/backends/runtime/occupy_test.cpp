// The device's time in ProcessRuntime: pacing, milestones, slowdowns, run delay.
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <stdexcept>
#include <thread>
#include <vector>

#include "backends/base/error.h"
#include "backends/runtime/process/process.h"
#include "backends/runtime/process/run_delay.h"
#include "tests/backends/runtime/process_ranks.h"

namespace hopbench {
namespace {

using std::chrono::milliseconds;

constexpr Kind kNews{1};

TEST(Occupy, PacesWorkAndItsMilestones) {
  LoopbackHub hub;
  Rank self(hub, alone());
  std::vector<Time> seen;
  self.runtime.run([&] {
    const Time start = self.runtime.now();
    const auto note = [&] { seen.push_back(self.runtime.now()); };
    const Occupied occupied = self.runtime.occupy({.cost = milliseconds(60),
                                                   .job = [](const auto& reached) { reached(0), reached(1); },
                                                   .milestones = {{0.25, note}, {0.75, note}}});
    EXPECT_GE(occupied.took, milliseconds(60));
    EXPECT_FALSE(occupied.overran);
    ASSERT_EQ(seen.size(), 2u);
    EXPECT_GE(seen[0], start + milliseconds(15));
    EXPECT_GE(seen[1], start + milliseconds(45));
  });
}

TEST(Occupy, RunsAMilestoneThatIsDueWhileTheJobGoesOn) {
  LoopbackHub hub;
  Rank self(hub, alone());
  bool job_over = false, early = false;
  self.runtime.run([&] {
    self.runtime.occupy({.cost = milliseconds(40),
                         .job =
                             [&](const auto& reached) {
                               std::this_thread::sleep_for(milliseconds(10));
                               reached(0);  // due at 4 ms
                               job_over = true;
                             },
                         .milestones = {{0.1, [&] { early = !job_over; }}}});
  });
  EXPECT_TRUE(early);
}

TEST(Occupy, FlagsWorkThatOutlastsItsSlot) {
  LoopbackHub hub;
  Rank self(hub, alone());
  self.runtime.run([&] {
    const auto job = [](const auto&) { std::this_thread::sleep_for(milliseconds(20)); };
    EXPECT_TRUE(self.runtime.occupy({.cost = milliseconds(5), .job = job, .milestones = {}}).overran);
  });
}

TEST(Occupy, AddsASlowdownInProportionWhereNothingIsPaced) {
  LoopbackHub hub;
  ProcessOptions options = alone();
  options.pace = false;
  Rank self(hub, options);
  Time reached_at{};
  self.runtime.run([&] {
    const Time start = self.runtime.now();
    Work work{.cost = milliseconds(3), .job = {}, .milestones = {}};  // thrice as slow
    work.nominal = milliseconds(1);
    work.job = [](const auto& reached) {
      std::this_thread::sleep_for(milliseconds(10));
      reached(0);
      std::this_thread::sleep_for(milliseconds(10));
    };
    work.milestones = {{0.5, [&] { reached_at = self.runtime.now(); }}};
    const Occupied occupied = self.runtime.occupy(work);
    EXPECT_GE(occupied.took, milliseconds(60));
    EXPECT_FALSE(occupied.overran);
    EXPECT_GE(reached_at, start + milliseconds(30));
    EXPECT_LT(reached_at, start + occupied.took);
  });
}

TEST(Occupy, KeepsTheTurnInVectorOperations) {
  LoopbackHub hub;
  Rank self(hub, alone());
  bool other_ran = false;
  self.runtime.run([&] {
    self.runtime.spawn([&] { other_ran = true; });
    Work work{.cost = milliseconds(500), .job = {}, .milestones = {}};
    work.job = [](const auto&) { std::this_thread::sleep_for(milliseconds(10)); };
    work.yields = false;
    const Occupied occupied = self.runtime.occupy(work);
    EXPECT_FALSE(other_ran);
    EXPECT_LT(occupied.took, milliseconds(500)) << "it takes its real time";
    self.runtime.await([&] { return other_ran; }, kNever, "the other strand");
  });
}

TEST(Occupy, HandsOnAJobsException) {
  LoopbackHub hub;
  Rank self(hub, alone());
  bool caught = false;
  self.runtime.run([&] {
    try {
      self.runtime.occupy({.cost = milliseconds(1),
                           .job = [](const auto&) { throw std::runtime_error("division by zero"); },
                           .milestones = {}});
    } catch (const std::runtime_error&) {
      caught = true;
    }
    self.runtime.post(0, message_of(kNews, 1));  // still has its turn
    self.recv(is(kNews));
  });
  EXPECT_TRUE(caught);
}

/// Keeps all cores busy, so that everybody else waits for one now and then.
class Crowd {
 public:
  Crowd() {
    for (unsigned i = 0; i < 4 * std::max(1U, std::thread::hardware_concurrency()); ++i) {
      threads_.emplace_back([this] {
        while (!over_) {
        }
      });
    }
  }
  ~Crowd() {
    over_ = true;
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  std::atomic<bool> over_{false};
  std::vector<std::thread> threads_;
};

/// Computes until it has been kept from the core for a while; returns for how long.
Duration compute_until_delayed() {
  const Duration before = run_delay();
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (run_delay() - before < milliseconds(2) && std::chrono::steady_clock::now() < limit) {
  }
  return run_delay() - before;
}

/// The delay inside a job, and what the runtime counts of the whole run's.
struct Delays {
  Duration inside{}, outside{}, counted{};
};

Delays delays_of(bool pace, Duration cost) {
  LoopbackHub hub;
  ProcessOptions options = alone();
  options.pace = pace;
  Rank self(hub, options);
  Delays delays;
  const Crowd crowd;
  const Duration before = run_delay();
  self.runtime.run([&] {
    const auto job = [&](const auto&) { delays.inside = compute_until_delayed(); };
    self.runtime.occupy({.cost = cost, .job = job, .milestones = {}});
  });
  delays.outside = run_delay() - before - delays.inside;
  delays.counted = self.runtime.contended();
  return delays;
}

TEST(Occupy, CountsRunDelayThatThePaceDoesNotAbsorb) {
  long on_a_core = 0;
  std::ifstream("/proc/thread-self/schedstat") >> on_a_core;
  if (on_a_core == 0) GTEST_SKIP() << "this kernel tells no run delay";
  const Delays absorbed = delays_of(true, std::chrono::seconds(1));
  ASSERT_GT(absorbed.inside.count(), 0) << "nobody waited for a core beside four threads on each";
  EXPECT_LE(absorbed.counted, absorbed.outside) << "within the slot it does no harm";
  const Delays overran = delays_of(true, milliseconds(0));
  EXPECT_GE(overran.counted, overran.inside) << "past the slot's deadline it does";
  const Delays unpaced = delays_of(false, milliseconds(0));
  EXPECT_GE(unpaced.counted, unpaced.inside) << "unpaced, all of it does";
}

}  // namespace
}  // namespace hopbench
