// Passes over host memory that are written for its speed: the same bits, wherever they run.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "backends/base/space.h"

namespace hopbench {
namespace {

std::vector<float> fractions(std::size_t n, std::size_t seed) {
  std::vector<float> all(n);
  for (std::size_t i = 0; i < n; ++i) all[i] = float((i * 7919 + seed * 104'729) % 1013) / 1013.0F - 0.4F;
  return all;
}

TEST(SpacePasses, CopiesAtAnyLengthAndPlace) {
  const std::size_t most = (std::size_t(4) << 20) + 40;  // from 4 Mi floats on, past the caches
  std::vector<float> from(most), to;
  for (std::size_t i = 0; i < most; ++i) from[i] = float(i % 1021);
  for (const std::size_t n : {std::size_t(0), std::size_t(1), std::size_t(17), most - 40, most - 33, most - 8}) {
    for (const std::size_t at : {0, 1, 4}) {
      to.assign(most, -1.0F);
      host_space().copy(to.data() + at, from.data() + 3, n);
      EXPECT_TRUE(std::equal(from.begin() + 3, from.begin() + 3 + std::ptrdiff_t(n), to.begin() + std::ptrdiff_t(at)))
          << n;
      EXPECT_EQ(std::count(to.begin(), to.end(), -1.0F), std::ptrdiff_t(most - n)) << n;
    }
  }
}

// Sixteen sums, of eight pages in turn: parameters that went through a norm have the same bits on every processor.
TEST(SpacePasses, AddsUpAProductInOneOrderOnEveryProcessor) {
  const std::size_t page = 1024, block = 8 * page;
  for (const std::size_t n : {std::size_t(5), block - 1, block, 3 * block + 2 * page + 37}) {
    const std::vector<float> x = fractions(n, 1), y = fractions(n, 2);
    for (const std::vector<float>* other : {&x, &y}) {
      std::vector<double> sums(16, 0.0);
      const auto add = [&](std::size_t i) {
        for (std::size_t j = 0; j < 16; ++j) sums[j] += double(x[i + j]) * double((*other)[i + j]);
      };
      std::size_t begin = 0;
      for (; begin + block <= n; begin += block)
        for (std::size_t i = 0; i < page; i += 16)
          for (std::size_t p = 0; p < 8; ++p) add(begin + i + p * page);
      for (; begin + 16 <= n; begin += 16) add(begin);
      double total = 0;
      for (const double sum : sums) total += sum;
      for (; begin < n; ++begin) total += double(x[begin]) * double((*other)[begin]);
      EXPECT_EQ(host_space().dot(x.data(), other->data(), n), total) << n;
    }
  }
}

}  // namespace
}  // namespace hopbench
