// The other way to share memory: chunks are copied into a ring and read from it, and no vector is lent. Also the bare
// ping-pong of two processes, which is the same with one chunk.
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <new>
#include <sstream>
#include <vector>

#include "backends/base/error.h"
#include "backends/base/process/cores.h"
#include "backends/base/relax.h"
#include "backends/transport/exchange.h"
#include "backends/transport/shm_segment.h"
#include "backends/transport/wire.h"

namespace hopbench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kChunk = 256 * 1024 / sizeof(float), kChunks = 8;
constexpr auto kSpin = std::chrono::microseconds(50);

/// A count that one process raises and another waits for.
class Count {
 public:
  std::uint32_t now() const { return value_.load(std::memory_order_acquire); }
  void raise() {
    value_.fetch_add(1);
    if (asleep_.exchange(0) != 0) futex(FUTEX_WAKE, 1);
  }
  /// Blocks until the count has reached `wanted`.
  void await(std::uint32_t wanted, bool spin) {
    const auto there = [&] { return std::int32_t(value_.load(std::memory_order_acquire) - wanted) >= 0; };
    for (const auto until = Clock::now() + kSpin; spin && !there() && Clock::now() < until;)
      for (int i = 0; i < 50 && !there(); ++i) relax();
    while (!there()) {
      asleep_ = 1;
      const std::uint32_t seen = value_.load();
      if (std::int32_t(seen - wanted) >= 0) return;
      futex(FUTEX_WAIT, seen);
    }
  }

 private:
  void futex(int what, std::uint32_t value) { syscall(SYS_futex, &value_, what, value, nullptr, nullptr, 0); }
  std::atomic<std::uint32_t> value_{0}, asleep_{0};
};

/// A ring from one rank to another, in the sender's memory.
struct Ring {
  alignas(64) Count filled;
  alignas(64) Count emptied;
  alignas(64) float chunks[kChunks][kChunk];
};

/// One end of a ring. Each end counts for itself the chunks that have gone through.
class End {
 public:
  End(Ring* ring, bool spin) : ring_(ring), spin_(spin) {}
  void put(const float* from, std::size_t n) {
    if (passed_ >= kChunks) ring_->emptied.await(passed_ - kChunks + 1, spin_);
    std::memcpy(ring_->chunks[passed_ % kChunks], from, n * sizeof(float));
    ++passed_;
    ring_->filled.raise();
  }
  const float* look() const {
    ring_->filled.await(passed_ + 1, spin_);
    return ring_->chunks[passed_ % kChunks];
  }
  void done() {
    ++passed_;
    ring_->emptied.raise();
  }

 private:
  Ring* ring_;
  bool spin_;
  std::uint32_t passed_ = 0;
};

class BareShm : public RankExchange {
 public:
  BareShm(const ExchangeSpec& spec, Meeting& meeting) : spec_(spec), x_(spec.floats) {
    const bool spin = spec.size <= usable_cores();
    std::vector<int> peers;
    std::vector<std::string> blobs;
    std::vector<Ring*> mine;
    ShmSegment& segment = ShmSegment::mine();
    for (int peer = 0; peer < spec.size; ++peer) {
      if (peer == spec.rank) continue;
      void* const memory = segment.allocate(sizeof(Ring));
      if (memory == nullptr) throw environment_error("out of shared memory: use fewer ranks");
      peers.push_back(peer);
      mine.push_back(new (memory) Ring);
      blobs.push_back(segment.address() + ' ' + std::to_string(segment.offset_of(memory)));
    }
    const auto theirs = meeting.exchange(peers, blobs);
    for (std::size_t i = 0; i < peers.size(); ++i) {
      const std::size_t gap = theirs[i].rfind(' ');
      views_.push_back(std::make_unique<ShmView>(theirs[i].substr(0, gap)));
      void* const ring = views_.back()->at(std::stoull(theirs[i].substr(gap + 1)), sizeof(Ring));
      const int ahead = (peers[i] - spec.rank + spec.size) % spec.size;
      const int behind = spec.size - ahead;
      if (spec.operation == Operation::kPingPong || ahead <= spec.neighbours) to_.emplace_back(mine[i], spin);
      if (spec.operation == Operation::kPingPong || behind <= spec.neighbours)
        from_.emplace_back(static_cast<Ring*>(ring), spin);
    }
    meeting.exchange(peers, blobs);  // no rank starts before all have mapped
  }

  void once() override {
    if (spec_.operation == Operation::kAverage) return average();
    if (spec_.rank == 0) send();
    receive();
    if (spec_.rank == 1) send();
  }

  std::span<const float> checked() override {
    for (std::size_t i = 0; i < x_.size(); ++i) x_[i] = pattern(spec_.rank, i);
    once();
    return x_;
  }

 private:
  void each_chunk(const auto& f) {
    for (std::size_t at = 0; at < x_.size(); at += kChunk) f(x_.data() + at, std::min(kChunk, x_.size() - at));
  }
  void send() {
    each_chunk([&](float* x, std::size_t n) { to_[0].put(x, n); });
  }
  void receive() {
    each_chunk([&](float* x, std::size_t n) {
      std::memcpy(x, from_[0].look(), n * sizeof(float));
      from_[0].done();
    });
  }
  void average() {
    std::vector<const float*> ys(from_.size());
    each_chunk([&](float* x, std::size_t n) {
      for (End& end : to_) end.put(x, n);
      for (std::size_t i = 0; i < ys.size(); ++i) ys[i] = from_[i].look();
      average_in_place({x, n}, ys);
      for (End& end : from_) end.done();
    });
  }

  const ExchangeSpec spec_;
  std::vector<float> x_;
  std::vector<std::unique_ptr<ShmView>> views_;
  std::vector<End> to_, from_;
};

}  // namespace

std::unique_ptr<RankExchange> bare_shm(const ExchangeSpec& spec, Meeting& meeting) {
  HB_ASSERT(spec.operation != Operation::kAllReduce);
  return std::make_unique<BareShm>(spec, meeting);
}

}  // namespace hopbench
