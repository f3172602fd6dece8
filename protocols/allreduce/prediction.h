// Predictors of a worker's speed in its next iteration (lb_bsp.cpp). Plain arithmetic without the C library's
// functions: the same bits on every machine.
#pragma once

#include <memory>
#include <string>

#include "backends/base/random.h"
#include "protocols/node/node.h"

namespace hopbench::allreduce {

class SpeedPredictor {
 public:
  virtual ~SpeedPredictor() = default;
  /// Takes the speed (samples/s, above 0) of the iteration that has ended, and the host's load since then.
  virtual void observe(double speed, const Load& load) = 0;
  /// Returns the speed of the next iteration; above 0. At least one speed must have been observed.
  virtual double predict() const = 0;
  /// Returns the bytes of its state that are read and written from one observation to the next, which are its cost.
  virtual double bytes() const { return 0; }
};

/// Returns a predictor. "last": the last speed. "ema": exponential moving average in which the newest speed has weight
/// `ema_weight`. "narx": nonlinear autoregressive network with exogenous inputs, the past speeds and the current and
/// past load, with one hidden layer, trained while it is used. `initial` draws its first weights; it starts as "last".
std::unique_ptr<SpeedPredictor> make_speed_predictor(const std::string& name, double ema_weight, Random initial);

}  // namespace hopbench::allreduce
