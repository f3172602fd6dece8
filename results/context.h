// Where and with what a run was made: recorded beside every result.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace hopbench {

/// hopbench version and commit, dirty flag, compiler and flags, library versions, instruction set, CPU, cores, governor
/// or "unavailable", load, cgroup quota, memory, kernel, TCP congestion control, queue discipline, largest packets, an
/// allow-list of environment variables (the whole environment leaks secrets).
/// `gpus`: what the run computes on, if it does on GPUs. `processes`: of a run of several, JSON. `notes`: on its suite.
std::string context_json(const std::vector<std::string>& command_line, const std::vector<std::string>& gpus = {},
                         const std::string& processes = "", const std::vector<std::string>& notes = {});
/// The same for people, a line each (`hopbench env`, and stderr at the start of a run).
std::string context_text();

/// "0.1.0", and with the commit it was built from: "0.1.0 (1d1d8fa, with changes)".
std::string version_text();
std::string version_with_commit();

/// Cores that the control groups of this process allow it (v2 cpu.max, v1 cfs quota; the least along the way up);
/// nothing without a limit. `root` stands before /proc and /sys: "" but in tests.
std::optional<double> cpu_quota(const std::string& root);
/// Variables whose name is on the allow-list, of an environment as `environ` has it: "NAME=value", sorted.
std::vector<std::string> recorded_variables(const char* const* environment);

}  // namespace hopbench
