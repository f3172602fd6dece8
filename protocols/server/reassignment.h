// RapidReassignment: workers ahead take over samples of workers behind, within an iteration
// (protocols/server/flexrr.cpp).
//
// A worker does its iteration in parts, from the front, and reports its progress to its helpers after each. A helper
// that is ahead by the trigger offers its help. If the worker is indeed behind, it cuts a slice off the back of the
// samples that it has not begun. The helper computes the slice between two parts of its own, or while it waits, and
// confirms it with the gradient. A worker is never given a slice unless it has offered, or while it still has one.
#pragma once

#include <optional>
#include <vector>

#include "protocols/node/node.h"

namespace hopbench::server {

/// Returns the helpers of a worker, which are the next ranks, round the ring of all workers.
std::vector<int> helpers_of(int worker, int workers, int helpers);

class Reassignment {
 public:
  /// Reads the knobs `parts`, `helpers`, `trigger`, `first_slice`.
  Reassignment(Node& self, const KnobValues& knobs);

  /// Runs a strand of this rank for ever: receives progress reports and confirmations, answers offers, makes its own.
  void listen();

  // --- The own iteration
  void begin(Iter k);
  /// Returns the samples that this worker computes next; nothing once each sample is done or another worker's.
  std::optional<Samples> next();
  /// Counts in the gradient of a part or of a slice.
  void add(int by, const Payload& gradient, std::int64_t samples);
  /// Returns the gradient of the whole batch. Waits, helping meanwhile, until all slices are confirmed.
  Vec whole(const Vec& x);

  // --- Others' iterations
  /// Computes, at x, the slice that was given to this worker, if one was.
  void help(const Vec& x);
  /// Does the same until `ready` holds.
  void help_until(const Vec& x, const Ready& ready, const char* why);
  /// Honours, after the last iteration, an offer that is still open.
  void settle(const Vec& x);

 private:
  struct Peer {  // one that this worker may help
    std::int64_t progress = 0;
    bool refused = false;  // since its last report
  };
  int left() const { return end_ - begun_; }  // samples that no worker has begun
  std::int64_t progress() const { return (k_ + 1) * batch_ - (end_ - done_); }
  void report();
  void answer(const Message& offer);
  void offer();

  Node& self_;
  const int batch_, part_, first_slice_;
  const std::int64_t trigger_;  // samples
  std::vector<int> helpers_;    // of this worker
  std::vector<Peer> peers_;     // by rank
  std::vector<char> helps_;     // by rank: 1 if this worker is one of its helpers
  Iter k_ = 0;                  // the own iteration: samples [0, begun_) are its own, [end_, batch_) are given away
  int done_ = 0, begun_ = 0, end_ = 0;
  std::vector<int> next_slice_;  // by rank: samples
  int out_ = 0;                  // slices to be confirmed
  std::vector<Term> terms_;      // of the batch's gradient
  int asked_ = -1;               // the rank that has not answered this worker's offer; -1: none
};

}  // namespace hopbench::server
