#include "protocols/node/lazy_sgd.h"

#include "backends/base/error.h"

namespace hopbench {

constexpr std::size_t kAhead = 32;

LazySgd::LazySgd(std::size_t n, const Vec& momentum) : numbers_(n) {
  HB_ASSERT(momentum.size() == 0 || momentum.size() == n);
  const float* const from = momentum.data();
  for (std::size_t i = 0; i < momentum.size(); ++i) numbers_[i].momentum = from[i];
}

/// Prefetches a column. Columns lie all over memory, and the branch on whether one is up to date is unpredictable.
/// After a wrong prediction, the processor has not requested the next columns yet.
void LazySgd::fetch(const float* x, std::uint32_t column) const {
  __builtin_prefetch(x + column, 1);
  __builtin_prefetch(&numbers_[column], 1);
}

void LazySgd::bring_up(float& x, Number& number) const {
  if (number.upto == since_.size()) return;
  const Matrix& a = since_[number.upto];
  const double before = x, momentum = number.momentum;
  x = static_cast<float>(a.xx * before + a.xm * momentum);
  number.momentum = static_cast<float>(a.mx * before + a.mm * momentum);
  number.upto = static_cast<std::uint32_t>(since_.size());
}

void LazySgd::step(Vec& x, std::span<const SparseEntry> g, const Space::SgdStep& step) {
  HB_ASSERT(x.pending() == this && x.size() == numbers_.size());
  float* const values = x.unsettled();
  if (since_.size() == kWindow) settle(values);
  const auto next = static_cast<std::uint32_t>(since_.size() + 1);
  for (std::size_t i = 0; i < g.size(); ++i) {
    const SparseEntry& entry = g[i];
    if (i + kAhead < g.size()) fetch(values, g[i + kAhead].column);
    float& value = values[entry.column];
    Number& number = numbers_[entry.column];
    bring_up(value, number);
    const float slope = entry.value + step.weight_decay * value;
    number.momentum = step.momentum * number.momentum + slope;
    value -= step.lr * (step.nesterov ? slope + step.momentum * number.momentum : number.momentum);
    number.upto = next;
  }

  const double lr = step.lr, beta = step.momentum, decay = step.weight_decay;
  const double of_slope = step.nesterov ? 1 + beta : 1, of_momentum = step.nesterov ? beta * beta : beta;
  since_.emplace_back();
  for (Matrix& a : since_) {
    const Matrix old = a;
    a.mx = decay * old.xx + beta * old.mx;
    a.mm = decay * old.xm + beta * old.mm;
    a.xx = (1 - lr * decay * of_slope) * old.xx - lr * of_momentum * old.mx;
    a.xm = (1 - lr * decay * of_slope) * old.xm - lr * of_momentum * old.mm;
  }
}

Vec LazySgd::momentum() const {
  HB_ASSERT(!due());
  Vec momentum = Vec::uninitialised(numbers_.size());
  float* to = momentum.mutable_data();
  for (const Number& number : numbers_) *to++ = number.momentum;
  return momentum;
}

void LazySgd::settle(float* x) {
  for (std::size_t i = 0; i < numbers_.size(); ++i) {
    bring_up(x[i], numbers_[i]);
    numbers_[i].upto = 0;
  }
  since_.clear();
  ++passes_;
}

void LazySgd::look(const float* x, float* to) const {
  for (std::size_t i = 0; i < numbers_.size(); ++i) {
    Number number = numbers_[i];
    bring_up(to[i] = x[i], number);
  }
}

void LazySgd::settle(float* x, std::span<const std::uint32_t> columns) {
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (i + kAhead < columns.size()) fetch(x, columns[i + kAhead]);
    bring_up(x[columns[i]], numbers_[columns[i]]);
  }
}

}  // namespace hopbench
