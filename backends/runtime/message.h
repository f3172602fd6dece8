// The messages that travel between ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>

#include "backends/base/error.h"
#include "backends/base/iter.h"
#include "backends/base/vec.h"

namespace hopbench {

/// The subject of a message. Protocols define theirs (protocols/node/node.h). A selective receive matches on it.
enum class Kind : std::uint16_t {};

/// Delivered after a peer's last message. kBye: its body has returned and it sends no more. kGone: it died.
inline constexpr Kind kBye{0xFFFE};
inline constexpr Kind kGone{0xFFFF};
/// Between runtimes only: the sender is ended by Stop, so its peers need not wait for its kBye.
inline constexpr Kind kServing{0xFFFD};
/// Kinds from here on belong to runtimes and nodes. A mailbox never drops them.
inline constexpr Kind kFirstReserved{0xFFF0};

/// A few int64 of control data (clocks, batch sizes, group lists, flags, skip ranges), held in place.
class Words {
 public:
  static constexpr std::size_t kMax = 16;
  Words() = default;
  Words(std::initializer_list<std::int64_t> values) {
    for (std::int64_t v : values) push_back(v);
  }
  void push_back(std::int64_t v) {
    HB_ASSERT(n_ < kMax);
    values_[n_++] = v;
  }
  std::size_t size() const { return n_; }
  std::int64_t operator[](std::size_t i) const {
    HB_ASSERT(i < n_);
    return values_[i];
  }
  const std::int64_t* begin() const { return values_; }
  const std::int64_t* end() const { return values_ + n_; }

 private:
  std::int64_t values_[kMax] = {};
  std::size_t n_ = 0;
};

struct Message {
  int from = -1;
  Kind kind{};
  Iter iter = 0;
  Words words{};
  Payload body{};
  std::int64_t bytes = 0;  // the bytes charged to the wire: body and a header
};

inline constexpr std::int64_t kHeaderBytes = 64;

/// Returns the bytes charged to the wire for a message with this body.
inline std::int64_t bytes_with(const Payload& body) {
  return kHeaderBytes + static_cast<std::int64_t>(body.stored() * sizeof(float));
}

inline constexpr int kAnyone = -1;
inline constexpr Iter kAnyIter = std::numeric_limits<Iter>::min();

/// The messages that a receive asks for, as plain data, so that a mailbox can index it.
struct Match {
  Kind kind{};
  Iter first = std::numeric_limits<Iter>::min();  // iterations first..last, both included
  Iter last = std::numeric_limits<Iter>::max();
  int from = kAnyone;

  bool admits(const Message& m) const {
    return m.kind == kind && m.iter >= first && m.iter <= last && (from == kAnyone || m.from == from);
  }
};

constexpr Match is(Kind kind) { return {.kind = kind}; }
constexpr Match is(Kind kind, Iter k) { return {.kind = kind, .first = k, .last = k}; }
constexpr Match is_before(Kind kind, Iter k) { return {.kind = kind, .last = k - 1}; }
constexpr Match is_from(Kind kind, int rank) { return {.kind = kind, .from = rank}; }
constexpr Match is_from(Kind kind, int rank, Iter k) { return {.kind = kind, .first = k, .last = k, .from = rank}; }

}  // namespace hopbench
