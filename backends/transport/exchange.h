// What `hopbench bench transport` repeats: one operation of ranks on one machine, and the ways to do it that a
// transport of ours is measured against, with nothing between the operation and the machine.
//
// Every rank is a process and has one Exchange. Nothing here is used by a trial.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backends/base/time.h"

namespace hopbench {

class Meeting;

enum class Operation {
  kPingPong,   // two ranks: rank 0's vector goes to rank 1, which sends back what it got
  kAverage,    // every rank sends its vector to the next `neighbours` of a circle, and averages it with what it gets
  kAllReduce,  // everybody's vector becomes (or shows) the mean of all
};

struct ExchangeSpec {
  Operation operation = Operation::kPingPong;
  int rank = 0, size = 2;
  std::size_t floats = 2;
  bool device = false;         // vectors lie on the GPU
  int neighbours = 1;          // of an average; at most size - 1
  std::string interface = {};  // network interface; empty: loopback
  Duration timeout{std::chrono::seconds(30)};
};

/// One rank's part.
class Exchange {
 public:
  virtual ~Exchange() = default;
  /// The operation, once. All ranks do it equally often. It sets out from whatever the last one left.
  virtual void once() = 0;
  /// The same from everybody's `pattern`; what is `rank`'s then, to be looked at by count_wrong.
  virtual std::span<const float> checked() = 0;
};

/// What rank `rank` sets out with at i, when results are checked: whole numbers, so that any order of a sum is exact.
inline float pattern(int rank, std::size_t i) { return float((std::size_t(rank) * 31 + i) % 251); }

/// The ranks whose vectors `rank` averages with its own, ascending: those that come before it in the circle.
std::vector<int> heard_by(const ExchangeSpec& spec);

/// How many of the numbers that the operation left are not what it promises (up to rounding), missing ones included.
std::int64_t count_wrong(const ExchangeSpec& spec, std::span<const float> got);

/// x = (x + all of ys) / (their number + 1), in one pass.
void average_in_place(std::span<float> x, std::span<const float* const> ys);

/// The limit of kAverage: vectors of this process alone, averaged in place.
std::unique_ptr<Exchange> local_average(const ExchangeSpec& spec);

/// Memory that two processes share and a futex, nothing else: a ring of eight chunks of 256 KiB from each rank to each
/// that it sends to, filled by copying and averaged from while the next is filled. kPingPong and kAverage.
std::unique_ptr<Exchange> bare_shm(const ExchangeSpec& spec, Meeting& meeting);

/// Gloo as its users have it. `algorithm` of kAllReduce: ring, bcube, ring_chunked or halving_doubling. nullptr: this
/// build has no Gloo.
std::unique_ptr<Exchange> bare_gloo(const ExchangeSpec& spec, const std::string& algorithm, Meeting& meeting);

}  // namespace hopbench
