// Partial Reduce's controller without a cluster.
#include "protocols/groups/ready_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "backends/base/random.h"

namespace hopbench::groups {
namespace {

using Members = std::vector<int>;

std::optional<Members> group_from(ReadyQueue& queue, const Members& ready) {
  for (int worker : ready) queue.ready(worker);
  return queue.next_group();
}

TEST(ReadyQueue, GroupsTheFirstThatAreReady) {
  ReadyQueue queue(6, 3, 0);
  EXPECT_EQ(group_from(queue, {4, 2}), std::nullopt);
  EXPECT_EQ(group_from(queue, {5, 0}), (Members{2, 4, 5}));
  EXPECT_EQ(queue.next_group(), std::nullopt);
  EXPECT_EQ(group_from(queue, {1, 3}), (Members{0, 1, 3}));
}

TEST(ReadyQueue, KnowsHowFewGroupsConnectAll) {
  EXPECT_EQ(fewest_groups(8, 2), 7);
  EXPECT_EQ(fewest_groups(8, 3), 4);
  EXPECT_EQ(fewest_groups(8, 8), 1);
  EXPECT_EQ(fewest_groups(2, 2), 1);
}

TEST(ReadyQueue, LeavesFrozenGroupsAloneIfToldTo) {
  ReadyQueue queue(4, 2, 0);
  for (int round = 0; round < 10; ++round) {
    EXPECT_EQ(group_from(queue, {0, 1}), (Members{0, 1}));
    EXPECT_EQ(group_from(queue, {2, 3}), (Members{2, 3}));
  }
}

TEST(ReadyQueue, HoldsFrozenGroupsUntilTheyCanBeBridged) {
  ReadyQueue queue(4, 2, 4);
  EXPECT_EQ(group_from(queue, {0, 1}), (Members{0, 1}));
  EXPECT_EQ(group_from(queue, {2, 3}), (Members{2, 3}));
  EXPECT_EQ(group_from(queue, {0, 1}), (Members{0, 1}));
  EXPECT_EQ(group_from(queue, {3, 2}), std::nullopt);  // the window would end here, in two parts
  EXPECT_EQ(group_from(queue, {1}), (Members{1, 3}));
  EXPECT_EQ(queue.next_group(), std::nullopt);  // 2 is alone
}

TEST(ReadyQueue, LetsTheLastOnesGoOnAlone) {
  ReadyQueue queue(4, 3, 0);
  queue.ready(2);
  queue.left(0);
  EXPECT_TRUE(queue.stranded().empty());  // 1 and 3 may still come
  queue.left(1);
  EXPECT_EQ(queue.stranded(), (Members{2}));
  EXPECT_TRUE(queue.stranded().empty());
}

// Returns the number of parts that the last `window` groups leave of the workers that are here.
std::size_t parts(const std::vector<Members>& groups, int window, const std::set<int>& here, int workers) {
  std::vector<int> part;
  for (int w = 0; w < workers; ++w) part.push_back(w);
  for (std::size_t g = groups.size() - std::size_t(window); g < groups.size(); ++g) {
    for (int member : groups[g]) {
      const int from = part[std::size_t(member)], into = part[std::size_t(groups[g][0])];
      std::replace(part.begin(), part.end(), from, into);
    }
  }
  std::set<int> all;
  for (int w : here) all.insert(part[std::size_t(w)]);
  return all.size();
}

struct World {
  int workers, size, window;
};

World draw_world(Random& random) {
  const int workers = 2 + int(random.below(9));
  const int size = 2 + int(random.below(std::uint64_t(workers - 1)));
  const int fewest = fewest_groups(workers, size);
  return {workers, size, fewest + int(random.below(std::uint64_t(2 * fewest)))};
}

// Workers get ready in any order, some rarely; each does so many steps and leaves. Everybody gets to the end, groups
// are of the size, and all windows connect those that are here.
TEST(ReadyQueue, ConnectsEveryWindowInAnyOrderOfSignals) {
  std::int64_t looked = 0, held = 0;
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    Random random({.seed = seed, .purpose = Purpose::kTest});
    const World world = draw_world(random);
    ReadyQueue queue(world.workers, world.size, world.window);
    std::vector<int> steps(std::size_t(world.workers));
    for (int& left : steps) left = 1 + int(random.below(30));
    std::set<int> here;
    for (int w = 0; w < world.workers; ++w) here.insert(w);
    std::set<int> computing = here;
    std::vector<Members> groups;
    while (!here.empty()) {
      ASSERT_FALSE(computing.empty()) << "all wait, with seed " << seed;
      const bool rarely = random.chance(0.7);  // the first ones are faster
      const std::size_t turn = random.below(rarely ? (computing.size() + 1) / 2 : computing.size());
      const int w = *std::next(computing.begin(), std::ptrdiff_t(turn));
      computing.erase(w);
      if (steps[std::size_t(w)]-- > 0) {
        queue.ready(w);
      } else {
        queue.left(w);
        here.erase(w);
      }
      while (const auto group = queue.next_group()) {
        ASSERT_EQ(int(group->size()), world.size);
        ASSERT_EQ(std::set<int>(group->begin(), group->end()).size(), group->size());
        computing.insert(group->begin(), group->end());
        groups.push_back(*group);
        if (int(groups.size()) < world.window) continue;
        ++looked;
        ASSERT_EQ(parts(groups, world.window, here, world.workers), 1u) << "seed " << seed;
      }
      for (int alone : queue.stranded()) computing.insert(alone);
      held += int(here.size() - computing.size()) >= world.size ? 1 : 0;
    }
  }
  EXPECT_GT(looked, 10000);
  EXPECT_GT(held, 1000);  // the promise was kept by waiting, too
}

}  // namespace
}  // namespace hopbench::groups
