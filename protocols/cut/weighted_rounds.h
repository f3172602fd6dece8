// The end of A-EDiT's rounds: weights of the workers' outer gradients, and the outer step (protocols/cut/a_edit.cpp).
#pragma once

#include <vector>

#include "protocols/node/node.h"
#include "protocols/outer/outer_optimizer.h"

namespace hopbench::cut {

/// Tells which of a worker's outer gradients are much longer than those before.
class Anomalies {
 public:
  explicit Anomalies(double limit) : limit_(limit) {}
  /// Returns true if the length is more than `limit` deviations above the moving average. Takes it in, too, or lengths
  /// that grow would all be anomalies from some round on.
  bool is_one(double length);

 private:
  const double limit_;
  double mean_ = 0, variance_ = 0;
  int seen_ = 0;
};

/// A worker's outer side: the rounds in which x0 moves.
class WeightedRounds {
 public:
  WeightedRounds(Node& self, const KnobValues& knobs);

  /// The part that a worker brings to the end of a round.
  struct Ended {
    bool stepped = true;  // since the round before
    bool last = false;    // its iterations are over
    Duration took{};      // by its steps
  };
  /// Ends a round with this worker's x, and moves x0. Returns true if all workers' iterations are over.
  bool end(const Vec& x, Vec& x0, const Ended& how);

  /// The shortest time that a worker's steps took in the last round.
  Duration shortest() const { return shortest_; }

 private:
  void move(const Vec& x, Vec& x0, const std::vector<double>& weights);
  double distance(const Vec& a, const Vec& b);

  Node& self_;
  const outer::OuterOptimizer::Step step_;
  const double clip_;
  Anomalies anomalies_;
  outer::OuterOptimizer outer_;
  Iter round_ = 0;
  Duration shortest_{};
};

}  // namespace hopbench::cut
