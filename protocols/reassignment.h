// RapidReassignment: who is ahead takes samples off who is behind, within an iteration (protocols/flexrr.cpp).
//
// A worker does its iteration in parts, from the front, and tells its helpers after each how far it is. A helper that
// finds itself ahead by the trigger offers its help; the worker, if it is behind indeed, cuts a slice off the back of
// what it has not begun. The helper computes the slice between two parts of its own, or while it waits, and confirms it
// with the gradient. Nothing is ever given to a worker that has not offered, nor to one that has a slice already.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "protocols/node.h"

namespace hopbench {

/// The helpers of a worker are the next ranks, round the ring of all workers.
std::vector<int> helpers_of(int worker, int workers, int helpers);

class Reassignment {
 public:
  /// Knobs `parts`, `helpers`, `trigger`, `first_slice`.
  Reassignment(Node& self, const KnobValues& knobs);

  /// A strand of this rank, for ever: hears progress reports and confirmations, answers offers, makes own ones.
  void listen();

  // --- The own iteration
  void begin(Iter k);
  /// What this worker computes next of it; nothing once each sample is done or somebody else's.
  std::optional<Samples> next();
  /// Counts in the gradient of a part or of a slice.
  void add(int by, const Payload& gradient, std::int64_t samples);
  /// That of the whole batch: waits, helping meanwhile, until all slices are confirmed.
  Vec whole(const Vec& x);

  // --- Others' iterations
  /// Computes, at x, the slice that was given to this worker, if one was.
  void help(const Vec& x);
  /// The same until `ready` holds.
  void help_until(const Vec& x, const Ready& ready, const char* why);
  /// After the last iteration: an offer that is still open is made good.
  void settle(const Vec& x);

 private:
  struct Peer {  // one that this worker may help
    std::int64_t progress = 0;
    bool refused = false;  // since its last report
  };
  int left() const { return end_ - begun_; }  // samples that nobody has begun
  std::int64_t progress() const { return (k_ + 1) * batch_ - (end_ - done_); }
  void report();
  void answer(const Message& offer);
  void offer();

  Node& self_;
  const int batch_, part_, first_slice_;
  const std::int64_t trigger_;  // samples
  std::vector<int> helpers_;    // of this worker
  std::vector<Peer> peers_;     // by rank
  std::vector<char> helps_;     // by rank: whether this worker is one of its helpers
  Iter k_ = 0;                  // the own iteration: samples [0, begun_) are its own, [end_, batch_) are given away
  int done_ = 0, begun_ = 0, end_ = 0;
  std::vector<int> next_slice_;  // by rank: samples
  int out_ = 0;                  // slices to be confirmed
  std::vector<Term> terms_;      // of the batch's gradient
  int asked_ = -1;               // whom it has made an offer that is not answered; -1: nobody
};

}  // namespace hopbench
