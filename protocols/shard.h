// A parameter server's part of the weights (protocols/parameter_server.cpp).
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

  void apply(const Message& push);
  /// One step with the mean of iteration k's gradients, summed in the order given; `weights`: one each, of any sum.
  void apply_mean(Iter k, const std::vector<Message>& pushes, std::span<const float> weights);
  /// Sends the weights as they are, as the answer to worker's push of iteration k.
  void answer(int worker, Iter k);

  Iter pushed(int worker) const { return pushed_[static_cast<std::size_t>(worker)]; }
  /// The fewest gradients of a worker that is still there.
  Iter least_pushed() const;

 private:
  void count(const Message& push);

  Node& self_;
  Vec w_;
  Optimizer optimizer_;
  std::vector<Iter> pushed_;  // by worker
};

}  // namespace hopbench
