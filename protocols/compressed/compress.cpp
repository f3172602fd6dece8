#include "protocols/compressed/compress.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>

#include "backends/base/error.h"

namespace hopbench::compressed {
namespace compress {

using Floats = std::vector<float>;

constexpr std::uint32_t kLevels = 127;

float packed(std::uint32_t bits) { return std::bit_cast<float>(bits); }
std::uint32_t bits_of(float packed) { return std::bit_cast<std::uint32_t>(packed); }

std::size_t divided_up(std::size_t n, std::size_t by) { return (n + by - 1) / by; }

Floats signs(const Floats& x) {
  Floats message(1 + divided_up(x.size(), 32), 0.0f);
  double sum = 0;
  std::vector<std::uint32_t> words(message.size() - 1, 0);
  for (std::size_t i = 0; i < x.size(); ++i) {
    sum += std::abs(static_cast<double>(x[i]));
    if (x[i] < 0) words[i / 32] |= std::uint32_t{1} << (i % 32);
  }
  message[0] = static_cast<float>(sum / static_cast<double>(x.size()));
  std::transform(words.begin(), words.end(), message.begin() + 1, packed);
  return message;
}

Floats from_signs(const Floats& message, std::size_t n) {
  Floats x(n);
  for (std::size_t i = 0; i < n; ++i) {
    const bool negative = (bits_of(message[1 + i / 32]) >> (i % 32) & 1) != 0;
    x[i] = negative ? -message[0] : message[0];
  }
  return x;
}

/// A number that is none counts as the largest, so that it shows.
float modulus(float number) { return std::isnan(number) ? std::numeric_limits<float>::infinity() : std::abs(number); }

/// Returns the places of the k entries of largest modulus, ascending. Among equal entries, the first are taken.
std::vector<std::uint32_t> largest(const Floats& x, std::size_t k) {
  std::vector<std::uint32_t> places(x.size());
  std::iota(places.begin(), places.end(), 0u);
  const auto larger = [&](std::uint32_t a, std::uint32_t b) {
    const float left = modulus(x[a]), right = modulus(x[b]);
    return left != right ? left > right : a < b;
  };
  std::nth_element(places.begin(), places.begin() + static_cast<std::ptrdiff_t>(k - 1), places.end(), larger);
  places.resize(k);
  std::sort(places.begin(), places.end());
  return places;
}

double qsgd_damping(std::size_t n) {
  const double s = kLevels, size = static_cast<double>(n);
  return 1 + std::min(size / (s * s), std::sqrt(size) / s);
}

Floats levels(const Floats& x, Random random) {
  double squares = 0;
  for (float v : x) squares += static_cast<double>(v) * static_cast<double>(v);
  const double norm = std::sqrt(squares);
  std::vector<std::uint32_t> words(divided_up(x.size(), 4), 0);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double exact = norm > 0 && std::isfinite(norm) ? kLevels * std::abs(static_cast<double>(x[i])) / norm : 0;
    const auto level = std::min(kLevels, static_cast<std::uint32_t>(exact + random.uniform()));
    words[i / 4] |= (level | (x[i] < 0 ? 0x80u : 0u)) << (8 * (i % 4));
  }
  Floats message(1 + words.size());
  message[0] = static_cast<float>(norm);
  std::transform(words.begin(), words.end(), message.begin() + 1, packed);
  return message;
}

Floats from_levels(const Floats& message, std::size_t n) {
  const double step = message[0] / (kLevels * qsgd_damping(n));
  Floats x(n);
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint32_t byte = bits_of(message[1 + i / 4]) >> (8 * (i % 4)) & 0xFF;
    const double value = step * (byte & 0x7F);
    x[i] = static_cast<float>((byte & 0x80) != 0 ? -value : value);
  }
  return x;
}

}  // namespace compress

const std::vector<std::string>& Compressor::methods() {
  static const std::vector<std::string> all = {"sign", "top_k", "random_k", "qsgd", "none"};
  return all;
}

std::size_t Compressor::kept(std::size_t n) const {
  const double k = std::ceil(share_ * static_cast<double>(n));
  return std::clamp(static_cast<std::size_t>(k), std::size_t{1}, n);
}

std::vector<std::uint32_t> Compressor::drawn(std::uint32_t number, std::size_t n) const {
  std::vector<std::uint32_t> places(n);
  std::iota(places.begin(), places.end(), 0u);
  Random random({.seed = number, .purpose = Purpose::kProtocol});
  const std::size_t k = kept(n);
  for (std::size_t i = 0; i < k; ++i) std::swap(places[i], places[i + random.below(n - i)]);
  places.resize(k);
  return places;
}

Vec Compressor::pack(const Vec& x, Random random) const {
  using namespace compress;
  if (method_ == "none") return Vec::copy_of(share(x));
  const Floats values = x.to_host();
  if (method_ == "sign") return Vec::from_host(signs(values), x.space());
  if (method_ == "qsgd") return Vec::from_host(levels(values, random), x.space());
  const bool top = method_ == "top_k";
  HB_ASSERT(top || method_ == "random_k");
  const std::uint32_t number = random.next_u32();
  const std::vector<std::uint32_t> places = top ? largest(values, kept(x.size())) : drawn(number, x.size());
  Floats message;
  for (std::uint32_t place : places) message.push_back(values[place]);
  if (top) std::transform(places.begin(), places.end(), std::back_inserter(message), packed);
  if (!top) message.push_back(packed(number));
  return Vec::from_host(message, x.space());
}

Vec Compressor::unpack(const Payload& message, std::size_t n) const {
  using namespace compress;
  if (method_ == "none") return Vec::copy_of(message);
  const Floats packed_floats = Vec::copy_of(message).to_host();
  if (method_ == "sign") return Vec::from_host(from_signs(packed_floats, n), message.space());
  if (method_ == "qsgd") return Vec::from_host(from_levels(packed_floats, n), message.space());
  const std::size_t k = kept(n);
  const bool top = method_ == "top_k";
  const std::vector<std::uint32_t> places = top ? std::vector<std::uint32_t>() : drawn(bits_of(packed_floats[k]), n);
  Floats x(n, 0.0f);
  for (std::size_t i = 0; i < k; ++i) x[top ? bits_of(packed_floats[k + i]) : places[i]] = packed_floats[i];
  return Vec::from_host(x, message.space());
}

}  // namespace hopbench::compressed
