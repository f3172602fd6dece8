// The number of an iteration. Each rank counts its own iterations, from 0 on.
#pragma once

#include <cstdint>

namespace hopbench {

using Iter = std::int64_t;

}  // namespace hopbench
