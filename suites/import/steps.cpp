#include "suites/import/steps.h"

#include <algorithm>

namespace hopbench {
namespace {

constexpr std::size_t kLeastToSettle = 4096;

void unite_parts(StepMarks& whole, const StepMarks& part) {
  whole.begin = std::min(whole.begin, part.begin);
  whole.end = std::max(whole.end, part.end);
  whole.last_collective = std::max(whole.last_collective, part.last_collective);
  whole.collectives += part.collectives;
}

bool is_earlier(const StepMarks& a, const StepMarks& b) { return a.step < b.step; }

}  // namespace

void Steps::add(const StepMarks& part) {
  if (!list_.empty() && list_.back().step == part.step) return unite_parts(list_.back(), part);
  if (!list_.empty() && part.step < list_.back().step && settled_) {
    if (StepMarks* const whole = find(part.step)) return unite_parts(*whole, part);
    settled_ = false;
    settle_at_ = std::max(kLeastToSettle, 2 * list_.size());
  }
  list_.push_back(part);
  if (!settled_ && list_.size() >= settle_at_) settle();
}

void Steps::settle() {
  if (settled_) return;
  settled_ = true;
  std::sort(list_.begin(), list_.end(), is_earlier);
  auto to = list_.begin();
  for (auto from = std::next(to); from != list_.end(); ++from) {
    if (from->step == to->step) {
      unite_parts(*to, *from);
    } else {
      *++to = *from;
    }
  }
  list_.erase(std::next(to), list_.end());
}

const StepMarks* Steps::find(std::int64_t step) const {
  const auto found = std::lower_bound(list_.begin(), list_.end(), StepMarks{.step = step}, is_earlier);
  return found != list_.end() && found->step == step ? &*found : nullptr;
}

}  // namespace hopbench
