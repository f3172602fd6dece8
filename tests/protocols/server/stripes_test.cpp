// Tests how parameter servers divide a model.
#include "protocols/server/stripes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace hopbench::server {
namespace {

/// Buckets of these sizes, the last layer first.
std::vector<Bucket> buckets_of(const std::vector<std::size_t>& sizes) {
  std::size_t end = std::accumulate(sizes.begin(), sizes.end(), std::size_t{0});
  std::vector<Bucket> buckets;
  for (const std::size_t size : sizes) buckets.push_back({.offset = end -= size, .size = size, .done_at = 1.0});
  return buckets;
}

Vec counted(std::size_t size) {
  std::vector<float> values(size);
  std::iota(values.begin(), values.end(), 0.0f);
  return Vec::from_host(values);
}

std::vector<float> taken(const std::vector<Bucket>& buckets, std::size_t i, std::size_t n, std::size_t size) {
  return Vec::copy_of(Stripes(buckets, i, n).taken(counted(size).share())).to_host();
}

TEST(Stripes, AreARunOfEachLayerInTheOrderOfTheModel) {
  const auto buckets = buckets_of({4, 6});  // the last layer is 6 to 9
  EXPECT_EQ(taken(buckets, 0, 2, 10), (std::vector<float>{0, 1, 2, 6, 7}));
  EXPECT_EQ(taken(buckets, 1, 2, 10), (std::vector<float>{3, 4, 5, 8, 9}));
}

TEST(Stripes, DealWhatIsLeftOverInTurn) {
  const auto buckets = buckets_of({4, 4, 1});  // dealt to 0 1 2 0, then to 1 2 0 1, then to 2
  EXPECT_EQ(taken(buckets, 0, 3, 9), (std::vector<float>{1, 5, 6}));
  EXPECT_EQ(taken(buckets, 1, 3, 9), (std::vector<float>{2, 3, 7}));
  EXPECT_EQ(taken(buckets, 2, 3, 9), (std::vector<float>{0, 4, 8}));
}

TEST(Stripes, CoverEachNumberOnceAndEvenly) {
  const std::vector<std::vector<std::size_t>> models = {
      {1}, {7}, {5, 0, 3, 1}, {10, 1, 1, 1, 250}, {1, 1, 1, 1, 1, 1, 1, 1}};
  for (const auto& sizes : models) {
    const auto buckets = buckets_of(sizes);
    const std::size_t size = buckets.front().offset + buckets.front().size;
    for (std::size_t n = 1; n <= std::min<std::size_t>(size, 9); ++n) {
      Vec whole(size);
      std::vector<std::size_t> kept;
      for (std::size_t i = 0; i < n; ++i) {
        const Stripes stripes(buckets, i, n);
        kept.push_back(stripes.size());
        Vec own = Vec::copy_of(stripes.taken(counted(size).share()));
        for (std::size_t b = 0; b < buckets.size(); ++b) {
          const std::size_t least = buckets[b].size / n, here = stripes.of(b).model.size;
          EXPECT_TRUE(here == least || here == least + 1)
              << "bucket " << b << " of " << size << ", " << n << " servers";
        }
        Vec sum(size);
        stripes.put(own.share(), sum);
        whole.add(sum.share());
      }
      EXPECT_EQ(whole.to_host(), counted(size).to_host()) << n << " servers";
      EXPECT_LE(*std::max_element(kept.begin(), kept.end()) - *std::min_element(kept.begin(), kept.end()), 1U);
      EXPECT_GE(*std::min_element(kept.begin(), kept.end()), 1U) << "nobody is without";
    }
  }
}

TEST(Stripes, OfOneLayerAreViews) {
  const Vec model = counted(10);
  const Stripes stripes(buckets_of({10}), 1, 2);
  EXPECT_EQ(stripes.taken(model.share()).data(), model.data() + 5);
}

TEST(Stripes, OfOneServerAreTheWholeModel) {
  const Vec model = counted(10);
  EXPECT_EQ(Stripes(buckets_of({4, 6}), 0, 1).taken(model.share()).data(), model.data());
}

TEST(Stripes, TellHowMuchLiesBeforeAPlace) {
  const Stripes stripes(buckets_of({4, 6}), 1, 2);  // 3 to 5, 8 and 9
  EXPECT_EQ(stripes.before(0), 0U);
  EXPECT_EQ(stripes.before(4), 1U);
  EXPECT_EQ(stripes.before(8), 3U);
  EXPECT_EQ(stripes.before(10), 5U);
}

}  // namespace
}  // namespace hopbench::server
