#include "backends/base/process/cores.h"

#include <sched.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <thread>

namespace hopbench {
namespace {

namespace fs = std::filesystem;

/// Returns the limit that is written in one group's folder.
std::optional<double> limit_of(const fs::path& folder, bool v2) {
  double quota = 0, period = 0;
  if (v2) {
    std::ifstream(folder / "cpu.max") >> quota >> period;  // "max": no limit
  } else {
    std::ifstream(folder / "cpu.cfs_quota_us") >> quota;  // -1: no limit
    std::ifstream(folder / "cpu.cfs_period_us") >> period;
  }
  return quota > 0 && period > 0 ? std::optional(quota / period) : std::nullopt;
}

int cores_of_mask() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return ::sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : int(std::thread::hardware_concurrency());
}

}  // namespace

std::optional<double> cpu_quota(const std::string& root) {
  std::optional<double> least;
  std::ifstream groups(root + "/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    // number:controllers:path; controllers are empty in v2
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const bool v2 = controllers == ",,";
    if (!v2 && controllers.find(",cpu,") == std::string::npos) continue;
    const std::string mount = root + "/sys/fs/cgroup" + (v2 ? "" : "/cpu");
    for (fs::path group = line.substr(second + 1);; group = group.parent_path()) {  // up to the mount point
      if (const auto limit = limit_of(mount / group.relative_path(), v2))
        least = std::min(least.value_or(*limit), *limit);
      if (!group.has_relative_path()) break;
    }
  }
  return least;
}

int usable_cores(const std::string& root) {
  const int cores = cores_of_mask();
  return std::max(1, std::min(cores, int(cpu_quota(root).value_or(cores))));
}

}  // namespace hopbench
