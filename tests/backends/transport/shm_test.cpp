// Shared memory: who may write where and when, that no wake-up is lost, and what is said where it cannot be had.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <new>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "backends/base/error.h"
#include "backends/base/random.h"
#include "backends/base/vec.h"
#include "backends/transport/shm_channel.h"
#include "backends/transport/shm_segment.h"

namespace hopbench {
namespace {

using std::chrono::seconds;

class SharedSegment : public testing::Test {
 protected:
  SharedSegment() { share_host_memory(ShmSegment::mine()); }
  ShmSegment& segment_ = ShmSegment::mine();
};

TEST_F(SharedSegment, HoldsLargeVectorsAndNoSmallOnes) {
  const Vec large(kSharedFloats), small(kSharedFloats - 1);
  EXPECT_TRUE(segment_.contains(large.data()));
  EXPECT_FALSE(segment_.contains(small.data()));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(large.data()) % 64, 0u);
}

TEST_F(SharedSegment, UsesMemoryAnewOnceNobodyReadsIt) {
  const ShmView view(segment_.address());
  void* const lent = segment_.allocate(100'000);
  const std::uint64_t block = segment_.lend(lent);
  segment_.lend(lent);
  EXPECT_TRUE(segment_.lent(lent));
  EXPECT_TRUE(segment_.release(lent));
  void* const other = segment_.allocate(100'000);
  EXPECT_NE(other, lent);
  view.give_back(block);
  void* const third = segment_.allocate(100'000);
  EXPECT_NE(third, lent) << "one of two still reads it";
  view.give_back(block);
  for (void* memory : {other, third}) segment_.release(memory);
  std::set<void*> places;
  for (int i = 0; i < 100; ++i) {
    void* const memory = segment_.allocate(100'000);
    places.insert(memory);
    const std::uint64_t mine = segment_.lend(memory);
    segment_.release(memory);
    view.give_back(mine);
  }
  EXPECT_EQ(places.size(), 1u);
}

TEST_F(SharedSegment, NeverGivesTheSameMemoryTwice) {
  struct Piece {
    char* at;
    std::size_t bytes;
    char mark;
  };
  std::vector<Piece> pieces;
  Random random({.seed = 3, .purpose = Purpose::kSynthetic});
  for (int i = 0; i < 3000; ++i) {
    if (pieces.size() > 20 || (!pieces.empty() && random.uniform() < 0.4)) {
      const std::size_t which = std::size_t(random.uniform() * double(pieces.size()));
      const Piece piece = pieces[which];
      ASSERT_EQ(std::count(piece.at, piece.at + piece.bytes, piece.mark), std::ptrdiff_t(piece.bytes)) << i;
      ASSERT_TRUE(segment_.release(piece.at));
      pieces.erase(pieces.begin() + std::ptrdiff_t(which));
    } else {
      const std::size_t bytes = 1 + std::size_t(random.uniform() * 50'000);
      auto* const at = static_cast<char*>(segment_.allocate(bytes));
      pieces.push_back({at, bytes, char(i)});
      std::fill(at, at + bytes, char(i));
    }
  }
  for (const Piece& piece : pieces) segment_.release(piece.at);
}

TEST_F(SharedSegment, AVectorThatIsLentMovesBeforeItIsWritten) {
  const ShmView view(segment_.address());
  Vec x(10'000);
  x.fill(1);
  const float* const before = x.data();
  const std::uint64_t block = segment_.lend(before);
  x.scale(2);
  EXPECT_NE(x.data(), before);
  EXPECT_EQ(x.data()[9'999], 2);
  EXPECT_EQ(before[9'999], 1) << "as it was when it was lent";
  view.give_back(block);
  const float* const here = x.data();
  x.scale(2);
  EXPECT_EQ(x.data(), here) << "nobody reads it: it stays where it is";
}

TEST_F(SharedSegment, IsOfOneProcessAndSaysWhatIsWrongWithAnAddress) {
  const auto wrong = [](const std::string& address) -> std::string {
    try {
      const ShmView view(address);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(wrong(segment_.address()), "");
  EXPECT_NE(wrong("nonsense").find("malformed"), std::string::npos);
  EXPECT_NE(wrong("999999999 3 1 1").find("its memory cannot be opened"), std::string::npos);
  std::istringstream words(segment_.address());
  std::string process, file, inode, token;
  words >> process >> file >> inode >> token;
  EXPECT_NE(wrong(process + ' ' + file + ' ' + inode + "1 " + token).find("it ended before"), std::string::npos)
      << "the file's number is another's";
  EXPECT_NE(wrong(process + ' ' + file + ' ' + inode + " 1").find("HOPBENCH_HOST"), std::string::npos)
      << "the machine is a clone of another";
  const ShmView view(segment_.address());
  EXPECT_THROW(view.at(~0ULL - 10, 100), Error);
  EXPECT_THROW(view.at(0, ~0ULL), Error);
}

/// Takes a limit back when it goes.
class Limit {
 public:
  Limit(int which, rlim_t value) : which_(which) {
    getrlimit(__rlimit_resource_t(which_), &before_);
    const rlimit now{value, before_.rlim_max};
    setrlimit(__rlimit_resource_t(which_), &now);
  }
  ~Limit() { setrlimit(__rlimit_resource_t(which_), &before_); }

 private:
  const int which_;
  rlimit before_{};
};

TEST(SharedSegmentLimits, AreNamedBeforeAnythingStarts) {
  EXPECT_EQ(ShmSegment::unavailable(), "");
  {
    const Limit limit(RLIMIT_FSIZE, 1 << 20);
    EXPECT_NE(ShmSegment::unavailable().find("ulimit -f unlimited"), std::string::npos);
  }
  {
    const Limit limit(RLIMIT_NOFILE, 0);
    EXPECT_NE(ShmSegment::unavailable().find("memfd_create"), std::string::npos);
  }
  EXPECT_EQ(ShmSegment::unavailable(), "");
}

/// A producer and a consumer that sleep whenever they can: were a wake-up lost, one would sleep for ten seconds.
void ping_pong(int rounds, std::uint32_t batch) {
  ShmBell there, here;
  std::atomic<std::uint32_t> sent{0}, answered{0};
  std::atomic<int> late{0};
  const auto await = [&](ShmBell& bell, const std::atomic<std::uint32_t>& count, std::uint32_t wanted) {
    while (true) {
      const std::uint32_t seen = bell.count();
      const std::uint32_t have = count.load();
      if (have >= wanted) return;
      const auto start = std::chrono::steady_clock::now();
      bell.sleep(seen, wanted - have, seconds(10));
      if (std::chrono::steady_clock::now() - start > seconds(9)) ++late;
    }
  };
  std::thread consumer([&] {
    for (std::uint32_t k = 1; k <= std::uint32_t(rounds); ++k) {
      await(there, sent, k * batch);
      ++answered;
      here.ring(false);
    }
  });
  for (std::uint32_t k = 1; k <= std::uint32_t(rounds) && late == 0; ++k) {
    for (std::uint32_t i = 0; i < batch; ++i) {
      ++sent;
      there.ring(false);
    }
    await(here, answered, k);
  }
  consumer.join();
  EXPECT_EQ(late, 0);
  EXPECT_EQ(answered, std::uint32_t(rounds));
}

TEST(SharedBell, LosesNoWakeUp) { ping_pong(20'000, 1); }

TEST(SharedBell, WakesForTheLastOfManyThatAreAwaited) { ping_pong(5'000, 7); }

TEST(SharedBell, WakesForWhatIsUrgentHoweverMuchIsAwaited) {
  ShmBell bell;
  std::thread urgent([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    bell.ring(false);
    bell.ring(true);
  });
  const auto start = std::chrono::steady_clock::now();
  for (std::uint32_t seen = 0; seen < 2; seen = bell.count()) bell.sleep(seen, 1000, seconds(10));
  EXPECT_LT(std::chrono::steady_clock::now() - start, seconds(9));
  urgent.join();
}

TEST(SharedRing, CarriesBytesAroundItsEnd) {
  const auto channel = std::make_unique<ShmChannel>();
  for (std::uint64_t place = 0; place < 3 * ShmChannel::kRing; place += 7919) {
    std::string text(7919, char(place)), back(7919, ' ');
    channel->put(place, text.data(), text.size());
    channel->get(place, back.data(), back.size());
    ASSERT_EQ(text, back) << place;
  }
}

}  // namespace
}  // namespace hopbench
