// Evaluation, off every clock, on a fixed named subset, after each interval of samples (fairness section 3).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "backends/base/record/trial_record.h"
#include "backends/base/vec.h"
#include "models/workload.h"

namespace hopbench {

/// A recorder of every worker's latest snapshot (a reference, never a copy). Each time the workers together have done
/// another interval of samples, it keeps all of the snapshots. The mean at t thus uses each rank's last snapshot at or
/// before t. With them it keeps the model of the parameter servers, as all of them have it at that moment.
class CurveRecorder {
 public:
  /// `points`: number of points after the start, evenly over `samples` in all; 0: only the end.
  CurveRecorder(int workers, int points, std::int64_t samples, const Payload& initial);

  void report(int rank, Iter k, Time when, std::int64_t samples, const Payload& x);

  /// `ask` returns what each server keeps of the model, in order, or nothing if no server keeps any.
  void ask_servers(std::function<std::vector<Payload>()> ask) { ask_servers_ = std::move(ask); }

  /// Leaves the worker out of all further points. The samples that it has done stay counted.
  void lose(int rank, Time when, std::int64_t samples);

  /// Returns worker `rank`'s last snapshot.
  const Payload& latest(int rank) const { return latest_[std::size_t(rank)].x; }

  /// Evaluates the kept points and the end: mean, median rank and worst rank of each point, and the servers' model if
  /// there is one. Runs `threads` evaluations at a time. After each of them `one_done` is called on its thread.
  std::vector<CurvePoint> evaluate(Workload& workload, int threads, const std::function<void()>& one_done = {});

  /// A gradient that a worker has computed, for dump.h.
  struct Computed {
    Iter iter = -1;
    Samples samples = {};
    Payload gradient = {};
  };
  struct Snapshot {
    Iter iter = 0;
    std::int64_t samples = 0;
    Payload x;
    bool lost = false;
    int rank = 0;
    Computed computed = {};  // the newest; empty if no gradients are recorded
  };
  struct Point {
    Time time{};
    std::int64_t samples = 0;     // of all workers
    std::vector<Snapshot> ranks;  // of the workers that were there
    std::vector<Payload> servers;
  };
  /// Records the newest gradient of a worker, which was complete at `when`.
  void computed(int rank, Time when, Computed gradient) {
    if (due_ && when > last_) keep();
    latest_[std::size_t(rank)].computed = std::move(gradient);
  }
  /// Returns all points, including the end.
  const std::vector<Point>& points() {
    keep_the_end();
    return points_;
  }

 private:
  void keep();
  void keep_the_end();
  std::vector<Payload> servers_now() const { return ask_servers_ ? ask_servers_() : std::vector<Payload>{}; }

  const Payload initial_;
  std::function<std::vector<Payload>()> ask_servers_;
  std::vector<Snapshot> latest_;
  std::vector<Point> points_;
  std::vector<Payload> due_servers_;  // what they kept when the point became due
  std::int64_t interval_ = 0, next_ = 0, total_ = 0;
  Time last_{};
  bool due_ = false;  // a point is to be kept when this instant is over
};

/// Adds the mark `diverged` if a training loss of a worker, an evaluated loss, or a number of a final model is NaN or
/// infinite. Checks the final models too, because a ReLU can hide a NaN from every loss.
void mark_if_diverged(TrialRecord& record, const std::vector<Payload>& finals);
/// Adds the mark `unchanged` if all final models have the bits of the initial one.
void mark_if_unchanged(TrialRecord& record, const std::vector<Payload>& finals, const Payload& initial);

/// Returns 16 hex digits over all workers' final vectors in rank order; "" if there are no numbers (timing_only).
std::string params_hash(const std::vector<Payload>& finals);

}  // namespace hopbench
