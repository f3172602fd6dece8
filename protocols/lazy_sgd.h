// SGD with momentum and weight decay that touches only the numbers whose gradient is not zero.
//
// Where a gradient is zero a step is linear: (x, m) becomes A (x, m), with the same 2x2 matrix A for every number, of
// the step's learning rate, momentum and weight decay. So a number may stay as it was: `since` of that step, the
// product of all A that came after it, brings it up to date when its turn comes or somebody reads it. A step costs a
// look at the touched numbers and, for the products, kWindow 2x2 products at most; once in kWindow steps all numbers
// are brought up to date in one pass.
//
// A number that every step touches gets the bits of Space::sgd; others differ from it in how they round.
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

  /// For a vector of n numbers. `momentum`: what it is so far; empty: 0.
  LazySgd(std::size_t n, const Vec& momentum);

  /// One step on x, which must have been told to defer to this (Vec::defer).
  void step(Vec& x, std::span<const SparseEntry> g, const Space::SgdStep& step);
  /// Up to date, once nothing is due.
  Vec momentum() const;
  /// How many passes over all numbers there were since this was asked last.
  int passes() { return std::exchange(passes_, 0); }
  static constexpr std::size_t kFloatsPerPass = 6;  // x, the momentum and how old it is are read and written

  bool due() const override { return !since_.empty(); }
  void settle(float* x) override;
  void settle(float* x, std::span<const std::uint32_t> columns) override;
  void look(const float* x, float* to) const override;

 private:
  struct Number {
    float momentum = 0;
    std::uint32_t upto = 0;  // it is as of so many steps since the last pass
  };
  struct Matrix {
    double xx = 1, xm = 0, mx = 0, mm = 1;  // x' = xx x + xm m; m' = mx x + mm m
  };
  void fetch(const float* x, std::uint32_t column) const;
  void bring_up(float& x, Number& number) const;

  std::vector<Number> numbers_;
  std::vector<Matrix> since_;  // [t]: what the steps from t on, since the last pass, do where the gradient is zero
  int passes_ = 0;
};

}  // namespace hopbench
