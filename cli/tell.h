// What hopbench says beside its results, on standard error.
#pragma once

#include <cstdio>
#include <string>

namespace hopbench {

/// Told or lost: a closed or full standard error ends no run.
inline void tell(const std::string& text) { std::fputs(text.c_str(), stderr); }

}  // namespace hopbench
