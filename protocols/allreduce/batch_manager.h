// The sizing of unequal batches (balanced.h): the manager of such protocols, and a worker's side of it.
//
// At every barrier, each worker reports to the manager how long it computed, and the manager sends it its part of the
// next iteration. The manager decides while the gradients are being aggregated. If a worker waits longer for the
// answer, that is the time for which deciding blocks it; the reason of the wait is "its next batch size".
#pragma once

#include <span>
#include <vector>

#include "protocols/node/node.h"

namespace hopbench::allreduce {

/// A worker's iteration as reported to the manager.
struct Timing {
  int batch = 0;
  double seconds = 0;  // of computing, without the wait at the barrier
  Load load{};         // of the worker's host, at the iteration's end
  double speed() const { return batch / seconds; }
};

/// The rule by which the manager sizes the batches.
class BatchRule {
 public:
  virtual ~BatchRule() = default;
  /// Takes all workers' timings of the iteration that ends, by rank, including those of the warm-up.
  virtual void observe(std::span<const Timing> timings) = 0;
  /// Returns the batches of the next iteration, by rank. Their sum is always the same.
  virtual std::vector<int> batches() = 0;
  /// Returns the predicted seconds that `worker` takes for its batch; 0 if this rule does not predict them.
  virtual double expected_seconds(int /*worker*/) const { return 0; }
  /// Returns the bytes of its state that are read and written at a barrier, which are the cost of deciding.
  virtual double bytes() const { return 0; }
};
/// Runs a strand of the manager, which sends each worker its batch from the second iteration to the last. Before
/// iteration `warmup` all batches are equal.
void manage_batches(Node& self, BatchRule& rule, Iter warmup);

/// A worker's side. It records "batch changes" and, if the rule predicts times, "prediction error": the mean of
/// |expected - actual| / actual after the warm-up.
class Batches {
 public:
  Batches(Node& self, int manager);

  /// Waits for the manager's answer and returns this worker's part of the samples that all workers use in iteration k.
  Samples next(Iter k);
  /// Reports iteration k to the manager. Must be called as soon as its gradient is computed.
  void report(Iter k, const Gradient& g);

 private:
  void note_error(double took);

  Node& self_;
  int manager_, batch_;
  double expected_ = 0;  // seconds; 0: not predicted
  std::int64_t foreseen_ = 0;
};

}  // namespace hopbench::allreduce
