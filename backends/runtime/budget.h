// The amount of work that a trial does. Work is counted in samples (fairness section 1).
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

namespace hopbench {

/// One shared counter of iteration credits. Each rank takes one before an iteration, so a faster rank does more. It
/// lies in memory shared by the launcher and all ranks (real processes) or in the simulation (virtual time, exact).
///
/// Ranks on another machine share a counter there, which its agent fills from the launcher's before it is empty. If a
/// rank finds no credit there, it waits (well under an iteration, keeping its turn) until there are more or the agent
/// says that none will come.
class Credits {
 public:
  explicit Credits(std::int64_t n) : total_(n), left_(n) {}
  /// Makes a counter for an agent, which has none of `total` yet.
  struct FromElsewhere {};
  Credits(std::int64_t total, FromElsewhere) : total_(total), left_(0), left_elsewhere_(total), open_(true) {}

  std::int64_t total() const { return total_; }
  /// Takes one credit. Returns false if there are no more.
  bool take() {
    while (true) {
      const bool more_may_come = open_.load(std::memory_order_acquire);  // before `left_`: the last ones are not missed
      if (take_up_to(1) == 1) return true;
      if (!more_may_come) return false;
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
  }
  /// Takes up to n credits at once. Returns the number taken.
  std::int64_t take_up_to(std::int64_t n) {
    n = std::max<std::int64_t>(n, 0);
    std::int64_t left = left_.load(std::memory_order_relaxed);
    while (left > 0 && !left_.compare_exchange_weak(left, left - std::min(left, n), std::memory_order_relaxed)) {
    }
    return left > 0 ? std::min(left, n) : 0;
  }
  std::int64_t left() const { return left_.load(std::memory_order_relaxed); }
  /// Returns the number of credits that all ranks have taken. On a machine without the launcher this lags: the launcher
  /// reports it only when it hands out more credits.
  std::int64_t taken() const { return total_ - left() - left_elsewhere_.load(std::memory_order_relaxed); }

  // For a counter that is filled from elsewhere.
  bool more_may_come() const { return open_.load(std::memory_order_relaxed); }
  /// Adds n credits. `left_elsewhere` is the number that the launcher has left.
  void add(std::int64_t n, std::int64_t left_elsewhere) {
    left_elsewhere_.store(left_elsewhere, std::memory_order_relaxed);
    left_.fetch_add(n, std::memory_order_relaxed);
  }
  void no_more() { open_.store(false, std::memory_order_release); }

 private:
  const std::int64_t total_;
  std::atomic<std::int64_t> left_, left_elsewhere_{0};
  std::atomic<bool> open_{false};
};

}  // namespace hopbench
