// Where and with what a run was made: recorded beside every result.
#pragma once

#include <string>
#include <vector>

namespace hopbench {

/// hopbench version and commit, dirty flag, compiler and flags, library versions, instruction set, CPU, cores, governor
/// or "unavailable", load, cgroup quota, memory, kernel, an allow-list of environment variables (the whole environment
/// leaks secrets).
std::string context_json(const std::vector<std::string>& command_line);
/// The same for people, a line each (`hopbench env`, and stderr at the start of a run).
std::string context_text();

}  // namespace hopbench
