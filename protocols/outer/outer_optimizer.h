// The outer step of methods with local steps: DiLoCo and its relatives.
#pragma once

#include <vector>

#include "protocols/node/node.h"

namespace hopbench::outer {

/// SGD with momentum over outer gradients. An outer gradient is x0 - mean: how far workers have moved from x0 on
/// average, with the other sign.
class OuterOptimizer {
 public:
  struct Step {
    double lr = 1, momentum = 0;
    bool nesterov = false;
    double gain = 1;  // factor of the outer gradient
  };
  explicit OuterOptimizer(Node& self) : self_(self) {}

  /// Makes a step on numbers [begin, begin + mean.size()) of x0. Running statistics become those of the mean. Charged
  /// as a vector operation.
  void step(Vec& x0, const Payload& mean, const Step& step, std::size_t begin = 0);

 private:
  Node& self_;
  Vec momentum_;  // empty: 0 so far
};

/// Returns the knobs `outer`, `outer_lr` and `outer_momentum`, or the step that they ask for.
std::vector<Knob> with_outer_knobs(std::vector<Knob> own);
OuterOptimizer::Step outer_step(const KnobValues& knobs);

/// Returns the knob `inner_state`.
Knob inner_state_knob();
/// Keeps an inner optimizer's state at an outer step, resets it, or takes the mean over all workers, as that knob says.
/// x: the vector that it steps.
void renew_inner_state(Node& self, const KnobValues& knobs, Optimizer& inner, Vec& x, Iter k);

/// Sets x to a copy of x0, charged as such.
void take_over(Node& self, Vec& x, const Vec& x0);

/// Returns the knob `period`: H local steps between two outer ones.
Knob period_knob();

}  // namespace hopbench::outer
