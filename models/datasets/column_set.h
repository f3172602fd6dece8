// The set of used columns out of 2^32, and the position of each among them.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace hopbench {

/// A bitmap of columns in pages of 2^16, which are allocated on first use. All trigrams of bytes take 2 MB.
class ColumnSet {
 public:
  ColumnSet() : pages_(kPages) {}
  void add(std::uint32_t column) {
    auto& page = pages_[column >> 16];
    if (!page) page = std::make_unique<Page>();
    page->bits[column >> 6 & 1023] |= std::uint64_t{1} << (column & 63);
  }
  void add(const ColumnSet& other) {
    for (std::size_t p = 0; p < kPages; ++p) {
      if (!other.pages_[p]) continue;
      if (!pages_[p]) pages_[p] = std::make_unique<Page>();
      for (std::size_t w = 0; w < kWords; ++w) pages_[p]->bits[w] |= other.pages_[p]->bits[w];
    }
  }
  /// Returns all columns, ascending. place() may be called from then on.
  std::vector<std::uint32_t> number() {
    std::vector<std::uint32_t> all;
    for (std::size_t p = 0; p < kPages; ++p) {
      for (std::size_t w = 0; pages_[p] && w < kWords; ++w) {
        pages_[p]->before[w] = static_cast<std::uint32_t>(all.size());
        for (std::uint64_t left = pages_[p]->bits[w]; left != 0; left &= left - 1)
          all.push_back(
              static_cast<std::uint32_t>(p << 16 | w << 6 | static_cast<std::size_t>(std::countr_zero(left))));
      }
    }
    return all;
  }
  /// Returns the number of columns of the set that are smaller than `column`, which must be in the set.
  std::uint32_t place(std::uint32_t column) const {
    const Page& page = *pages_[column >> 16];
    const std::size_t word = column >> 6 & 1023;
    const std::uint64_t below = page.bits[word] & ((std::uint64_t{1} << (column & 63)) - 1);
    return page.before[word] + static_cast<std::uint32_t>(std::popcount(below));
  }

 private:
  static constexpr std::size_t kPages = 1 << 16, kWords = 1024;
  struct Page {
    std::array<std::uint64_t, kWords> bits{};
    std::array<std::uint32_t, kWords> before{};  // columns of the set before this word's
  };
  std::vector<std::unique_ptr<Page>> pages_;
};

}  // namespace hopbench
