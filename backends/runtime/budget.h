// How much work a trial does. Work is counted in samples (fairness section 1).
#pragma once

#include <atomic>
#include <cstdint>

namespace hopbench {

/// One shared counter of iteration credits: each rank takes one before an iteration, so a faster rank does more. It
/// lies in memory shared by the launcher and all ranks (real processes) or in the simulation (virtual time, exact).
class Credits {
 public:
  explicit Credits(std::int64_t n) : total_(n), left_(n) {}
  std::int64_t total() const { return total_; }
  bool take() { return left_.fetch_sub(1, std::memory_order_relaxed) > 0; }

 private:
  const std::int64_t total_;
  std::atomic<std::int64_t> left_;
};

}  // namespace hopbench
