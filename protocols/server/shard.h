// A parameter server's part of the weights (protocols/server/parameter_server.cpp and others).
#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "protocols/node/node.h"
#include "protocols/server/stripes.h"

namespace hopbench::server {

/// A server's stripes of the weights, and the number of gradients of each worker in them.
class Shard {
 public:
  explicit Shard(Node& self);
  ~Shard() {
    self_.keeps(nullptr);
    self_.welcome(nullptr);
  }
  Shard(const Shard&) = delete;
  Shard& operator=(const Shard&) = delete;

  /// Returns the body of a push, joined with the parts that came before it. The copy is not charged, because a real
  /// server receives each part in its place. Call drop() for a push that is not used.
  Payload whole(const Message& push);
  void join(Message& push);
  void drop(const Message& push);

  /// Makes one step with one gradient. The learning rate is multiplied by `scale`.
  void apply(Message push, double scale = 1.0);
  /// Makes update k: one step with the mean of gradients at the weights as they are now, summed by ascending worker.
  /// Returns that mean.
  Vec apply_mean(Iter k, std::vector<Message> pushes);
  /// A gradient in an update: its weight in the sum, and its age, the updates since its weights were sent.
  struct Part {
    Message push;
    double scale = 1;
    Iter age = 0;
  };
  /// Makes one step with the sum of scale * gradient, by ascending worker, as one of iteration k. Returns that sum.
  /// Without gradients it is 0: momentum and weight decay act, running statistics stay.
  Vec apply_sum(Iter k, std::vector<Part> parts);
  /// Lets `rule` change the weights by what a worker has pushed, as an update. `bytes`: read and written meanwhile.
  using Rule = std::function<void(Vec& w, const Payload& pushed)>;
  void change(Message push, double bytes, const Rule& rule);
  /// Counts an update without a gradient.
  void pass() { ++updates_; }
  /// Does the same with gradients that are added up while others are still to come, in ascending order of the workers,
  /// each times its weight. The weights are meant to sum to 1. If they do not, because workers have left, step()
  /// divides by their sum.
  void add(std::vector<Term> terms);
  void step(Iter k);
  /// Sends the weights as they are, as the answer to worker's push of iteration k.
  void answer(int worker, Iter k, Words words = {});

  float learning_rate(Iter k) const { return optimizer_.learning_rate(k); }
  /// Resets the optimizer's state to that at the start.
  void forget_momentum() { optimizer_ = own_optimizer(); }
  /// Makes the numbers of gradients a clock: a worker that was away goes on with the count of the slowest that is
  /// present, if that is ahead of its own, and waits for the slowest if its own is over `most` ahead. The first server
  /// decides, and the worker tells the others.
  void is_a_clock(Iter most) { most_ahead_ = most; }
  /// Sets a function that is called when a worker that was away takes the weights.
  void at_welcome(std::function<void(int worker)> then) { at_welcome_ = std::move(then); }

  Iter updates() const { return updates_; }
  /// Returns the number of updates since the worker was sent weights.
  Iter age(int worker) const { return updates_ - sent_[static_cast<std::size_t>(worker)]; }
  const Vec& weights() const { return w_; }
  /// Returns how many of its numbers are trained; running statistics follow.
  std::size_t trained() const { return stripes_.before(self_.trainable()); }

  Iter pushed(int worker) const { return pushed_[static_cast<std::size_t>(worker)]; }
  /// Returns the fewest gradients, or the most, of a worker that is still present. `worker` is left out.
  Iter least_pushed(int worker = kAnyone) const;
  Iter most_pushed() const;

 private:
  static constexpr Iter kNobody = std::numeric_limits<Iter>::max();
  Shard(Node& self, const Vec& all);
  Optimizer own_optimizer();
  void count(int worker, Iter k, double scale = 1);
  std::optional<Node::Welcomed> welcome(int worker, Iter k);
  Vec nothing() const;

  Node& self_;
  const Stripes stripes_;
  Vec w_;
  Optimizer optimizer_;
  std::vector<Term> added_;         // since the last step; without their values
  Vec sum_;                         // of those
  std::vector<Iter> pushed_;        // by worker
  Iter updates_ = 0;                // in the weights
  std::vector<Iter> sent_;          // by worker: updates in the weights that it was sent last
  std::optional<Iter> most_ahead_;  // of the slowest, for a worker that returns; nothing: no clock
  std::function<void(int worker)> at_welcome_;
};

}  // namespace hopbench::server
