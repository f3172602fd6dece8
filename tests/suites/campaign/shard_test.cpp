// The division of trials among shards.
#include "suites/campaign/shard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "tests/said.h"

namespace hopbench {
namespace {

using testing::HasSubstr;

std::string shards_of(std::size_t places, int of) {
  std::string text;
  for (std::size_t place = 0; place < places; ++place) text += std::to_string(shard_of_place(place, of) - 1);
  return text;
}

// The sequences A010060 and A053838 of the OEIS.
TEST(ShardOfPlace, IsTheThueMorseSequence) {
  EXPECT_EQ(shards_of(16, 2), "0110100110010110");
  EXPECT_EQ(shards_of(27, 3), "012120201120201012201012120");
  EXPECT_EQ(shards_of(5, 1), "00000");
}

TEST(ShardOfPlace, GivesEachShardOneOfEachGroup) {
  for (const int of : {2, 3, 7, 64}) {
    const auto size = static_cast<std::size_t>(of);
    for (std::size_t group = 0; group < 40; ++group) {
      std::set<int> numbers;
      for (std::size_t i = 0; i < size; ++i) numbers.insert(shard_of_place(group * size + i, of));
      EXPECT_EQ(numbers.size(), size);
      EXPECT_EQ(*numbers.begin(), 1);
      EXPECT_EQ(*numbers.rbegin(), of);
    }
  }
}

// With `place % of`, one shard would have all trials of a variant that comes round every `of` trials.
TEST(ShardOfPlace, LeavesNoVariantToOneShard) {
  for (const int of : {2, 4, 8}) {
    for (const std::size_t variants : {2u, 4u, 6u, 9u}) {
      for (std::size_t variant = 0; variant < variants; ++variant) {
        std::set<int> numbers;
        for (std::size_t repeat = 0; repeat < 64; ++repeat)
          numbers.insert(shard_of_place(repeat * variants + variant, of));
        EXPECT_EQ(numbers.size(), static_cast<std::size_t>(of)) << of << " shards, variant " << variant;
      }
    }
  }
}

TEST(ShardInContext, IsReadAsItWasWritten) {
  const RunShard shard{2, 5, "a|\"b\"", "c", "all", 7, {"params", "samples"}};
  const auto read = shard_in("{\"shard\": " + to_json(shard) + "}", "x");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->name(), "2/5");
  EXPECT_EQ(difference(*read, shard), "");
  EXPECT_FALSE(shard_in("{}", "x"));
  for (const char* wrong : {"3", "{}", "{\"number\": 1}", "[]"}) {
    EXPECT_THAT(said_by([&] { shard_in(std::string("{\"shard\": ") + wrong + "}", "x"); }),
                HasSubstr("x/context.json is damaged"))
        << wrong;
  }
}

TEST(ShardFlags, AreThoseToRunItWith) {
  EXPECT_EQ(shard_flags({2, 5, "a|b", "", "all", 7, {"params", "samples"}}),
            " --shard 2/5 --filter 'a|b' --events all --shuffle 7 --dump 'params,samples'");
  EXPECT_EQ(shard_flags({1, 2, "", "", "brief", 0, {}}), " --shard 1/2");
}

}  // namespace
}  // namespace hopbench
