// Messages of hopbench other than its results, on standard error.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

#include "backends/base/printable.h"

namespace hopbench {

/// Writes `text` to standard error, with control characters escaped but for line breaks and tabs. Ignores errors: a
/// closed or full standard error does not end a run.
inline void tell(const std::string& text) { std::fputs(printable_lines(text).c_str(), stderr); }

/// Returns true if the variable CI is set to anything but false or 0, so that probably no user watches.
inline bool under_ci() {
  const char* value = std::getenv("CI");
  const std::string ci = value == nullptr ? "" : value;
  return !ci.empty() && ci != "false" && ci != "0";
}

}  // namespace hopbench
