// Iterations: each rank counts its own, from 0 on.
#pragma once

#include <cstdint>

#include "backends/base/time.h"

namespace hopbench {

using Iter = std::int64_t;

/// One finished iteration of a rank: the raw material of every rate.
struct IterationMark {
  Time end{};
  Iter iter = 0;
  Duration compute{};        // as paced, slowdown included
  std::int32_t samples = 0;  // 0: jumped
  float loss = 0;
};
/// Returns true if the rank was away from the end of `before` until the end of `mark`, the mark that follows it.
inline bool is_absence(const IterationMark& before, const IterationMark& mark) {
  return mark.samples == 0 && mark.iter == before.iter;
}
static_assert(sizeof(IterationMark) == 32);  // a record has one for each iteration of each rank

}  // namespace hopbench
