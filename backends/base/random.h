// Every random draw of the program. Its key is (seed, repeat, purpose, rank, iteration) and never the trial or the
// variant. So adding a draw changes no other draw. Within a repeat all variants share initial parameters, data order
// and slowdowns (fairness: paired draws). The generator is counter-based: Philox4x32-10 (Salmon et al., SC'11), from
// Random123.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace hopbench {

/// The purpose of a draw. Append only: the number is part of the key, so reordering changes every published result.
enum class Purpose : std::uint32_t {
  kInitialParameters = 1,
  kDataSplit = 2,
  kDataOrder = 3,
  kSlowdown = 4,
  kLink = 5,
  kSchedule = 6,   // --shuffle: ties and jitter of virtual time
  kPeer = 7,       // a protocol's choice of a partner
  kProtocol = 8,   // any other choice of a protocol
  kSynthetic = 9,  // synthetic data sets and objectives
  kOrder = 10,     // order of the trials in a run
  kTest = 11,
  kAugment = 12,   // crops and flips of samples; iteration: the sample's position in the worker's order
  kSlowRank = 13,  // the slow worker of ranks = "drawn"
  kMonitor = 14,   // errors of a load monitor
  kNoise = 15,     // small differences between gradients in virtual time
  kTrace = 16,     // blocks of a trace, and who replays which of its ranks
  kLinkRule = 17,  // slow phases of a link, and blocks of its trace
  kLoss = 18,      // messages that are lost
};

struct RandomKey {
  std::uint64_t seed = 1;
  std::uint32_t repeat = 0;
  Purpose purpose = Purpose::kTest;
  std::int32_t rank = 0;  // -1: drawn once for all ranks
  std::int64_t iteration = 0;
};

/// A stream of draws under one key. It is a value: copying it repeats the stream. Integers and uniform draws are the
/// same on every machine. Normal and exponential draws use libm, whose last bit may differ between machines.
class Random {
 public:
  explicit Random(const RandomKey& key);

  std::uint32_t next_u32();
  std::uint64_t next_u64();
  /// Leaves out the next n values of next_u32. Takes the same time for any n.
  void skip(std::size_t n);
  double uniform();                          // [0, 1), 53 bits
  std::uint64_t below(std::uint64_t bound);  // [0, bound), unbiased; bound > 0
  bool chance(double probability);
  double normal();       // mean 0, deviation 1 (Box-Muller, no state kept across calls)
  double exponential();  // mean 1

  /// Shuffles in place (Fisher-Yates).
  template <class T>
  void shuffle(std::span<T> items) {
    for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[below(i)]);
  }

 private:
  void refill();

  std::uint32_t key_[2];
  std::uint32_t counter_[4];
  std::uint32_t block_[4];
  int used_ = 4;
};

}  // namespace hopbench
