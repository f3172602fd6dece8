// The machine as the kernel describes it: small files under /proc and /sys, read with `root` in front ("" except in
// tests). A value that is not there is "unavailable", never a failure.
#pragma once

#include <cstdint>
#include <string>

namespace hopbench {

std::string cpu_model(const std::string& root);
/// Returns the CPU's instruction sets that matter to arithmetic: "sse4_2 avx avx2 fma".
std::string instruction_sets(const std::string& root);
std::string governor(const std::string& root);
std::string load_average(const std::string& root);  // 1, 5 and 15 minutes
std::int64_t memory_bytes(const std::string& root);
std::string gpu_driver(const std::string& root);
std::string kernel();
/// Returns the congestion control of new TCP connections in this network namespace: "cubic", "bbr".
std::string tcp_congestion_control(const std::string& root);
/// Returns the queue discipline that a new network interface gets: "fq_codel".
std::string queue_discipline(const std::string& root);
/// Returns the largest packet of each network interface, in bytes: "eth0 1500, lo 65536".
std::string largest_packets(const std::string& root);
int cores();  // online

}  // namespace hopbench
