#include "protocols/node.h"

namespace hopbench {

Optimizer::Optimizer(Node& node, std::size_t size)
    : node_(&node), momentum_(node.options_.optimizer.momentum != 0 ? Vec(size, node.workload_.space()) : Vec()) {}

float Optimizer::learning_rate(Iter k) const {
  const OptimizerSpec& spec = node_->options_.optimizer;
  float lr = spec.lr;
  for (const auto& [from, factor] : spec.steps) {
    if (static_cast<double>(k) >= from) lr *= factor;
  }
  const Protocol* protocol = node_->options_.protocol;
  if (spec.per_sample && protocol != nullptr && protocol->step_factor == StepFactor::kOverN)
    lr /= static_cast<float>(node_->worker_count());
  return lr;
}

void Optimizer::step(Vec& x, const Payload& g, Iter k, double scale) {
  HB_ASSERT(x.size() == g.size() && (momentum_.size() == 0 || momentum_.size() == x.size()));
  const OptimizerSpec& spec = node_->options_.optimizer;
  Space::SgdStep step;
  step.lr = static_cast<float>(learning_rate(k) * scale);
  step.momentum = spec.momentum;
  step.weight_decay = spec.weight_decay;
  step.nesterov = spec.nesterov;
  const std::size_t passes = momentum_.size() > 0 ? 5 : 3;  // x and the momentum are read and written, g is read
  node_->operate(bytes_of(passes * x.size()),
                 [&] { x.space().sgd(x.mutable_data(), momentum_.mutable_data(), g.data(), step, x.size()); });
}

}  // namespace hopbench
