// Compressed vectors: the message that is sent for a vector, and the vector that it stands for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backends/base/random.h"
#include "backends/base/vec.h"

namespace hopbench::compressed {

/// A compressor Q of one method. A message consists of floats, some of which hold packed bits, so that the network
/// carries, and is charged for, what the method costs.
///   none      x itself
///   sign      |x|_1 / n and n signs, a bit each
///   top_k     the k = share * n entries of largest modulus, with their places
///   random_k  k entries at random places, which follow from a number that is sent along
///   qsgd      |x|_2 and n bytes, each a sign and one of 127 levels, rounded at random so that Q is unbiased.
///             The result is divided by 1 + min(n / 127^2, sqrt(n) / 127),
///             so that |Q(x) - x| < |x|
class Compressor {
 public:
  Compressor(std::string method, double share) : method_(std::move(method)), share_(share) {}
  static const std::vector<std::string>& methods();

  /// Returns the message for x.
  Vec pack(const Vec& x, Random random) const;
  /// Returns true if Q(x) has few numbers that are not 0.
  bool keeps_few() const { return method_ == "top_k" || method_ == "random_k"; }
  /// Returns Q(x), of size n, from a message for x.
  Vec unpack(const Payload& message, std::size_t n) const;

 private:
  std::size_t kept(std::size_t n) const;  // k
  std::vector<std::uint32_t> drawn(std::uint32_t number, std::size_t n) const;

  std::string method_;
  double share_;
};

}  // namespace hopbench::compressed
