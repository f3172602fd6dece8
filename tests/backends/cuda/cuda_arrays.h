// The GPU's memory for tests: what is put there, and read back, with unused memory around it that must stay as it was.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "backends/base/random.h"
#include "backends/cuda/device.h"
#include "backends/cuda/kernels/kernels.h"
#include "tests/backends/cuda/on_gpu.h"

namespace hopbench::cuda {

inline Stream stream() { return Device::mine().vectors(); }

/// Values on the device, `skew` of them behind an aligned address.
template <class T>
class Held {
 public:
  Held(const std::vector<T>& values, std::size_t skew)
      : skew_(skew), size_(values.size()), memory_((skew + size_ + kAround) * sizeof(T)) {
    std::vector<unsigned char> all(memory_.bytes(), kUnused);
    if (size_ > 0) std::memcpy(all.data() + skew * sizeof(T), values.data(), size_ * sizeof(T));
    copy(stream(), memory_.data(), all.data(), all.size());
    wait_for(stream());
  }
  T* data() const { return memory_.template as<T>() + skew_; }
  operator T*() const { return data(); }

  std::vector<T> get() const {
    std::vector<unsigned char> all(memory_.bytes());
    copy(stream(), all.data(), memory_.data(), all.size());
    wait_for(stream());
    const auto begin = all.begin() + std::ptrdiff_t(skew_ * sizeof(T)), end = begin + std::ptrdiff_t(size_ * sizeof(T));
    const auto unused = [](unsigned char byte) { return byte == kUnused; };
    EXPECT_TRUE(std::all_of(all.begin(), begin, unused)) << "something was written in front of " << size_ << " values";
    EXPECT_TRUE(std::all_of(end, all.end(), unused)) << "something was written behind " << size_ << " values";
    std::vector<T> values(size_);
    if (size_ > 0) std::memcpy(values.data(), &*begin, size_ * sizeof(T));
    return values;
  }

 private:
  static constexpr std::size_t kAround = 32;
  static constexpr unsigned char kUnused = 0xa5;
  std::size_t skew_, size_;
  Buffer memory_;
};

template <class T>
Held<T> put(const std::vector<T>& values, std::size_t skew = 0) {
  return Held<T>(values, skew);
}
/// n floats that are none.
inline Held<float> poisoned(std::size_t n, std::size_t skew = 0) {
  return put(std::vector<float>(n, std::numeric_limits<float>::quiet_NaN()), skew);
}

/// The upper half of a float: to the nearer one, of two as near to the even one.
inline std::uint16_t bf16_of(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t down = bits >> 16, cut = bits & 0xffff;
  if (std::isnan(x)) return 0x7fff;
  return std::uint16_t(cut > 0x8000 || (cut == 0x8000 && down % 2 == 1) ? down + 1 : down);
}
inline float float_of(std::uint16_t bf16) { return std::bit_cast<float>(std::uint32_t(bf16) << 16); }
inline float rounded(Number number, float x) { return number == Number::kFloat ? x : float_of(bf16_of(x)); }
inline std::vector<float> rounded(Number number, std::vector<float> values) {
  for (float& value : values) value = rounded(number, value);
  return values;
}

/// Activations: floats, kept as `number`. What is read back are floats again.
class Activations {
 public:
  Activations(Number number, const std::vector<float>& values, std::size_t skew = 0)
      : number_(number),
        floats_(number == Number::kFloat ? values : std::vector<float>(), skew),
        halves_(number == Number::kFloat ? std::vector<std::uint16_t>() : halves_of(values), skew) {}
  static Activations poisoned(Number number, std::size_t n, std::size_t skew = 0) {
    return {number, std::vector<float>(n, std::numeric_limits<float>::quiet_NaN()), skew};
  }

  void* data() const {
    return number_ == Number::kFloat ? static_cast<void*>(floats_.data()) : static_cast<void*>(halves_.data());
  }
  operator void*() const { return data(); }
  std::vector<float> get() const {
    if (number_ == Number::kFloat) return floats_.get();
    std::vector<float> values;
    for (const std::uint16_t half : halves_.get()) values.push_back(float_of(half));
    return values;
  }

 private:
  static std::vector<std::uint16_t> halves_of(const std::vector<float>& values) {
    std::vector<std::uint16_t> halves;
    for (const float value : values) halves.push_back(bf16_of(value));
    return halves;
  }
  Number number_;
  Held<float> floats_;
  Held<std::uint16_t> halves_;
};

inline constexpr Number kNumbers[] = {Number::kFloat, Number::kBf16};
/// Returns the largest error of rounding to `number`, as a share of the number; a last bit more where sums are rounded.
inline double precision_of(Number number) { return number == Number::kFloat ? 1e-6 : 0.0040; }

inline std::vector<float> normals_of(std::size_t n, std::int64_t draw) {
  Random random({.seed = 7, .purpose = Purpose::kTest, .iteration = draw});
  std::vector<float> values(n);
  for (float& value : values) value = float(random.normal());
  return values;
}
/// Returns whole numbers of which many are equal.
inline std::vector<float> levels_of(std::size_t n, std::int64_t draw) {
  std::vector<float> values = normals_of(n, draw);
  for (float& value : values) value = std::round(value);
  return values;
}

/// Bit by bit: a zero's sign too.
inline void expect_same_bits(const std::vector<float>& got, const std::vector<float>& expected,
                             const std::string& what) {
  ASSERT_EQ(got.size(), expected.size()) << what;
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(std::bit_cast<std::uint32_t>(got[i]), std::bit_cast<std::uint32_t>(expected[i]))
        << what << ": [" << i << "] is " << got[i] << ", not " << expected[i];
  }
}

/// Within `relative` of each number, or of `floor` where that is larger.
inline void expect_close(const std::vector<float>& got, const std::vector<double>& expected, double relative,
                         double floor, const std::string& what) {
  ASSERT_EQ(got.size(), expected.size()) << what;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double allowed = relative * std::max(std::abs(expected[i]), floor);
    ASSERT_LE(std::abs(double(got[i]) - expected[i]), allowed)
        << what << ": [" << i << "] is " << got[i] << ", not " << expected[i];
  }
}
inline double largest_of(const std::vector<double>& values) {
  double largest = 0;
  for (const double value : values) largest = std::max(largest, std::abs(value));
  return largest;
}

}  // namespace hopbench::cuda
