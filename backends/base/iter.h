// The number of an iteration: from 0 on, each rank counts its own.
#pragma once

#include <cstdint>

namespace hopbench {

using Iter = std::int64_t;

}  // namespace hopbench
