#include "backends/runtime/mailbox.h"

#include <gtest/gtest.h>

#include <vector>

#include "backends/base/random.h"

namespace hopbench {
namespace {

constexpr Kind kUpdate{1}, kPermit{2};

Message message(Kind kind, Iter k, int from) { return {.from = from, .kind = kind, .iter = k}; }

std::vector<int> senders(const std::vector<Message>& messages) {
  std::vector<int> all;
  for (const Message& m : messages) all.push_back(m.from);
  return all;
}

TEST(Mailbox, TakesTheOldestThatMatches) {
  Mailbox box;
  box.put(message(kUpdate, 5, 0));
  box.put(message(kPermit, 5, 1));
  box.put(message(kUpdate, 4, 2));
  box.put(message(kUpdate, 5, 3));
  EXPECT_EQ(box.take(is(kUpdate, 5))->from, 0);
  EXPECT_EQ(box.take(is(kUpdate))->from, 2);
  EXPECT_EQ(box.take(is_from(kUpdate, 3))->from, 3);
  EXPECT_FALSE(box.take(is(kUpdate)));
  EXPECT_EQ(box.size(), 1U);
  EXPECT_EQ(box.take(is(kPermit))->from, 1);
}

TEST(Mailbox, TakesAllInOrderOfArrivalAndLeavesTheRest) {
  Mailbox box;
  for (int i = 0; i < 6; ++i) box.put(message(kUpdate, i % 2, i));
  EXPECT_EQ(senders(box.take_all(is(kUpdate, 1))), (std::vector<int>{1, 3, 5}));
  EXPECT_EQ(senders(box.take_all(is(kUpdate))), (std::vector<int>{0, 2, 4}));
  EXPECT_TRUE(box.take_all(is(kPermit)).empty());
}

TEST(Mailbox, PeeksWithoutTaking) {
  Mailbox box;
  EXPECT_EQ(box.peek(is(kUpdate)), nullptr);
  box.put(message(kUpdate, 1, 7));
  ASSERT_NE(box.peek(is(kUpdate, 1)), nullptr);
  EXPECT_EQ(box.peek(is(kUpdate, 1))->from, 7);
  EXPECT_EQ(box.peek(is(kUpdate, 2)), nullptr);
  EXPECT_TRUE(box.has(is_from(kUpdate, 7)));
  EXPECT_EQ(box.size(), 1U);
}

TEST(Mailbox, DropsWhatIsIgnoredHereAndStillToCome) {
  Mailbox box;
  box.put(message(kUpdate, 1, 0));
  box.put(message(kUpdate, 3, 1));
  EXPECT_EQ(senders(box.ignore(is_before(kUpdate, 3))), (std::vector<int>{0}));
  EXPECT_FALSE(box.put(message(kUpdate, 2, 2)));
  EXPECT_TRUE(box.put(message(kUpdate, 3, 3)));
  EXPECT_TRUE(box.put(message(kPermit, 2, 2)));
  EXPECT_EQ(box.count(is(kUpdate)), 2U);
}

TEST(Mailbox, IgnoresOneSenderOnly) {
  Mailbox box;
  box.ignore(is_from(kUpdate, 4));
  EXPECT_FALSE(box.put(message(kUpdate, 0, 4)));
  EXPECT_TRUE(box.put(message(kUpdate, 0, 5)));
}

TEST(Mailbox, KeepsOneRangeWhenEverythingBeforeKIsIgnoredAgainAndAgain) {
  Mailbox box;
  for (Iter k = 0; k < 1000; ++k) {
    box.ignore(is_before(kUpdate, k));
    box.ignore(is(kPermit, k));  // single iterations that touch
  }
  EXPECT_EQ(box.ignored_ranges(), 2U);
  EXPECT_FALSE(box.put(message(kPermit, 999, 0)));
  EXPECT_TRUE(box.put(message(kPermit, 1000, 0)));
}

TEST(Mailbox, JoinsIgnoredRangesAcrossAGapThatIsFilledLater) {
  Mailbox box;
  box.ignore(is(kUpdate, 1));
  box.ignore(is(kUpdate, 3));
  EXPECT_TRUE(box.put(message(kUpdate, 2, 0)));
  EXPECT_EQ(box.ignored_ranges(), 2U);
  EXPECT_EQ(box.ignore(is(kUpdate, 2)).size(), 1U);
  EXPECT_EQ(box.ignored_ranges(), 1U);
}

TEST(Mailbox, LetsAWiderIgnoreSwallowTheNarrower) {
  Mailbox box;
  box.ignore(is_from(kUpdate, 1, 5));
  box.ignore(is_from(kUpdate, 2, 9));
  EXPECT_EQ(box.ignored_ranges(), 2U);
  box.ignore(is_before(kUpdate, 8));  // of anyone: covers 5 of sender 1, not 9 of sender 2
  EXPECT_EQ(box.ignored_ranges(), 2U);
  box.ignore(is_from(kUpdate, 1, 3));  // covered already
  EXPECT_EQ(box.ignored_ranges(), 2U);
  box.ignore(is(kUpdate));
  EXPECT_EQ(box.ignored_ranges(), 1U);
}

TEST(Mailbox, AgreesWithAPlainListOverRandomUse) {
  Random random({.purpose = Purpose::kTest});
  Mailbox box;
  std::vector<Message> list;
  const auto any_match = [&] {
    const Kind kind = random.chance(0.5) ? kUpdate : kPermit;
    const auto k = static_cast<Iter>(random.below(6));
    const int from = static_cast<int>(random.below(4));
    const Match all[] = {is(kind), is(kind, k), is_before(kind, k), is_from(kind, from), is_from(kind, from, k)};
    return all[random.below(5)];
  };
  for (int step = 0; step < 20'000; ++step) {
    const Match match = any_match();
    const auto first = std::find_if(list.begin(), list.end(), [&](const Message& m) { return match.admits(m); });
    const auto n = std::count_if(list.begin(), list.end(), [&](const Message& m) { return match.admits(m); });
    ASSERT_EQ(box.count(match), static_cast<std::size_t>(n));
    ASSERT_EQ(box.has(match), n > 0);
    if (random.chance(0.45)) {
      const auto taken = box.take(match);
      ASSERT_EQ(taken.has_value(), n > 0);
      if (n == 0) continue;
      ASSERT_EQ(taken->bytes, first->bytes);
      list.erase(first);
    } else if (random.chance(0.02)) {
      ASSERT_EQ(box.take_all(match).size(), static_cast<std::size_t>(n));
      std::erase_if(list, [&](const Message& m) { return match.admits(m); });
    } else {
      Message m = message(random.chance(0.5) ? kUpdate : kPermit, static_cast<Iter>(random.below(6)),
                          static_cast<int>(random.below(4)));
      m.bytes = step;  // tells them apart
      list.push_back(m);
      box.put(m);
    }
    ASSERT_EQ(box.size(), list.size());
  }
}

TEST(Mailbox, DropsAllOfARankThatIsShutButReservedKinds) {
  Mailbox box;
  box.put(message(kUpdate, 1, 0));
  box.put(message(kPermit, 2, 0));
  box.put(message(kUpdate, 3, 1));
  box.put(message(kBye, 4, 0));
  EXPECT_EQ(senders(box.shut(0)), (std::vector<int>{0, 0}));
  EXPECT_EQ(box.size(), 2U);
  EXPECT_FALSE(box.put(message(kUpdate, 5, 0)));
  EXPECT_TRUE(box.put(message(kUpdate, 5, 1)));
  EXPECT_TRUE(box.put(message(kFirstReserved, 5, 0)));
  EXPECT_TRUE(box.is_shut(0));
  EXPECT_FALSE(box.is_shut(1));
  box.open(0);
  EXPECT_TRUE(box.put(message(kUpdate, 6, 0)));
  EXPECT_EQ(box.count(is(kUpdate)), 3U);
}

}  // namespace
}  // namespace hopbench
