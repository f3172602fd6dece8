#include "protocols/node/optimizer.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "protocols/node/node.h"

namespace hopbench {
namespace {

constexpr float kStatisticsRate = 0.1f;  // 1 - the usual momentum of running statistics

/// Returns 1 / (1 - beta^t): a mean that began with 0, over t steps, is too small by the inverse.
float bias_correction(float beta, Iter t) {
  return static_cast<float>(1 / (1 - std::pow(static_cast<double>(beta), static_cast<double>(t))));
}

}  // namespace

std::vector<Slice> decayed_slices(std::span<const Tensor> tensors) {
  std::vector<Slice> slices;
  for (const Tensor& tensor : tensors) {
    if (!tensor.is_matrix()) continue;
    if (!slices.empty() && slices.back().end() == tensor.offset) {
      slices.back().size += tensor.size();
    } else {
      slices.push_back({tensor.offset, tensor.size()});
    }
  }
  return slices;
}

float Optimizer::schedule(Iter k) const {
  const OptimizerSpec& spec = node_->options_.optimizer;
  double factor = 1;
  if (k < spec.warmup) factor = static_cast<double>(k + 1) / static_cast<double>(spec.warmup);
  if (spec.cosine > spec.warmup && k >= spec.warmup) {
    const auto length = static_cast<double>(spec.cosine - spec.warmup);
    const double done = std::min(1.0, static_cast<double>(k - spec.warmup) / length);
    factor *= 0.5 * (1 + std::cos(std::numbers::pi * done));
  }
  return static_cast<float>(factor);
}

float Optimizer::learning_rate(Iter k) const {
  const OptimizerSpec& spec = node_->options_.optimizer;
  if (const Credits* shared = node_->options_.stop.credits; shared != nullptr && !by_steps_)
    k = std::max<Iter>(shared->taken() - 1, 0) / node_->worker_count();
  float lr = spec.lr;
  for (const auto& [from, factor] : spec.steps) {
    if (static_cast<double>(k) >= from) lr *= factor;
  }
  lr *= schedule(k);
  const auto workers = static_cast<float>(node_->worker_count());
  if (spec.lr_batch > 0) lr *= workers * static_cast<float>(node_->batch()) / static_cast<float>(spec.lr_batch);
  const Protocol* protocol = node_->options_.protocol;
  if (spec.per_sample && protocol != nullptr) {
    const auto [gradients, of] =
        step_factor(*protocol, {node_->options_.knobs, node_->graph(), node_->worker_count(), {}, 0, node_->batch()});
    if (gradients != of) lr = lr * static_cast<float>(gradients) / static_cast<float>(of);
  }
  return lr;
}

Payload Optimizer::clipped(const Payload& g) const {
  const float clip = node_->options_.optimizer.clip;
  if (clip <= 0 || trained_ == 0) return g;
  const double share = static_cast<double>(trained_) / static_cast<double>(node_->workload_.trainable());
  Payload result = g;
  node_->operate(bytes_of(trained_), [&] {
    const Payload trained = g.slice(0, trained_);
    const double norm = std::sqrt(squared_norm(trained)), longest = clip * std::sqrt(share);
    if (!(norm > longest)) return;
    const auto factor = static_cast<float>(longest / norm);
    result = weighted_sum({&trained, 1}, {&factor, 1}).share();
  });
  return result;
}

void Optimizer::step(Vec& x, const Payload& g, Iter k, double scale) {
  HB_ASSERT(x.size() == g.size() && trained_ <= x.size());
  const OptimizerSpec& spec = node_->options_.optimizer;
  const Payload trained = clipped(g);
  const auto lr = static_cast<float>(learning_rate(k) * scale);
  if (spec.kind == OptimizerKind::kAdamW) return step_adamw(x, g, trained, lr);
  const Space::SgdStep step{
      .lr = lr, .momentum = spec.momentum, .weight_decay = spec.weight_decay, .nesterov = spec.nesterov};
  g.sparse() ? step_sparse(x, trained, step) : step_dense(x, g, trained, step);
}

/// Charges for a change of x and makes it. An observer of a server's weights sees a step only once it is over.
void Optimizer::change(const Vec& x, double bytes, const std::function<void()>& arithmetic) {
  if (!node_->options_.kept_is_watched || &x != node_->kept_) return node_->operate(bytes, arithmetic);
  node_->operate(bytes, [] {});
  arithmetic();
}

/// Makes the state that of dense gradients.
void Optimizer::become_dense(Vec& x) {
  if (!lazy_) return;
  x.defer(nullptr);
  momentum_ = lazy_->momentum();
  lazy_.reset();
}

std::vector<Vec*> Optimizer::state(Vec& x) {
  become_dense(x);
  if (momentum_.size() == 0) return {};
  return square_.size() > 0 ? std::vector<Vec*>{&momentum_, &square_} : std::vector<Vec*>{&momentum_};
}

void Optimizer::step_dense(Vec& x, const Payload& g, const Payload& trained, const Space::SgdStep& step) {
  become_dense(x);
  if (step.momentum != 0 && momentum_.size() == 0) momentum_ = Vec(trained_, x.space());
  const std::size_t passes = momentum_.size() > 0 ? 5 : 3;  // x and the momentum are read and written, g is read
  change(x, bytes_of(passes * x.size()), [&] {
    x.space().sgd(x.mutable_data(), momentum_.mutable_data(), trained.data(), step, trained_);
    follow_statistics(x, g);
  });
}

void Optimizer::follow_statistics(Vec& x, const Payload& g) const {
  const std::size_t statistics = x.size() - trained_;
  if (statistics == 0) return;
  float* const running = number_at(x.mutable_data(), trained_);
  x.space().scale(running, 1 - kStatisticsRate, statistics);
  x.space().axpy(running, kStatisticsRate, number_at(g.data(), trained_), statistics);
}

void Optimizer::step_adamw(Vec& x, const Payload& g, const Payload& trained, float lr) {
  HB_ASSERT_MSG(!g.sparse(), "AdamW moves every number in each step");
  if (momentum_.size() == 0) {
    momentum_ = Vec(trained_, x.space());
    square_ = Vec(trained_, x.space());
  }
  const OptimizerSpec& spec = node_->options_.optimizer;
  ++steps_;
  const Space::AdamStep step{.lr = lr,
                             .beta1 = spec.beta1,
                             .beta2 = spec.beta2,
                             .epsilon = spec.epsilon,
                             .correction1 = bias_correction(spec.beta1, steps_),
                             .correction2 = bias_correction(spec.beta2, steps_),
                             .weight_decay = 0};
  constexpr std::size_t kPasses = 7;  // x and both means are read and written, g is read
  change(x, bytes_of(kPasses * x.size()), [&] {
    adamw(x, trained, step);
    follow_statistics(x, g);
  });
}

/// Makes the step slice by slice: with weight decay and without, in turn.
void Optimizer::adamw(Vec& x, const Payload& trained, const Space::AdamStep& step) {
  const auto over = [&](std::size_t begin, std::size_t end, float decay) {
    end = std::min(end, trained_);
    if (begin >= end) return;
    Space::AdamStep with = step;
    with.weight_decay = decay;
    x.space().adamw(number_at(x.mutable_data(), begin), number_at(momentum_.mutable_data(), begin),
                    number_at(square_.mutable_data(), begin), number_at(trained.data(), begin), with, end - begin);
  };
  const float decay = node_->options_.optimizer.weight_decay;
  std::size_t done = 0;
  for (const Slice& slice : decay > 0 ? decayed_ : std::vector<Slice>{}) {
    over(done, slice.offset, 0);
    over(slice.offset, slice.end(), decay);
    done = slice.end();
  }
  over(done, trained_, 0);
}

void Optimizer::step_sparse(Vec& x, const Payload& g, const Space::SgdStep& step) {
  HB_ASSERT_MSG(trained_ == x.size(), "running statistics are dense");
  if (&x.space() != &host_space()) {  // a device updates all numbers faster than a host finds those that are due
    Vec dense(x.size(), x.space());
    dense.axpy(1.0f, g);
    return step_dense(x, dense.share(), dense.share(), step);
  }
  if (step.momentum == 0 && step.weight_decay == 0) {
    change(x, 2 * bytes_of(g), [&] { x.axpy(-step.lr, g); });
    return;
  }
  if (!lazy_) lazy_ = std::make_shared<LazySgd>(x.size(), std::exchange(momentum_, Vec()));
  if (x.pending() != lazy_.get()) x.defer(lazy_);
  // In addition to each entry of the gradient, its number and momentum are read and written. Passes over all numbers
  // are charged with the step that follows them.
  const double passes = static_cast<double>(lazy_->passes()) * bytes_of(LazySgd::kFloatsPerPass * x.size());
  change(x, 4 * bytes_of(g) + passes, [&] { lazy_->step(x, g.entries(), step); });
}

}  // namespace hopbench
