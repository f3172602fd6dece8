// The operation of ranks on one machine that `hopbench bench transport` repeats. The ways to do it here are what a
// transport of ours is measured against, with nothing between the operation and the machine.
//
// Every rank is a process and has one RankExchange. Nothing here is used by a trial.
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
  kAllReduce,  // every rank's vector becomes (or shows) the mean of all
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

/// One rank's part of the operation.
class RankExchange {
 public:
  virtual ~RankExchange() = default;
  /// Runs the operation once. All ranks do it equally often. It starts from the numbers that the last one left.
  virtual void once() = 0;
  /// Does the same, starting from every rank's `pattern`. Returns this rank's resulting numbers, for count_wrong.
  virtual std::span<const float> checked() = 0;
};

/// Returns the number that rank `rank` starts with at i in checks: a whole one, so that any order of a sum is exact.
inline float pattern(int rank, std::size_t i) { return float((std::size_t(rank) * 31 + i) % 251); }

/// Returns the ranks whose vectors `rank` averages with its own, ascending: those that come before it in the circle.
std::vector<int> heard_by(const ExchangeSpec& spec);

/// Returns how many numbers differ from what the operation promises (beyond rounding), missing ones included.
std::int64_t count_wrong(const ExchangeSpec& spec, std::span<const float> got);

/// Computes x = (x + all of ys) / (their number + 1), in one pass.
void average_in_place(std::span<float> x, std::span<const float* const> ys);

/// Makes the limit of kAverage: vectors of this process alone, averaged in place.
std::unique_ptr<RankExchange> local_average(const ExchangeSpec& spec);

/// Uses only memory that two processes share, and a futex: a ring of eight chunks of 256 KiB from each rank to each
/// that it sends to, filled by copying, and averaged from while the next chunk is filled. kPingPong and kAverage.
std::unique_ptr<RankExchange> bare_shm(const ExchangeSpec& spec, Meeting& meeting);

/// Uses Gloo as its users do. `algorithm` of kAllReduce: ring, bcube, ring_chunked or halving_doubling. Returns nullptr
/// if this build has no Gloo.
std::unique_ptr<RankExchange> bare_gloo(const ExchangeSpec& spec, const std::string& algorithm, Meeting& meeting);

}  // namespace hopbench
