#include "protocols/outer/outer_optimizer.h"

#include <algorithm>

#include "protocols/node/collectives.h"

namespace hopbench::outer {

void OuterOptimizer::step(Vec& x0, const Payload& mean, const Step& step, std::size_t begin) {
  const std::size_t n = mean.size(), all = self_.trainable();
  const std::size_t trained = begin >= all ? 0 : std::min(n, all - begin);
  if (step.momentum != 0 && momentum_.size() == 0) momentum_ = Vec(std::min(x0.size(), all), x0.space());
  const std::size_t passes = momentum_.size() > 0 ? 8 : 6;  // three for the outer gradient, the rest for the step
  self_.operate(bytes_of(passes * n), [&] {
    const Vec g = combined({{step.gain, x0.slice(begin, n)}, {-step.gain, mean}});
    float* const m = momentum_.size() > 0 ? number_at(momentum_.mutable_data(), begin) : nullptr;
    const Space::SgdStep by{
        .lr = static_cast<float>(step.lr), .momentum = static_cast<float>(step.momentum), .nesterov = step.nesterov};
    x0.space().sgd(number_at(x0.mutable_data(), begin), m, g.data(), by, trained);
    if (trained < n) x0.assign(begin + trained, mean.slice(trained, n - trained));
  });
}

std::vector<Knob> with_outer_knobs(std::vector<Knob> own) {
  own.push_back(choice("outer", {"nesterov", "momentum"}, "form of the outer optimizer's momentum", "memory H"));
  own.push_back(knob("outer_lr", 0.7, 0, 1000, "learning rate of the outer step", "memory H"));
  own.push_back(knob("outer_momentum", 0.9, 0, 0.999999, "momentum of the outer step; 0: plain SGD", "memory H"));
  return own;
}

OuterOptimizer::Step outer_step(const KnobValues& knobs) {
  return {.lr = knobs.real("outer_lr"),
          .momentum = knobs.real("outer_momentum"),
          .nesterov = knobs.text("outer") == "nesterov"};
}

Knob inner_state_knob() {
  return choice("inner_state", {"keep", "reset", "average"},
                "state of the inner optimizers at an outer step: kept, set to 0, or averaged over the workers",
                "memory H");
}

void renew_inner_state(Node& self, const KnobValues& knobs, Optimizer& inner, Vec& x, Iter k) {
  const std::string& rule = knobs.text("inner_state");
  if (rule == "reset") inner = self.optimizer(x.size());
  if (rule != "average") return;
  for (Vec* state : inner.state(x)) {
    Vec mean = Vec::uninitialised(state->size(), state->space());
    ring_mean(self, self.workers(), k, share(*state), mean, 0, "states of the inner optimizers");
    *state = std::move(mean);
  }
}

void take_over(Node& self, Vec& x, const Vec& x0) {
  self.operate(bytes_of(2 * x.size()), [&] { x = x0; });
}

Knob period_knob() { return knob("period", 4, 1, 1'000'000, "H: local steps from one outer step to the next", "ours"); }

}  // namespace hopbench::outer
