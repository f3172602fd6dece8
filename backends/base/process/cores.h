// The processor cores that this process may use.
#pragma once

#include <optional>
#include <string>

namespace hopbench {

/// Returns the number of cores that the control groups of this process allow (v2 cpu.max, v1 cfs quota; the least along
/// the path), or nothing without a limit. `root` is where /proc and /sys are, "" on a real machine.
std::optional<double> cpu_quota(const std::string& root);

/// Returns how many cores this process can keep busy: those of its affinity mask, or the whole cores of cpu_quota() if
/// these are fewer; at least 1. Default numbers of jobs and threads follow it.
int usable_cores(const std::string& root = "");

}  // namespace hopbench
