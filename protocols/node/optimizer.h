// The optimizers: SGD and AdamW, with a schedule of the learning rate.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "backends/base/iter.h"
#include "backends/base/vec.h"
#include "models/learner.h"
#include "protocols/node/lazy_sgd.h"

namespace hopbench {

class Node;

enum class OptimizerKind { kSgd, kAdamW };

struct OptimizerSpec {
  OptimizerKind kind = OptimizerKind::kSgd;
  float lr = 0.05f, momentum = 0.0f, weight_decay = 0.0f;
  bool nesterov = false;
  float beta1 = 0.9f, beta2 = 0.999f, epsilon = 1e-8f;  // AdamW
  /// Pairs (iteration, factor): from that iteration on, lr is multiplied by the factor. All steps reached so far count.
  std::vector<std::pair<double, float>> steps = {};
  /// From `warmup` on, lr falls along half a cosine to 0, which it reaches at iteration `cosine` (Loshchilov, Hutter,
  /// 2017); 0: lr does not fall.
  Iter cosine = 0;
  /// In the first `warmup` iterations lr rises in equal steps, the first of which is lr / warmup (Goyal et al., 2017).
  Iter warmup = 0;
  /// lr is meant for this number of samples per step of all workers together, and is scaled to the actual number (Goyal
  /// et al.); 0: it is not scaled.
  int lr_batch = 0;
  /// A gradient with a larger norm is scaled down to this norm before the step; 0: never. See Optimizer::step.
  float clip = 0;
  bool per_sample = true;  // optimizer.step: "per_sample" (true) or "as_written"
};

/// A run of neighbouring numbers of a vector.
struct Slice {
  std::size_t offset = 0, size = 0;
  std::size_t end() const { return offset + size; }
};
/// Returns the numbers of a model to which AdamW's weight decay applies: its matrices and convolution kernels. Vectors,
/// which are biases and the scales of norms, do not decay. Ascending; slices that touch are one.
std::vector<Slice> decayed_slices(std::span<const Tensor> tensors);

/// SGD with momentum, or AdamW (Loshchilov, Hutter, "Decoupled weight decay regularization", 2019), over a vector that
/// the protocol owns. Its state is local and never exchanged.
class Optimizer {
 public:
  /// SGD: x -= lr(k) * scale * (momentum form of g + weight_decay * x). AdamW, at its own step number t:
  ///   m = beta1 m + (1 - beta1) g,  v = beta2 v + (1 - beta2) g g,
  ///   x -= lr(k) * scale * (weight_decay * x + m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + epsilon)),
  /// where only matrices decay (decayed_slices). Charged to the rank as a vector operation.
  ///
  /// A sparse g costs what it holds: decay and momentum of the other numbers wait until these are read (LazySgd). AdamW
  /// takes no sparse g.
  ///
  /// Clips g as it is given here: the mean under all-reduce, the worker's own gradient if it steps alone, a push or a
  /// mean of pushes at a server. If there are several servers, none sees the whole norm. Each clips its part to clip *
  /// sqrt(its share of the parameters), so the whole is never longer than clip.
  ///
  /// Running statistics, which follow the parameters, are not learnt: there x = 0.9 x + 0.1 g, with no rate, scale,
  /// momentum or decay. g holds the batch's statistics, not a difference to some x. So means of gradients and of models
  /// both stay means, and a stale g does no harm, because x stays between the statistics of batches.
  void step(Vec& x, const Payload& g, Iter k, double scale = 1.0);
  /// Returns the learning rate of a step in iteration k, step factor included. If workers take their iterations from
  /// shared credits, the schedule ignores k: a fast worker would reach its end early. It then uses the number of
  /// gradients that all workers have begun, divided by the number of workers.
  float learning_rate(Iter k) const;
  /// Makes the schedule go by the k of a step even if workers share credits. For steps that several ranks make alike,
  /// each at a moment of its own: k must be the same on all.
  void goes_by_its_steps() { by_steps_ = true; }
  /// Returns its state vectors, which the caller may replace by others of their size: the momentum (none without), or
  /// AdamW's m and v (none before its first step). x: the vector that it steps.
  std::vector<Vec*> state(Vec& x);

 private:
  friend class Node;
  Optimizer(Node& node, std::size_t trained, std::vector<Slice> decayed)
      : node_(&node), trained_(trained), decayed_(std::move(decayed)) {}
  Payload clipped(const Payload& g) const;
  void change(const Vec& x, double bytes, const std::function<void()>& arithmetic);
  void become_dense(Vec& x);
  void step_dense(Vec& x, const Payload& g, const Payload& trained, const Space::SgdStep& step);
  void step_sparse(Vec& x, const Payload& g, const Space::SgdStep& step);
  void step_adamw(Vec& x, const Payload& g, const Payload& trained, float lr);
  void adamw(Vec& x, const Payload& trained, const Space::AdamStep& step);
  void follow_statistics(Vec& x, const Payload& g) const;
  float schedule(Iter k) const;
  Node* node_;
  std::size_t trained_;            // numbers of its vector; running statistics follow
  std::vector<Slice> decayed_;     // by AdamW
  Vec momentum_;                   // AdamW's m. Empty: 0 so far, or lazy_ has it
  Vec square_;                     // AdamW's v
  Iter steps_ = 0;                 // of AdamW
  bool by_steps_ = false;          // see goes_by_its_steps
  std::shared_ptr<LazySgd> lazy_;  // once a gradient was sparse
};

}  // namespace hopbench
