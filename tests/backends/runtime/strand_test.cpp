#include "backends/runtime/virtual/strand.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "backends/base/error.h"
#include "backends/runtime/runtime.h"  // Stop

#ifdef __SANITIZE_ADDRESS__
#define HB_TEST_ASAN
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HB_TEST_ASAN
#endif
#endif
#ifdef HB_TEST_ASAN
#include <sanitizer/asan_interface.h>
#endif

namespace hopbench {
namespace {

class StrandTest : public testing::TestWithParam<StrandKind> {
 protected:
  void SetUp() override {
    if (!strand_kind_available(GetParam()))
      GTEST_SKIP() << "no fibers in this build: Boost.Context is missing or TSan is on";
  }
  std::unique_ptr<Strand> make(std::function<void()> body) { return make_strand(GetParam(), std::move(body)); }
};

INSTANTIATE_TEST_SUITE_P(Kinds, StrandTest, testing::Values(StrandKind::kFibers, StrandKind::kThreads),
                         [](const auto& kind) { return kind.param == StrandKind::kFibers ? "Fibers" : "Threads"; });

TEST_P(StrandTest, RunsUntilItSuspendsAndGoesOnFromThere) {
  std::string said;
  Strand* self = nullptr;
  const auto strand = make([&] {
    said += "a";
    self->suspend();
    said += "b";
  });
  self = strand.get();
  EXPECT_EQ(said, "");  // not before the first resume
  strand->resume();
  said += "|";
  EXPECT_FALSE(strand->done());
  strand->resume();
  EXPECT_EQ(said, "a|b");
  EXPECT_TRUE(strand->done());
}

TEST_P(StrandTest, MayGoWithoutEverHavingStarted) {
  const auto held = std::make_shared<int>(1);
  {
    const auto strand = make([held] { FAIL(); });
  }
  EXPECT_EQ(held.use_count(), 1);
}

TEST_P(StrandTest, LetsGoOfItsBodyOnceThatHasReturned) {
  auto held = std::make_shared<int>(1);
  const auto strand = make([copy = held] { EXPECT_EQ(*copy, 1); });
  EXPECT_EQ(held.use_count(), 2);
  strand->resume();
  EXPECT_EQ(held.use_count(), 1);
}

// A data file is mapped where a fiber's stack was: ASan then took its bytes for the fiber's frames.
TEST_P(StrandTest, LeavesNoForbiddenBytesWhereItsStackWas) {
#ifdef HB_TEST_ASAN
  std::uintptr_t inside = 0;
  const auto strand = make([&] { inside = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)); });
  strand->resume();
  ASSERT_TRUE(strand->done());
  const std::uintptr_t page = inside & ~std::uintptr_t{4095};  // a stack ends where a page does
  EXPECT_EQ(__asan_region_is_poisoned(reinterpret_cast<void*>(page), 4096), nullptr);
#else
  GTEST_SKIP() << "only ASan forbids bytes";
#endif
}

TEST_P(StrandTest, PassesOnAnExceptionOfItsBody) {
  Strand* self = nullptr;
  const auto strand = make([&] {
    self->suspend();
    throw environment_error("no room");
  });
  self = strand.get();
  strand->resume();
  try {
    strand->resume();
    FAIL() << "nothing was thrown";
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "no room");
  }
  EXPECT_TRUE(strand->done());
}

// The unwinding of frames on a fiber, which g++ 12's ASan takes for a wild stack pointer unless the switch was
// announced.
TEST_P(StrandTest, UnwindsStopThroughFramesWithDestructors) {
  int unwound = 0;
  struct Frame {
    int& count;
    char ballast[512] = {};
    ~Frame() { ++count; }
  };
  Strand* self = nullptr;
  const std::function<void(int)> descend = [&](int depth) {
    Frame frame{unwound};
    frame.ballast[depth] = 1;
    if (depth == 20) {
      self->suspend();
      throw Stop{};
    }
    descend(depth + 1);
  };
  bool stopped = false;
  const auto strand = make([&] {
    try {
      descend(0);
    } catch (const Stop&) {
      stopped = true;
    }
    self->suspend();
    throw std::runtime_error("after stop");
  });
  self = strand.get();
  strand->resume();
  EXPECT_EQ(unwound, 0);
  strand->resume();
  EXPECT_TRUE(stopped);
  EXPECT_EQ(unwound, 21);
  EXPECT_THROW(strand->resume(), std::runtime_error);
}

TEST_P(StrandTest, MaySuspendWithinACatchBlockWhileOthersThrow) {
  std::vector<std::unique_ptr<Strand>> strands;
  std::vector<std::string> seen(8);
  for (std::size_t i = 0; i < seen.size(); ++i) {
    strands.push_back(make([&, i] {
      try {
        try {
          throw std::runtime_error(std::to_string(i));
        } catch (...) {
          strands[i]->suspend();
          throw;  // its own, not that of another strand
        }
      } catch (const std::runtime_error& e) {
        strands[i]->suspend();
        seen[i] = e.what();
      }
    }));
  }
  for (const auto& strand : strands) strand->resume();
  EXPECT_EQ(std::uncaught_exceptions(), 0);
  for (int round = 0; round < 2; ++round) {
    for (std::size_t i = strands.size(); i-- > 0;) strands[i]->resume();
  }
  for (std::size_t i = 0; i < seen.size(); ++i) EXPECT_EQ(seen[i], std::to_string(i));
}

TEST_P(StrandTest, TakesTurnsAmongMany) {
  constexpr int kStrands = 200, kRounds = 5;
  std::vector<std::unique_ptr<Strand>> strands;
  std::vector<int> order;
  for (int i = 0; i < kStrands; ++i) {
    strands.push_back(make([&, i] {
      for (int round = 0; round < kRounds; ++round) {
        order.push_back(round * kStrands + i);
        strands[static_cast<std::size_t>(i)]->suspend();
      }
    }));
  }
  for (int round = 0; round <= kRounds; ++round) {
    for (const auto& strand : strands) strand->resume();
  }
  ASSERT_EQ(order.size(), static_cast<std::size_t>(kStrands * kRounds));
  for (std::size_t i = 0; i < order.size(); ++i) ASSERT_EQ(order[i], static_cast<int>(i));
}

TEST_P(StrandTest, HasTheStackThatWasAskedFor) {
  const auto strand = make_strand(
      GetParam(),
      [] {
        volatile char room[700 * 1024];
        room[0] = 1;
        room[sizeof(room) - 1] = room[0];
        EXPECT_EQ(room[sizeof(room) - 1], 1);
      },
      1024 * 1024);
  strand->resume();
  EXPECT_TRUE(strand->done());
}

}  // namespace
}  // namespace hopbench
