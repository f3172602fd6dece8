#include "results/files/machine.h"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <vector>

#include "backends/base/text.h"
#include "results/files/context.h"

namespace hopbench {
namespace {

constexpr const char* kUnavailable = "unavailable";

std::string read_text(const std::string& path) {
  std::ifstream in(path);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

std::string first_line(const std::string& path) {
  std::ifstream in(path);
  std::string line;
  return std::getline(in, line) && !line.empty() ? line : kUnavailable;
}

std::vector<std::string> words(const std::string& text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), {}};
}

/// Returns the value of the first line "key : value" of a file.
std::string value_of(const std::string& path, const std::string& key) {
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos || line.compare(0, key.size(), key) != 0) continue;
    if (line.find_first_not_of(" \t", key.size()) != colon) continue;
    const std::size_t begin = line.find_first_not_of(" \t", colon + 1);
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return "";
}

std::optional<double> number(const std::string& text) {
  std::istringstream in(text);
  in.imbue(std::locale::classic());
  double value = 0;
  if (!(in >> value)) return std::nullopt;
  return value;
}

}  // namespace

std::string cpu_model(const std::string& root) {
  const std::string model = value_of(root + "/proc/cpuinfo", "model name");
  return model.empty() ? kUnavailable : model;
}

std::string instruction_sets(const std::string& root) {
  const std::string info = root + "/proc/cpuinfo";
  std::string flags = value_of(info, "flags");            // x86
  if (flags.empty()) flags = value_of(info, "Features");  // ARM
  const auto all = words(flags);
  std::vector<std::string> found;
  for (const char* set : {"sse4_2", "avx", "f16c", "fma", "avx2", "avx512f", "avx512bw", "avx512vl", "avx512_vnni",
                          "avx512_bf16", "amx_tile", "asimd", "sve", "sve2", "bf16"}) {
    if (std::find(all.begin(), all.end(), set) != all.end()) found.push_back(set);
  }
  return found.empty() ? kUnavailable : join(found, " ");
}

std::string governor(const std::string& root) {
  return first_line(root + "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
}

std::string load_average(const std::string& root) {
  const auto parts = words(read_text(root + "/proc/loadavg"));
  return parts.size() < 3 ? kUnavailable : parts[0] + " " + parts[1] + " " + parts[2];
}

std::int64_t memory_bytes(const std::string& root) {
  const auto kibibytes = number(value_of(root + "/proc/meminfo", "MemTotal"));
  return static_cast<std::int64_t>(kibibytes.value_or(0)) * 1024;
}

std::string gpu_driver(const std::string& root) { return first_line(root + "/proc/driver/nvidia/version"); }

std::string tcp_congestion_control(const std::string& root) {
  return first_line(root + "/proc/sys/net/ipv4/tcp_congestion_control");
}

std::string queue_discipline(const std::string& root) { return first_line(root + "/proc/sys/net/core/default_qdisc"); }

std::string largest_packets(const std::string& root) {
  std::vector<std::string> all;
  std::error_code none;
  for (const auto& interface : std::filesystem::directory_iterator(root + "/sys/class/net", none)) {
    const std::string bytes = first_line(interface.path() / "mtu");
    if (bytes != kUnavailable) all.push_back(interface.path().filename().string() + " " + bytes);
  }
  std::sort(all.begin(), all.end());
  return all.empty() ? kUnavailable : join(all, ", ");
}

std::string kernel() {
  utsname name{};
  if (::uname(&name) != 0) return kUnavailable;
  return fmt::format("{} {} {}", name.sysname, name.release, name.machine);
}

int cores() { return static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN)); }

}  // namespace hopbench
