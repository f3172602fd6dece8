// Compressed vectors: what is sent instead of one, and what it then stands for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backends/base/random.h"
#include "backends/base/vec.h"

namespace hopbench {

/// Q(x), of one method. A message has floats and packed bits in floats of its own, so that the wire carries, and is
/// charged, what the method costs.
///   none      x itself
///   sign      |x|_1 / n and n signs, a bit each
///   top_k     the k = share * n entries of largest modulus, with their places
///   random_k  k entries at random places, which follow from a number that is sent along
///   qsgd      |x|_2 and n bytes: a sign and one of 127 levels, rounded at random so that Q is unbiased, then divided
///   by
///             1 + min(n / 127^2, sqrt(n) / 127), so that |Q(x) - x| < |x|
class Compressor {
 public:
  Compressor(std::string method, double share) : method_(std::move(method)), share_(share) {}
  static const std::vector<std::string>& methods();

  /// The message for x.
  Vec pack(const Vec& x, Random random) const;
  /// Q(x), of size n, of a message for x.
  Vec unpack(const Payload& message, std::size_t n) const;

 private:
  std::size_t kept(std::size_t n) const;  // k
  std::vector<std::uint32_t> drawn(std::uint32_t number, std::size_t n) const;

  std::string method_;
  double share_;
};

}  // namespace hopbench
