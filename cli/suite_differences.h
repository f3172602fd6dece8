// Where the resolved suites of two runs differ, for the user of a gate whose rows cannot be compared.
#pragma once

#include <string>

namespace hopbench {

/// Returns "compute.noise: 0.003; 0.01, protocol 'hop' backup: 1; 2 and 3 more" (base; head), or "" if the texts of the
/// two suite.toml say the same, or one of them is not TOML.
std::string suite_differences(const std::string& base_toml, const std::string& head_toml);

}  // namespace hopbench
