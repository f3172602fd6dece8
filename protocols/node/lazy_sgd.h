// SGD with momentum and weight decay that touches only the numbers whose gradient is not zero.
//
// If a gradient is zero, a step is linear: (x, m) becomes A (x, m), with the same 2x2 matrix A for every number, made
// of the step's learning rate, momentum and weight decay. So a number may stay as it is. `since` of its last step, the
// product of all A that came after it, brings it up to date when a step touches it or it is read. A step costs an
// access to the touched numbers and at most kWindow 2x2 products. Once in kWindow steps all numbers are brought up to
// date in one pass.
//
// A number that every step touches gets the bits of Space::sgd; other numbers differ from these by rounding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "backends/base/vec.h"

namespace hopbench {

class LazySgd final : public Pending {
 public:
  static constexpr std::size_t kWindow = 8192;

  /// Makes the state for a vector of n numbers. `momentum`: the momentum so far; empty: 0.
  LazySgd(std::size_t n, const Vec& momentum);

  /// Makes one step on x, which must already defer to this object (Vec::defer).
  void step(Vec& x, std::span<const SparseEntry> g, const Space::SgdStep& step);
  /// Returns the momentum. May be called only when nothing is due.
  Vec momentum() const;
  /// Returns the number of passes over all numbers since the last call.
  int passes() { return std::exchange(passes_, 0); }
  static constexpr std::size_t kFloatsPerPass = 6;  // x, the momentum and its age are read and written

  bool due() const override { return !since_.empty(); }
  void settle(float* x) override;
  void settle(float* x, std::span<const std::uint32_t> columns) override;
  void look(const float* x, float* to) const override;

 private:
  struct Number {
    float momentum = 0;
    std::uint32_t upto = 0;  // the number of steps since the last pass that it includes
  };
  struct Matrix {
    double xx = 1, xm = 0, mx = 0, mm = 1;  // x' = xx x + xm m; m' = mx x + mm m
  };
  void fetch(const float* x, std::uint32_t column) const;
  void bring_up(float& x, Number& number) const;

  std::vector<Number> numbers_;
  std::vector<Matrix> since_;  // [t]: the effect of the steps from t on, since the last pass, if the gradient is zero
  int passes_ = 0;
};

}  // namespace hopbench
