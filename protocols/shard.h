// A parameter server's part of the weights (protocols/parameter_server.cpp and others).
#pragma once

#include <span>
#include <vector>

#include "protocols/node.h"

namespace hopbench {

/// The part of all `size` parameters that server number i of n keeps.
struct Slice {
  std::size_t offset, size;
};
Slice slice_of(std::size_t size, std::size_t i, std::size_t n);

/// A server's slice of the weights, and how many gradients of each worker are in it.
class Shard {
 public:
  explicit Shard(Node& self);
  ~Shard() { self_.keeps(nullptr); }
  Shard(const Shard&) = delete;
  Shard& operator=(const Shard&) = delete;

  /// One step with one gradient; the learning rate is multiplied by `scale`.
  void apply(const Message& push, double scale = 1.0);
  /// Update k: one step with the mean of gradients that are all of the weights as they are, summed by ascending worker;
  /// `weights`: one each, of any sum; empty: all weigh the same. Returns that mean.
  Vec apply_mean(Iter k, const std::vector<Message>& pushes, std::span<const float> weights = {});
  /// Sends the weights as they are, as the answer to worker's push of iteration k.
  void answer(int worker, Iter k, Words words = {});

  float learning_rate(Iter k) const { return optimizer_.learning_rate(k); }
  /// The optimizer's state is what it was at the start.
  void forget_momentum() { optimizer_ = self_.optimizer(slice_.size, slice_.offset); }

  Iter pushed(int worker) const { return pushed_[static_cast<std::size_t>(worker)]; }
  /// The fewest gradients of a worker that is still there, and the most.
  Iter least_pushed() const;
  Iter most_pushed() const;

 private:
  Shard(Node& self, const Vec& all);
  void count(const Message& push);

  Node& self_;
  const Slice slice_;
  Vec w_;
  Optimizer optimizer_;
  std::vector<Iter> pushed_;  // by worker
  Iter updates_ = 0;          // in the weights
  std::vector<Iter> sent_;    // so many were in the weights that each worker was sent last
};

}  // namespace hopbench
