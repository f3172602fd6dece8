// The contents of memory shared between two ranks: a channel each way, a ring of bytes that one side writes and the
// other reads, and a bell for each rank, on which it sleeps. Messages carry small bodies in the ring and lend large
// ones (see shm_segment.h), so a token never queues behind a model.
//
// No wake-up is lost. A rank that rings publishes first, counts the bell up, and then looks whether the other rank
// sleeps. A rank that goes to sleep says so first. The kernel lets it sleep only while the bell still stands where it
// stood before the rank last looked for what was published.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "backends/base/time.h"

namespace hopbench {

class ShmBell {
 public:
  /// Reports that something happened. Wakes the sleeper if it waits for no more than that, or if it is `urgent`.
  void ring(bool urgent);
  std::uint32_t count() const { return rung_.load(std::memory_order_seq_cst); }
  /// Sleeps while count() is `seen`, until it has risen by `more`, something urgent happens, or `timeout` has passed.
  /// May return without a reason.
  void sleep(std::uint32_t seen, std::uint32_t more, Duration timeout);

 private:
  std::atomic<std::uint32_t> rung_{0};      // a futex
  std::atomic<std::uint32_t> sleeping_{0};  // a thread sleeps, or is about to
  std::atomic<std::uint32_t> due_{0};       // wake it when rung_ reaches this
};

struct ShmChannel {
  static constexpr std::size_t kRing = 256 * 1024;
  static constexpr std::uint64_t kQueue = 256;  // messages that may wait to be taken
  enum State : std::uint32_t { kOpen, kAllSaid, kLeft };

  // Written by the sender.
  alignas(64) std::atomic<std::uint64_t> written{0};  // bytes
  std::atomic<std::uint64_t> messages{0};
  std::atomic<std::uint32_t> state{kOpen};
  std::atomic<std::uint32_t> refused{0};  // it waits for room; taken back by the receiver that makes some
  // Written by the receiver.
  alignas(64) std::atomic<std::uint64_t> read{0};  // bytes
  std::atomic<std::uint64_t> taken{0};             // messages
  std::atomic<std::uint32_t> deaf{0};              // the receiver does not read any more
  alignas(64) char ring[kRing];

  /// Copies bytes at a place that only ever rises, around the ring's end.
  void put(std::uint64_t place, const void* from, std::size_t bytes) {
    const std::size_t at = place % kRing, first = std::min(bytes, kRing - at);
    std::memcpy(ring + at, from, first);
    std::memcpy(ring, static_cast<const char*>(from) + first, bytes - first);
  }
  void get(std::uint64_t place, void* to, std::size_t bytes) const {
    const std::size_t at = place % kRing, first = std::min(bytes, kRing - at);
    std::memcpy(to, ring + at, first);
    std::memcpy(static_cast<char*>(to) + first, ring, bytes - first);
  }
};

static_assert(std::atomic<std::uint64_t>::is_always_lock_free && std::atomic<std::uint32_t>::is_always_lock_free);

}  // namespace hopbench
