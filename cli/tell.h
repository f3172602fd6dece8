// What hopbench says beside its results, on standard error.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

namespace hopbench {

/// Told or lost: a closed or full standard error ends no run.
inline void tell(const std::string& text) { std::fputs(text.c_str(), stderr); }

/// Nobody watches: the variable CI is set, to anything but false or 0.
inline bool under_ci() {
  const char* value = std::getenv("CI");
  const std::string ci = value == nullptr ? "" : value;
  return !ci.empty() && ci != "false" && ci != "0";
}

}  // namespace hopbench
