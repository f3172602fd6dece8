// The context of a run, recorded beside every result: the machine, the program and their settings.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace hopbench {

/// Returns JSON with hopbench version and commit, dirty flag, compiler and flags, library versions, instruction set,
/// CPU, cores, governor or "unavailable", load, cgroup quota, memory, kernel, TCP congestion control, queue discipline,
/// largest packets, and the environment variables on an allow-list (the whole environment leaks secrets).
/// `gpus`: the GPUs that the run computes on. `processes`: JSON on a run of several processes. `notes`: on its suite.
/// `more`: a JSON object whose members are added ("shard" of a shard, "shards" of a merged run).
std::string context_json(const std::vector<std::string>& command_line, const std::vector<std::string>& gpus = {},
                         const std::string& processes = "", const std::vector<std::string>& notes = {},
                         const std::string& more = "");
/// Returns the same for people, a line each (`hopbench env`, and stderr at the start of a run).
std::string context_text();

/// Return "0.1.0", and with the commit that it was built from "0.1.0 (1d1d8fa, with changes)".
std::string version_text();
std::string version_with_commit();

/// Returns the version and commit that made a run, from its context.json.
std::string maker_of(const std::string& context_json);

/// Returns those of a compiler's flags that change code: not warnings (-Werror), debug information and messages.
std::string code_flags(const std::string& flags);

/// Returns "NAME=value" of the variables on the allow-list, sorted. `environment` has the form of `environ`.
std::vector<std::string> recorded_variables(const char* const* environment);

}  // namespace hopbench
