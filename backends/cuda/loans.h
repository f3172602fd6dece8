// Blocks of device memory that other processes read in place, through CUDA IPC. Who reads is counted in shared host
// memory, a counter a block, by the transport (see ShmSegment); what is counted is not used anew.
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

/// Any thread.
class Loans {
 public:
  /// A block that was allocated; and was freed, which what was ever lent never is.
  void add(const float* block, std::size_t floats);
  void remove(const float* block);

  /// False: CUDA has refused to export a block.
  bool possible() const { return possible_; }
  /// See DeviceSpace. nullopt: no shared host memory, or CUDA cannot export this.
  std::optional<DeviceSpace::Loan> lend(const float* data);
  float* borrow(const DeviceSpace::Loan& loan, bool own);
  /// nullptr, and the reason, if it cannot be mapped.
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
  std::map<const float*, Block> blocks_;          // by where they begin
  std::map<std::array<char, 64>, char*> opened_;  // of other processes
  std::atomic<bool> possible_{true};
};

}  // namespace hopbench::cuda
