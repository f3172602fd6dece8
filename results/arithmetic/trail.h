// A list of entries of three whole numbers, in a few bytes per entry, that is read from its last entry to its first.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace hopbench {

/// A list that keeps each number as its difference to the same number of the entry before, seven bits in a byte.
/// Entries that resemble the one before, as times of a steady run do, take nine to ten bytes instead of 24 to 32.
class Trail {
 public:
  using Entry = std::array<std::int64_t, 3>;

  void push(const Entry& entry);

  /// A backward reader of a trail. Invalid once an entry is pushed onto the trail.
  class Reader {
   public:
    explicit Reader(const Trail& trail) : bytes_(trail.bytes_.data()), at_(trail.bytes_.size()), entry_(trail.last_) {}
    bool empty() const { return at_ == 0; }
    /// Returns the last entry that is left. Call it only while not empty.
    const Entry& last() const { return entry_; }
    /// Removes the last entry. Call it only while not empty.
    void pop();

   private:
    std::uint64_t number();

    const std::uint8_t* bytes_;
    std::size_t at_;
    Entry entry_;
  };

 private:
  std::vector<std::uint8_t> bytes_;
  Entry last_{};
};

}  // namespace hopbench
