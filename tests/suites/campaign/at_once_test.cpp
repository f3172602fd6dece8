#include "suites/campaign/at_once.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <fstream>
#include <mutex>
#include <numeric>
#include <set>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <vector>

namespace hopbench {
namespace {

std::vector<std::size_t> up_to(std::size_t n) {
  std::vector<std::size_t> all(n);
  std::iota(all.begin(), all.end(), std::size_t{0});
  return all;
}

bool never() { return false; }

TEST(AtOnce, UsesEachInOrderOnceItIsDone) {
  for (const int threads : {1, 3, 50}) {
    std::vector<std::atomic<bool>> done(20);
    std::vector<std::size_t> used;
    at_once(
        20, threads, [&](std::size_t i, int) { done[i] = true; },
        [&](std::size_t i) {
          EXPECT_TRUE(done[i]);
          used.push_back(i);
        },
        never);
    EXPECT_EQ(used, up_to(20)) << threads;
  }
}

// Each waits for the other: they end only if both are under way. The first ends last, and is used first.
TEST(AtOnce, HasAsManyUnderWayAsThreads) {
  std::mutex mutex;
  std::condition_variable changed;
  int begun = 0;
  bool second_ended = false;
  std::set<int> threads;
  std::vector<std::size_t> used;
  at_once(
      2, 2,
      [&](std::size_t i, int thread) {
        std::unique_lock lock(mutex);
        threads.insert(thread);
        ++begun;
        changed.notify_all();
        changed.wait(lock, [&] { return begun == 2 && (i == 1 || second_ended); });
        second_ended = true;
        changed.notify_all();
      },
      [&](std::size_t i) { used.push_back(i); }, never);
  EXPECT_EQ(used, up_to(2));
  EXPECT_EQ(threads, (std::set<int>{0, 1}));
}

TEST(AtOnce, BeginsNothingMoreOnceItIsOverAndUsesWhatHadBegun) {
  for (const int threads : {1, 2}) {
    std::atomic<bool> over = false;
    std::atomic<std::size_t> begun = 0;
    std::vector<std::size_t> used;
    at_once(
        100, threads,
        [&](std::size_t i, int) {
          ++begun;
          if (i == 3) over = true;
        },
        [&](std::size_t i) { used.push_back(i); }, [&] { return over.load(); });
    EXPECT_EQ(used, up_to(begun));
    EXPECT_GE(begun, 4u);
    EXPECT_LE(begun, 4u + static_cast<std::size_t>(threads)) << "one may have been on its way for each other thread";
  }
}

/// Sets `ended` when its thread ends.
struct EndOfThread {
  std::atomic<bool>* ended = nullptr;
  ~EndOfThread() {
    if (ended != nullptr) *ended = true;
  }
};

TEST(AtOnce, ThrowsWhatWasThrownAndBeginsNothingMore) {
  for (const int threads : {1, 2}) {
    std::atomic<int> begun = 0;
    static std::atomic<bool> thrower_ended;
    thrower_ended = false;
    const auto failing_work = [&](std::size_t i, int) {
      static thread_local EndOfThread mine;
      ++begun;
      if (i == 2) {
        mine.ended = &thrower_ended;
        throw std::runtime_error("work");
      }
      // The other thread's piece lasts until the one that threw has ended, so that the failure is known by then.
      while (i > 2 && mine.ended == nullptr && !thrower_ended) std::this_thread::yield();
    };
    EXPECT_THROW(at_once(
                     1000, threads, failing_work, [](std::size_t) {}, never),
                 std::runtime_error);
    EXPECT_LE(begun, 4);
    const auto failing_use = [](std::size_t i) {
      if (i == 1) throw std::logic_error("use");
    };
    EXPECT_THROW(at_once(
                     5, threads, [](std::size_t, int) {}, failing_use, never),
                 std::logic_error);
  }
}

TEST(AtOnce, HelpersDoSomeOfThePieces) {
  std::atomic<int> here = 0, elsewhere = 0;
  std::vector<std::size_t> used;
  at_once(
      50, 1,
      [&](std::size_t, int thread) {
        EXPECT_EQ(thread, 0);
        ++here;
        while (elsewhere < 3) std::this_thread::yield();
      },
      [&](std::size_t i) { used.push_back(i); }, never,
      [&](Pieces& pieces) {
        while (const auto piece = pieces.take()) {
          ++elsewhere;
          pieces.done(*piece);
        }
      });
  EXPECT_EQ(used, up_to(50));
  EXPECT_EQ(here + elsewhere, 50);
  EXPECT_GE(elsewhere, 3);
}

// The thread has nothing left to do, and waits until it is known whether the helper's pieces are done.
TEST(AtOnce, PiecesThatAHelperGivesBackAreDoneHere) {
  std::set<std::size_t> given_back;
  std::vector<int> times(10, 0);
  std::vector<std::size_t> used;
  std::atomic<bool> taken = false;
  at_once(
      10, 1,
      [&](std::size_t i, int) {
        while (!taken) std::this_thread::yield();
        ++times[i];
      },
      [&](std::size_t i) { used.push_back(i); }, never,
      [&](Pieces& pieces) {
        for (int i = 0; i < 4; ++i) given_back.insert(*pieces.take());
        taken = true;
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        for (const std::size_t piece : given_back) pieces.give_back(piece);
      });
  EXPECT_EQ(given_back.size(), 4u);
  EXPECT_EQ(used, up_to(10));
  EXPECT_EQ(times, std::vector<int>(10, 1));
}

TEST(AtOnce, AHelperThatThrowsEndsTheWork) {
  EXPECT_THROW(at_once(
                   1000, 2, [](std::size_t, int) { std::this_thread::sleep_for(std::chrono::milliseconds(1)); },
                   [](std::size_t) {}, never,
                   [](Pieces& pieces) {
                     pieces.take();
                     throw std::runtime_error("helper");
                   }),
               std::runtime_error);
}

TEST(AtOnce, AHelperGetsNothingOnceTheWorkIsOverOrHasFailed) {
  std::atomic<bool> over = false;
  std::vector<std::size_t> used;
  at_once(
      100, 1, [&](std::size_t, int) { over = true; }, [&](std::size_t i) { used.push_back(i); },
      [&] { return over.load(); },
      [&](Pieces& pieces) {
        while (!over) std::this_thread::yield();
        EXPECT_FALSE(pieces.take());
        EXPECT_FALSE(pieces.failed());
      });
  EXPECT_EQ(used, up_to(1));
  EXPECT_THROW(at_once(
                   100, 1, [](std::size_t, int) { throw std::runtime_error("work"); }, [](std::size_t) {}, never,
                   [](Pieces& pieces) {
                     while (!pieces.failed()) std::this_thread::yield();
                     EXPECT_FALSE(pieces.take());
                   }),
               std::runtime_error);
}

// Not the end of the process, as it is where threads that have begun are not joined.
TEST(AtOnce, ThrowsIfThreadsCannotBeStarted) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
  std::ifstream statm("/proc/self/statm");
  rlim_t pages = 0;
  statm >> pages;
  // A thread's stack takes 8 MiB of it, if it is not one that an earlier thread has left.
  const rlimit little{pages * 4096 + (20 << 20), before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_AS, &little), 0);
  std::atomic<int> done = 0;
  EXPECT_THROW(at_once(
                   200, 200,
                   [&](std::size_t, int) {
                     ++done;
                     std::this_thread::sleep_for(std::chrono::milliseconds(5));
                   },
                   [](std::size_t) {}, never),
               std::system_error);
  EXPECT_EQ(setrlimit(RLIMIT_AS, &before), 0);
  EXPECT_LT(done, 200);
}

}  // namespace
}  // namespace hopbench
