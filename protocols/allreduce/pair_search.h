// LB-BSP's search for batch sizes of devices whose time is not linear in the batch (protocols/allreduce/lb_bsp.cpp).
// Arithmetic only.
#pragma once

#include <span>
#include <vector>

#include "backends/base/iter.h"
#include "protocols/allreduce/allocation.h"

namespace hopbench::allreduce {

/// Incremental search for devices whose time is not linear in the batch: every so many iterations (a window) `step`
/// samples move from the straggler, the worker with the largest mean time, to the leader, the one with the least
/// among those that have room. When the two change places it was a step too far: the step halves, windows get longer.
///
/// When a worker becomes slower, the search begins anew with its first step and window. A worker counts as slower if
/// all its times in a row, for the length of the first window, are above (1 + reopen) times the best time so far: the
/// smallest of the largest mean times. This is checked in each iteration, as windows may be long; single slow ones do
/// not count. The last leader's time may be longer because of its samples, so it is compared with what it took
/// right after these as well.
class PairSearch {
 public:
  struct Options {
    int window = 10;             // iterations
    int step = 1;                // samples, at first; rounded up to a multiple that the bounds allow
    double window_growth = 2;    // at each halving
    bool halve_on_rise = false;  // also when the largest time rose: reversal misses cycles over three workers
    double reopen = 0;           // 0: it never begins anew
    BatchBounds bounds{};        // of every worker
  };
  PairSearch(std::vector<int> batches, Options options);

  /// The workers' compute times of an iteration, with the batches as they are.
  void observe(std::span<const double> seconds);
  /// At a barrier: moves a step if the window is over.
  const std::vector<int>& batches();

  int step() const { return step_; }
  Iter window() const { return window_; }
  /// Least max T_i of all windows since the search began, or began anew: until then this never rises (max T_i itself
  /// may, as a step may go too far).
  double best() const { return best_; }

 private:
  void begin();
  void begin_window();
  void begin_look();
  bool became_slower();
  void move();

  Options options_;
  int step_ = 0;
  Iter window_ = 0, seen_ = 0;
  std::vector<int> batches_;
  std::vector<double> sums_;  // of this window's times
  int leader_ = -1, straggler_ = -1;
  double slowest_ = 0, best_ = 0;  // max T_i: of the last window, least
  Iter looked_ = 0;                // iterations since became_slower() was asked
  std::vector<double> least_;      // times in these
  double led_ = 0;                 // the leader's least time in the first of these looks since the last move
};

}  // namespace hopbench::allreduce
