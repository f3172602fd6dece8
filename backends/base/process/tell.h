// Messages of hopbench other than its results, on standard error, and what reads them.
#pragma once

#include <cstddef>
#include <string>

namespace hopbench {

/// Writes `text` to standard error, with control characters escaped but for line breaks and tabs. Ignores errors: a
/// closed or full standard error does not end a run.
void tell(const std::string& text);

/// Returns true if the variable CI is set to anything but false or 0, so that probably no user watches.
bool under_ci();

/// Returns the number of columns of the terminal that this descriptor is, at least 2; `otherwise` if it is none.
std::size_t terminal_columns(int descriptor, std::size_t otherwise);

}  // namespace hopbench
