// How wide a terminal is.
#pragma once

#include <cstddef>

namespace hopbench {

/// Returns the number of columns of the terminal that this descriptor is, at least 2; `otherwise` if it is none.
std::size_t terminal_columns(int descriptor, std::size_t otherwise);

}  // namespace hopbench
