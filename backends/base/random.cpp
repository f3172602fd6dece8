#include "backends/base/random.h"

#include <Random123/philox.h>

#include <cmath>
#include <numbers>

#include "backends/base/error.h"

namespace hopbench {

// Counter: {block number, iteration low, iteration high xor rank, purpose and repeat}; key: the seed. Every part has
// bits of its own except that ranks share a word with iterations above 2^32, which no trial reaches.
Random::Random(const RandomKey& key)
    : key_{static_cast<std::uint32_t>(key.seed), static_cast<std::uint32_t>(key.seed >> 32)},
      counter_{0, static_cast<std::uint32_t>(static_cast<std::uint64_t>(key.iteration)),
               static_cast<std::uint32_t>(static_cast<std::uint64_t>(key.iteration) >> 32) ^
                   static_cast<std::uint32_t>(key.rank),
               (static_cast<std::uint32_t>(key.purpose) << 24) ^ key.repeat},
      block_{} {
  HB_ASSERT(key.repeat < (1u << 24));
}

void Random::refill() {
  using Philox = r123::Philox4x32;
  const Philox::ctr_type counter = {{counter_[0], counter_[1], counter_[2], counter_[3]}};
  const Philox::key_type key = {{key_[0], key_[1]}};
  const Philox::ctr_type block = Philox()(counter, key);
  for (std::size_t i = 0; i < 4; ++i) block_[i] = block[i];
  ++counter_[0];
  used_ = 0;
}

std::uint32_t Random::next_u32() {
  if (used_ == 4) refill();
  return block_[used_++];
}

std::uint64_t Random::next_u64() {
  const std::uint64_t high = next_u32();
  return (high << 32) | next_u32();
}

void Random::skip(std::size_t n) {
  const auto left = static_cast<std::size_t>(4 - used_);  // in the block
  if (n <= left) {
    used_ += static_cast<int>(n);
    return;
  }
  n -= left;
  counter_[0] += static_cast<std::uint32_t>(n / 4);
  used_ = 4;
  if (n % 4 == 0) return;
  refill();
  used_ = static_cast<int>(n % 4);
}

double Random::uniform() { return static_cast<double>(next_u64() >> 11) * 0x1.0p-53; }

std::uint64_t Random::below(std::uint64_t bound) {
  HB_ASSERT(bound > 0);
  const std::uint64_t rejected = (0 - bound) % bound;  // 2^64 mod bound: values below it would favour small results
  std::uint64_t value = next_u64();
  while (value < rejected) value = next_u64();
  return value % bound;
}

bool Random::chance(double probability) { return uniform() < probability; }

double Random::normal() {
  const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));  // 1 - u lies in (0, 1]
  return radius * std::cos(2.0 * std::numbers::pi * uniform());
}

double Random::exponential() { return -std::log(1.0 - uniform()); }

}  // namespace hopbench
