// Lists of numbers that are kept as differences, and what the critical path's cost in memory.
#include "results/arithmetic/trail.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <limits>
#include <vector>

#include "results/arithmetic/critical_path.h"

namespace hopbench {
namespace {

using Entries = std::vector<Trail::Entry>;

Entries backwards(const Trail& trail) {
  Entries read;
  for (Trail::Reader reader(trail); !reader.empty(); reader.pop()) read.push_back(reader.last());
  return read;
}

TEST(Trail, IsReadFromItsLastEntryToItsFirst) {
  Trail trail;
  EXPECT_TRUE(Trail::Reader(trail).empty());
  trail.push({1, 2, 3});
  trail.push({1'000'000'000, 2, 0});
  trail.push({999'999'999, 300, -1});
  EXPECT_EQ(backwards(trail), (Entries{{999'999'999, 300, -1}, {1'000'000'000, 2, 0}, {1, 2, 3}}));
}

TEST(Trail, KeepsNumbersOfAnySizeAndSign) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max(), kLeast = -kMost - 1;
  Entries all{{0, 0, 0}, {kMost, kLeast, -1}, {kLeast, kMost, 1}, {0, -64, 63}, {-1, 64, -65}, {kMost, 0, kLeast}};
  for (int bits = 0; bits < 63; ++bits) all.push_back({std::int64_t{1} << bits, -(std::int64_t{1} << bits), bits});
  Trail trail;
  for (const Trail::Entry& entry : all) trail.push(entry);
  EXPECT_EQ(backwards(trail), Entries(all.rbegin(), all.rend()));
}

/// 100 ms of work, then a message that was under way for 3 ms and a wait that it ends; from a neighbour on each side.
void add_iteration(CriticalPath& path, int rank, int ranks, int k) {
  const auto at = [&](int ms) { return Time{} + std::chrono::milliseconds(110 * k + ms); };
  path.on({.time = at(100), .rank = rank, .what = EventKind::kGradient, .since = at(0)});
  for (const int peer : {(rank + 1) % ranks, (rank + ranks - 1) % ranks}) {
    path.on({.time = at(103), .rank = rank, .what = EventKind::kDeliver, .peer = peer, .since = at(100)});
  }
  path.on({.time = at(103), .rank = rank, .what = EventKind::kWait, .since = at(100), .text = "a neighbour"});
}

TEST(CriticalPath, KeepsAnEventInAFewBytes) {
  constexpr int kRanks = 64, kIterations = 400, kEvents = 4 * kRanks * kIterations;
  const std::size_t before = mallinfo2().uordblks;
  CriticalPath path(kRanks);
  for (int k = 0; k < kIterations; ++k) {
    for (int rank = 0; rank < kRanks; ++rank) add_iteration(path, rank, kRanks, k);
  }
  // Structs in vectors took 24 to 32 bytes each, and up to twice that while a vector grew.
  EXPECT_LT(double(mallinfo2().uordblks - before) / kEvents, 16);
}

}  // namespace
}  // namespace hopbench
