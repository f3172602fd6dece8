#include "protocols/allreduce/prediction.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <numeric>

namespace hopbench::allreduce {
namespace prediction {

class Last final : public SpeedPredictor {
 public:
  void observe(double speed, const Load&) override { speed_ = speed; }
  double predict() const override { return speed_; }

 private:
  double speed_ = 0;
};

class Ema final : public SpeedPredictor {
 public:
  explicit Ema(double weight) : weight_(weight) {}
  void observe(double speed, const Load&) override { mean_ = mean_ == 0 ? speed : mean_ + weight_ * (speed - mean_); }
  double predict() const override { return mean_; }

 private:
  double weight_, mean_ = 0;
};

/// A predictor v(t+1) = v(t) + out . h, h_j = softsign(w_j . inputs). Inputs are the last kLag speeds and loads, and 1.
/// Speeds are relative to their mean so far. Training is series-parallel: every observation is an example. At each
/// barrier each of the newest kKept makes one step of gradient descent on its squared error.
class Narx final : public SpeedPredictor {
 public:
  explicit Narx(Random initial) {
    for (auto& row : in_) {
      for (double& w : row) w = 0.4 * (2 * initial.uniform() - 1);
    }
  }

  void observe(double speed, const Load& load) override {
    least_ = seen_ == 0 ? speed : std::min(least_, speed);
    most_ = std::max(most_, speed);
    mean_ += (speed - mean_) / double(++seen_);
    if (past_.size() == kLag) examples_.push_back({inputs_, last_, speed});
    if (examples_.size() > kKept) examples_.pop_front();
    past_.push_front({speed, load});
    if (past_.size() > kLag) past_.pop_back();
    last_ = speed;
    for (const Example& example : examples_) learn(example);
    inputs_ = inputs_now();
  }

  double predict() const override {
    if (past_.size() < kLag) return last_;
    return std::clamp(last_ + mean_ * correction(hidden(inputs_)), least_, most_);
  }

  double bytes() const override { return double(examples_.size() * kHidden * (kInputs + 1) * 2 * sizeof(double)); }

 private:
  static constexpr std::size_t kLag = 3, kInputs = 3 * kLag + 1, kHidden = 8, kKept = 32;
  static constexpr double kRate = 0.1;
  using Inputs = std::array<double, kInputs>;
  using Hidden = std::array<double, kHidden>;
  struct Example {
    Inputs inputs;
    double last, next;  // the speed before, and the one to predict
  };
  struct Moment {
    double speed;
    Load load;
  };

  Inputs inputs_now() const {
    Inputs inputs{};
    std::size_t i = 0;
    for (const Moment& m : past_) {
      inputs[i++] = m.speed / mean_ - 1;
      inputs[i++] = m.load.cpu;
      inputs[i++] = m.load.memory;
    }
    inputs[kInputs - 1] = 1;
    return inputs;
  }

  Hidden hidden(const Inputs& inputs) const {
    Hidden h{};
    for (std::size_t j = 0; j < kHidden; ++j) {
      h[j] = std::inner_product(inputs.begin(), inputs.end(), in_[j].begin(), 0.0);
      h[j] /= 1 + std::abs(h[j]);
    }
    return h;
  }

  double correction(const Hidden& h) const { return std::inner_product(out_.begin(), out_.end(), h.begin(), 0.0); }

  void learn(const Example& example) {
    const Hidden h = hidden(example.inputs);
    const double due = (example.next - example.last) / mean_;
    const double step = kRate * std::clamp(due - correction(h), -1.0, 1.0);
    for (std::size_t j = 0; j < kHidden; ++j) {
      const double slope = (1 - std::abs(h[j])) * (1 - std::abs(h[j]));  // of softsign, by its value
      const double back = step * out_[j] * slope;
      out_[j] += step * h[j];
      for (std::size_t i = 0; i < kInputs; ++i) in_[j][i] += back * example.inputs[i];
    }
  }

  std::array<Inputs, kHidden> in_{};
  Hidden out_{};
  Inputs inputs_{};          // as of the last observation
  std::deque<Moment> past_;  // newest first
  std::deque<Example> examples_;
  double last_ = 0, mean_ = 0, least_ = 0, most_ = 0;
  std::int64_t seen_ = 0;
};

}  // namespace prediction

std::unique_ptr<SpeedPredictor> make_speed_predictor(const std::string& name, double ema_weight, Random initial) {
  using namespace prediction;
  if (name == "last") return std::make_unique<Last>();
  if (name == "ema") return std::make_unique<Ema>(ema_weight);
  HB_ASSERT(name == "narx");
  return std::make_unique<Narx>(initial);
}

}  // namespace hopbench::allreduce
