// Batch sizes whose sum stays: how a global batch is divided among workers of different speeds (lb_bsp.cpp,
// dynamic_batching.cpp). Arithmetic only.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "backends/base/iter.h"

namespace hopbench {

/// Fewest and most samples that a worker may be given, both included.
struct BatchBounds {
  int low = 1, high = std::numeric_limits<int>::max();
};

/// Whole numbers in proportion to `shares` (all above 0; one for each worker, as `bounds`) that sum to `total`: the
/// least max b_i / share_i, up to rounding. Workers that would leave their bounds are held at them and the others share
/// the rest. Rounding is by largest remainder, of equal ones to the lowest rank first.
/// The sum of the bounds' lows must not exceed `total`, that of their highs not be below it.
std::vector<int> proportional(std::int64_t total, std::span<const double> shares, std::span<const BatchBounds> bounds);

/// Incremental search for devices whose time is not linear in the batch: every so many iterations (a window) `step`
/// samples move from the straggler, the worker with the largest mean time, to the leader, the one with the least
/// among those that have room. When the two change places it was a step too far: the step halves, windows get longer.
/// When a worker became slower by itself, the search begins anew with its first step and window.
class PairSearch {
 public:
  struct Options {
    int window = 10;             // iterations
    int step = 1;                // samples, at first
    double window_growth = 2;    // at each halving
    bool halve_on_rise = false;  // also when the largest time rose: reversal misses cycles over three workers
    double reopen = 0;           // begins anew when the largest time is above (1 + reopen) x its least; 0: never
    BatchBounds bounds{};        // of every worker
  };
  PairSearch(std::vector<int> batches, Options options);

  /// The workers' compute times of an iteration, with the batches as they are.
  void observe(std::span<const double> seconds);
  /// At a barrier: moves a step if the window is over.
  const std::vector<int>& batches();

  int step() const { return step_; }
  Iter window() const { return window_; }
  /// Least max T_i of all windows since the search began or began anew: until then this never rises (max T_i itself
  /// may, as a step may go too far).
  double best() const { return best_; }

 private:
  void move();
  bool begins_anew(int straggler, double slowest) const;

  Options options_;
  int step_;
  Iter window_, seen_ = 0;
  std::vector<int> batches_;
  std::vector<double> sums_;  // of this window's times
  int leader_ = -1, straggler_ = -1;
  double slowest_ = std::numeric_limits<double>::infinity(), best_ = slowest_;  // max T_i: of the last window, least
};

}  // namespace hopbench
