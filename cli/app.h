// The command line, with CLI11's errors in hopbench's words and with hopbench's exit codes.
#pragma once

#include <string>
#include <vector>

namespace hopbench {

/// Parses, runs the command, returns the process's exit code. Prints errors itself and throws nothing.
int run_command_line(int argc, char** argv);

/// Returns every command and its flags as typed, for completion: {"run", "--filter", ...}.
std::vector<std::vector<std::string>> command_words();

}  // namespace hopbench
