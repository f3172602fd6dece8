// Who gets how many samples: the manager of protocols whose batches differ (balanced.h), and a worker's side of it.
//
// The manager hears at every barrier how long each worker computed, and tells each its part of the next iteration. It
// decides while the gradients are being aggregated: what a worker waits for its answer beyond that is the time that
// deciding blocks, "its next batch size" among the reasons of waits.
#pragma once

#include <span>
#include <vector>

#include "protocols/node.h"

namespace hopbench {

/// A worker's iteration as the manager hears of it.
struct Timing {
  int batch = 0;
  double seconds = 0;  // of computing, without the wait at the barrier
  Load load{};         // of its host, at its end
  double speed() const { return batch / seconds; }
};

/// How the manager sizes the batches.
class BatchRule {
 public:
  virtual ~BatchRule() = default;
  /// All workers' timings of the iteration that ends, by rank; those of the warm-up too.
  virtual void observe(std::span<const Timing> timings) = 0;
  /// The batches of the next iteration, by rank; their sum is always the same.
  virtual std::vector<int> batches() = 0;
  /// How long `worker` is to take for the batch it was given; 0: this rule does not foresee it.
  virtual double expected_seconds(int /*worker*/) const { return 0; }
  /// Of its state, read and written at a barrier: what deciding costs the manager.
  virtual double bytes() const { return 0; }
};
/// A strand of the manager: from the second iteration to the last one it says what is to be done. Before iteration
/// `warmup` all batches are equal.
void manage_batches(Node& self, BatchRule& rule, Iter warmup);

/// A worker's side. Its record gets "batch changes" and, where the rule foresees times, "prediction error": the mean of
/// |expected - actual| / actual after the warm-up.
class Batches {
 public:
  Batches(Node& self, int manager);

  /// This worker's samples of iteration k: of those that are everybody's next, the part that it is given.
  Samples next(Iter k);
  /// How iteration k went: to be called at once when its gradient is there.
  void report(Iter k, const Gradient& g);

 private:
  void note_error(double took);

  Node& self_;
  int manager_, batch_;
  double expected_ = 0;  // seconds; 0: not foreseen
  std::int64_t foreseen_ = 0;
};

}  // namespace hopbench
