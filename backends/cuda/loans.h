// Blocks of device memory that other processes read in place, through CUDA IPC. The transport counts the readers in
// shared host memory, with one counter per block (see ShmSegment). Blocks with readers are not reused.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "backends/base/space.h"

namespace hopbench::cuda {

/// The blocks that this process lends and borrows. For any thread.
class Loans {
 public:
  /// add() registers an allocated block, remove() unregisters a freed one. A block that was ever lent is never freed.
  void add(const float* block, std::size_t floats);
  void remove(const float* block);

  /// Returns false if CUDA has refused to export a block.
  bool possible() const { return possible_; }
  /// See DeviceSpace. Returns nullopt if there is no shared host memory or CUDA cannot export this block.
  std::optional<DeviceSpace::Loan> lend(const float* data);
  float* borrow(const DeviceSpace::Loan& loan, bool own);
  /// Returns nullptr, and the reason in `why`, if it cannot be mapped.
  float* try_to_borrow(const DeviceSpace::Loan& loan, bool own, std::string& why);

  bool ever_lent(const float* data);
  bool lent(const float* data);

 private:
  struct Block {
    std::size_t floats = 0;
    void* counter = nullptr;  // nullptr: never lent
    std::array<char, 64> handle{};
  };
  std::map<const float*, Block>::iterator block_of(const float* data);

  std::mutex mutex_;
  std::map<const float*, Block> blocks_;          // by their first address
  std::map<std::array<char, 64>, char*> opened_;  // blocks of other processes
  std::atomic<bool> possible_{true};
};

}  // namespace hopbench::cuda
