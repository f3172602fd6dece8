#include "results/arithmetic/trail.h"

namespace hopbench {
namespace {

constexpr unsigned kBits = 7;  // of a number in each byte
constexpr std::uint8_t kMask = 0x7f, kMore = 0x80;
constexpr std::size_t kMostOfANumber = (64 + kBits - 1) / kBits;

// Small differences of either sign become small numbers: 0, -1, 1, -2 are 0, 1, 2, 3. Differences wrap around, so every
// pair of numbers has one.
std::uint64_t folded(std::int64_t now, std::int64_t before) {
  const std::uint64_t difference = std::uint64_t(now) - std::uint64_t(before);
  return (difference << 1U) ^ (difference >> 63U != 0 ? ~std::uint64_t{0} : 0);
}

std::int64_t unfolded(std::uint64_t number, std::int64_t now) {
  const std::uint64_t difference = (number >> 1U) ^ ((number & 1U) != 0 ? ~std::uint64_t{0} : 0);
  return std::int64_t(std::uint64_t(now) - difference);
}

}  // namespace

// Writes the entry from its end to its start. The last byte of each number has its lowest bits, and kMore in a byte
// says that the byte before has higher ones. So numbers are read backwards.
void Trail::push(const Entry& entry) {
  std::array<std::uint8_t, std::tuple_size_v<Entry> * kMostOfANumber> bytes{};
  std::size_t at = bytes.size();
  for (std::size_t i = entry.size(); i-- > 0;) {
    std::uint64_t number = folded(entry[i], last_[i]);
    do {
      const std::uint64_t higher = number >> kBits;
      bytes[--at] = std::uint8_t(number & kMask) | (higher != 0 ? kMore : 0);
      number = higher;
    } while (number != 0);
  }
  last_ = entry;
  // Grows by a quarter. With many trails at once, doubling would leave much memory unused.
  if (bytes_.capacity() - bytes_.size() < bytes.size() - at)
    bytes_.reserve(bytes_.size() + bytes_.size() / 4 + 2 * bytes.size());
  bytes_.insert(bytes_.end(), bytes.begin() + std::ptrdiff_t(at), bytes.end());
}

std::uint64_t Trail::Reader::number() {
  std::uint64_t number = 0;
  for (unsigned shift = 0;; shift += kBits) {
    const std::uint8_t byte = bytes_[--at_];
    number |= std::uint64_t(byte & kMask) << shift;
    if ((byte & kMore) == 0) return number;
  }
}

void Trail::Reader::pop() {
  for (std::size_t i = entry_.size(); i-- > 0;) entry_[i] = unfolded(number(), entry_[i]);
}

}  // namespace hopbench
